package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

// wrongCalls are calls of models that cannot be run, with what the models must be told.
var wrongCalls = map[string]struct {
	call llm.ToolCall
	told string
}{
	"no such tool":           {llm.ToolCall{ID: "1", Name: "rm", Arguments: `{}`}, "There is no tool rm. The tools are: forecast, weather."},
	"no name":                {llm.ToolCall{ID: "1", Arguments: `{}`}, "The tools are: forecast, weather."},
	"a name of another form": {llm.ToolCall{ID: "1", Name: "functions.weather\n:0", Arguments: `{}`}, "There is no tool with this name."},
	"a long name":            {llm.ToolCall{ID: "1", Name: strings.Repeat("w", 500), Arguments: `{}`}, "There is no tool with this name."},
	"cut off":                {llm.ToolCall{ID: "1", Name: "weather", Arguments: `{"city":`}, `not one JSON object. They have to follow this JSON Schema: {"type":"object","required":["city"]}`},
	"no object":              {llm.ToolCall{ID: "1", Name: "weather", Arguments: `["Oslo"]`}, "not one JSON object"},
	"text":                   {llm.ToolCall{ID: "1", Name: "weather", Arguments: `Oslo`}, "not one JSON object"},
	"two objects":            {llm.ToolCall{ID: "1", Name: "weather", Arguments: `{"city":"a"}{"city":"b"}`}, "not one JSON object"},
	"not UTF-8":              {llm.ToolCall{ID: "1", Name: "weather", Arguments: "{\"city\":\"\xff\"}"}, "not one JSON object"},
	"huge":                   {llm.ToolCall{ID: "1", Name: "weather", Arguments: `{"city":"` + strings.Repeat("x", 100_000) + `"}`}, "longer than 65536 bytes"},
	"no id":                  {llm.ToolCall{Name: "rm", Arguments: `{`}, "There is no tool rm."},
}

type schemaBox struct{ toolbox }

func (b *schemaBox) Offer(string) []llm.Tool {
	return []llm.Tool{{Name: "forecast"}, {Name: "weather", Parameters: json.RawMessage(`{"type":"object","required":["city"]}`)}}
}

func TestTools_WrongCallsAreToldToTheModel(t *testing.T) {
	form := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for name, c := range wrongCalls {
		t.Run(name, func(t *testing.T) {
			good := llm.ToolCall{ID: "2", Name: "weather", Arguments: `{"city":"Oslo"}`}
			model := &inTurn{scripts: []*llmtest.Model{asksFor("", c.call), asksFor("", c.call, good), llmtest.Says("It is sunny.")}}
			b := &schemaBox{}
			e := newEngine(model, passages(), func(cfg *chat.Config) { cfg.Tools = b })
			turn := collect(t, e, ask(e, "q", usingTools))
			if m := turn.Messages[0]; m.Text != "It is sunny." || m.Status != chat.StatusCompleted || m.FinishReason != "stop" {
				t.Errorf("message = %+v", m)
			}
			if len(b.called) != 1 || b.called[0].Arguments != good.Arguments || !slices.Equal(turn.ToolsUsed(""), []string{"weather"}) {
				t.Errorf("%d calls were run, tools used %v", len(b.called), turn.ToolsUsed(""))
			}
			for i, behind := range [][]llm.Message{last(model.scripts[1], 2), last(model.scripts[2], 3)} {
				ids := map[string]bool{}
				for _, made := range behind[0].ToolCalls {
					if !form.MatchString(made.Name) || !json.Valid([]byte(made.Arguments)) || made.Arguments[0] != '{' || made.ID == "" {
						t.Errorf("no provider takes the call %.100v", made)
					}
					ids[made.ID] = true
				}
				for _, result := range behind[1:] {
					if result.Role != llm.ToolRole || !ids[result.ToolCallID] {
						t.Errorf("round %d: %+v answers no call of %v", i, result, ids)
					}
				}
				if got := behind[1].Text(); !strings.Contains(got, c.told) || len(got) > 1000 {
					t.Errorf("told %.300q, want %q", got, c.told)
				}
			}
			if note := stageOf(turn, chat.StageTools).Note; !strings.Contains(note, "told the model what is wrong") {
				t.Errorf("note %q", note)
			}
		})
	}
}

// last returns the last messages of a model's first request.
func last(m *llmtest.Model, n int) []llm.Message {
	all := m.Requests()[0].Messages
	return all[len(all)-n:]
}

// However a model calls tools, and even if it never stops, the turn ends with an answer.
func TestTools_ALoopOfCallsEndsWithTheAnswerSoFarAndANote(t *testing.T) {
	loops := map[string]llm.ToolCall{"good": {Name: "weather", Arguments: `{"city":"Oslo"}`}}
	for name, c := range wrongCalls {
		loops[name] = c.call
	}
	const sentence = "The model kept calling tools and did not answer."
	for name, c := range loops {
		for _, said := range []string{"", "So far. "} {
			for _, offered := range []bool{true, false} {
				again := asksFor(said, c)
				model := &inTurn{scripts: []*llmtest.Model{again}}
				e := newEngine(model, passages(), func(cfg *chat.Config) { cfg.Tools = &schemaBox{} })
				turn := collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.UseTools = offered }))
				m := turn.Messages[0]
				want := "So far."
				if said == "" {
					want = sentence
				}
				if m.Status != chat.StatusCompleted || m.FinishReason != "stop" || !strings.HasPrefix(m.Text, want) || len(m.ToolCalls) > 0 {
					t.Errorf("%s, offered %v: %+v", name, offered, m)
				}
				if note := stageOf(turn, chat.StageGenerate).Note; !strings.Contains(note, "were dropped") || (said == "") != strings.Contains(note, "did not answer") {
					t.Errorf("%s, offered %v: note %q", name, offered, note)
				}
				requests := again.Requests()
				if n := len(requests); n > 5 || !offered && n > 2 {
					t.Errorf("%s, offered %v: %d completions", name, offered, n)
				}
				end := requests[len(requests)-1]
				told := end.Messages[len(end.Messages)-1].Text()
				if offered && (len(end.Tools) > 0 || !strings.Contains(told, "Answer now")) {
					t.Errorf("%s: the last completion is offered %d tools and told %q", name, len(end.Tools), told)
				}
			}
		}
	}
}

func TestTools_CallsThatTheServerOfTheModelCannotReadAreToldToTheModel(t *testing.T) {
	unreadable := &llm.Error{Status: 400, Miscalled: true, Err: errors.New("tool_use_failed")}
	for _, offered := range []bool{true, false} {
		model := &inTurn{scripts: []*llmtest.Model{llmtest.Fails(unreadable), llmtest.Says("It is sunny.")}}
		e := newEngine(model, passages(), func(cfg *chat.Config) { cfg.Tools = &schemaBox{} })
		turn := collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.UseTools = offered }))
		if m := turn.Messages[0]; m.Text != "It is sunny." || m.Status != chat.StatusCompleted {
			t.Errorf("offered %v: %+v", offered, m)
		}
		if told := last(model.scripts[1], 1)[0]; told.Role != llm.User || !strings.Contains(told.Text(), "cannot be read") {
			t.Errorf("offered %v: told %+v", offered, told)
		}
		model = &inTurn{scripts: []*llmtest.Model{llmtest.Fails(unreadable)}}
		e = newEngine(model, passages(), func(cfg *chat.Config) { cfg.Tools = &schemaBox{} })
		turn = collect(t, e, ask(e, "q", func(r *chat.Request) { r.Options.UseTools = offered }))
		if m := turn.Messages[0]; !strings.Contains(m.Text, "kept calling tools") {
			t.Errorf("offered %v, for ever: %+v", offered, m)
		}
	}
}

func TestTools_OfAClientAreCalledRightTheSecondTime(t *testing.T) {
	model := &inTurn{scripts: []*llmtest.Model{
		calls("", llm.ToolCall{ID: "1", Name: "rm", Arguments: "{}"}), calls("", call("c1", `{"city":"Oslo"}`)),
	}}
	e := newEngine(model, passages())
	m := collect(t, e, ask(e, "q", withTools(weather))).Messages[0]
	if len(m.ToolCalls) != 1 || m.ToolCalls[0].ID != "c1" || m.FinishReason != "tool_calls" {
		t.Errorf("%+v", m)
	}
	if told := last(model.scripts[1], 1)[0].Text(); told != "There is no tool rm. The tools are: weather." {
		t.Errorf("told %q", told)
	}
}

func TestTools_EqualCallsAreNoticed(t *testing.T) {
	c := func(id, args string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "weather", Arguments: args} }
	model := &inTurn{scripts: []*llmtest.Model{
		asksFor("", c("1", `{"a":1,"b":2}`), c("2", `{ "b":2, "a":1 }`), c("3", `{"a":2}`)), asksFor("", c("4", `{"b":2,"a":1.0}`)), llmtest.Says("Sunny."),
	}}
	b := &toolbox{names: []string{"weather"}}
	e := newEngine(model, passages(), ofServer(b))
	if m := collect(t, e, ask(e, "q", usingTools)).Messages[0]; m.Text != "Sunny." {
		t.Errorf("%+v", m)
	}
	var ids []string
	for _, ran := range b.called {
		ids = append(ids, ran.ID)
	}
	if fmt.Sprint(ids) != "[1 3 4]" {
		t.Errorf("calls %v were run", ids)
	}
	first := last(model.scripts[1], 4)
	if !strings.HasPrefix(first[1].Text(), "Sunny") || !strings.HasPrefix(first[2].Text(), "This is the same call") || first[2].ToolCallID != "2" {
		t.Errorf("told %+v", first)
	}
	if again := last(model.scripts[2], 1)[0].Text(); !strings.HasPrefix(again, "You have called this tool with these arguments before") {
		t.Errorf("told %q", again)
	}
}
