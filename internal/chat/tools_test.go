package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

var weather = llm.Tool{Name: "weather", Description: "of a city", Parameters: json.RawMessage(`{"type":"object"}`)}

func withTools(tools ...llm.Tool) func(*chat.Request) {
	return func(r *chat.Request) { r.Options.Tools = tools }
}

// calls returns a model that says a text and calls tools.
func calls(text string, calls ...llm.ToolCall) *llmtest.Model {
	return &llmtest.Model{Steps: []llmtest.Step{
		{Chunk: llm.Chunk{Model: "scripted-1", Text: text}},
		{Chunk: llm.Chunk{ToolCalls: calls, FinishReason: "tool_calls", Usage: &llm.Usage{Input: 9, Output: 3}}},
	}}
}

func call(id, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "weather", Arguments: args}
}

func TestRun_EndsTheTurnWithTheCallsThatTheClientMustRun(t *testing.T) {
	want := []llm.ToolCall{call("c1", `{"city":"Oslo"}`), {ID: "c2", Name: "weather", Arguments: "{}", Signature: "sig"}}
	model := calls("", call("c1", `{"city":"Oslo"}`), llm.ToolCall{ID: "c2", Name: "weather", Signature: "sig"})
	e := newEngine(model, passages(chattest.Passage("a.md", 0, "text")))
	req := ask(e, "How warm is it?", withTools(weather), followUps)
	req.Options.ToolChoice = llm.ToolsRequired
	events, err := run(t.Context(), e, req)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(events); !strings.HasSuffix(got, "MessageStarted CompletionStarted ToolCalled MessageFinished -generate TurnFinished") {
		t.Errorf("events: %s", got)
	}
	turn := &chat.Turn{}
	for _, ev := range events {
		turn.Add(ev)
		if open := turn.Messages; len(open) > 0 && open[0].Status == "" && len(open[0].ToolCalls) == 2 {
			if diff := cmp.Diff(want, open[0].ToolCalls); diff != "" {
				t.Errorf("calls of the open message: %s", diff)
			}
		}
	}
	m := turn.Messages[0]
	if diff := cmp.Diff(want, m.ToolCalls); diff != "" || m.FinishReason != "tool_calls" || m.Status != chat.StatusCompleted {
		t.Errorf("message %+v: %s", m, diff)
	}
	sent := model.Requests()[0]
	if diff := cmp.Diff([]llm.Tool{weather}, sent.Tools); diff != "" || sent.ToolChoice != llm.ToolsRequired {
		t.Errorf("choice %q, tools: %s", sent.ToolChoice, diff)
	}
}

func TestRun_LeavesPoisonedCallsOut(t *testing.T) {
	many := make([]llm.ToolCall, 200)
	for i := range many {
		many[i] = call(fmt.Sprint(i), "{}")
	}
	for _, c := range []struct {
		name  string
		calls []llm.ToolCall
		set   func(*chat.Request)
		want  int // calls that are kept
	}{
		{"a tool that was not offered", []llm.ToolCall{{ID: "1", Name: "delete_all", Arguments: "{}"}, call("2", "{}")}, nil, 1},
		{"a name with a line break", []llm.ToolCall{{ID: "1", Name: "weather\nx", Arguments: "{}"}, call("2", "{}")}, nil, 1},
		{"arguments that are no JSON", []llm.ToolCall{call("1", `{"city":`), call("2", "Oslo"), call("3", `{"a":1}{}`), call("4", "{}")}, nil, 1},
		{"arguments that are no object", []llm.ToolCall{call("1", `["Oslo"]`), call("2", `null`), call("3", "{}")}, nil, 1},
		{"arguments that are not UTF-8", []llm.ToolCall{call("1", "{\"a\":\"\xff\"}"), call("2", "{}")}, nil, 1},
		{"huge arguments", []llm.ToolCall{call("1", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), call("2", "{}")}, nil, 1},
		{"too many", many, nil, 32},
		{"more than one, where one is asked for", many[:3], func(r *chat.Request) { r.Options.OneTool = true }, 1},
		{"none wanted", many[:3], func(r *chat.Request) { r.Options.ToolChoice = llm.ToolsNone }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(calls("Let me see.", c.calls...), passages())
			req := ask(e, "q", withTools(weather))
			if c.set != nil {
				c.set(&req)
			}
			turn := collect(t, e, req)
			m := turn.Messages[0]
			if len(m.ToolCalls) != c.want || (m.FinishReason == "tool_calls") != (c.want > 0) {
				t.Errorf("%d calls, reason %q", len(m.ToolCalls), m.FinishReason)
			}
			for _, kept := range m.ToolCalls {
				if kept.Name != "weather" || kept.Arguments != "{}" {
					t.Errorf("kept %.100v", kept)
				}
			}
			if note := stageOf(turn, chat.StageGenerate).Note; !strings.Contains(note, "were dropped") {
				t.Errorf("note %q", note)
			}
		})
	}
}

func TestRun_GivesEveryCallAnIDOfItsOwn(t *testing.T) {
	e := newEngine(calls("", call("", "{}"), call("x", "{}"), call("x", "{}"), call("a\nb", "{}"), call(strings.Repeat("i", 500), "{}")), passages())
	seen := map[string]bool{}
	for _, c := range collect(t, e, ask(e, "q", withTools(weather))).Messages[0].ToolCalls {
		if c.ID == "" || seen[c.ID] || len(c.ID) > 64 || strings.Contains(c.ID, "\n") {
			t.Errorf("id %q", c.ID)
		}
		seen[c.ID] = true
	}
	if len(seen) != 5 || !seen["x"] {
		t.Errorf("ids %v", seen)
	}
}

func TestRun_FailsWhenAModelCallsNothingThatThereIs(t *testing.T) {
	e := newEngine(calls("", llm.ToolCall{ID: "1", Name: "rm", Arguments: "{}"}), passages())
	if _, err := chat.Collect(e.Run(t.Context(), new(ask(e, "q", withTools(weather))))); chat.KindOf(err) != chat.Unavailable {
		t.Errorf("error %v", err)
	}
}

// called is an assistant's message that calls tools; result is the message with a tool's result.
func called(text string, calls ...llm.ToolCall) chat.Message {
	m := chat.TextMessage(llm.Assistant, text)
	m.ToolCalls = calls
	return m
}

func result(id, text string) chat.Message {
	m := chat.TextMessage(llm.ToolRole, text)
	m.ToolCallID = id
	return m
}

func TestRun_GoesOnWithTheResultsOfTools(t *testing.T) {
	model := llmtest.Says("It is 20 degrees [a.md].")
	f := passages(chattest.Passage("a.md", 0, "In Oslo it is 20 degrees."))
	e := newEngine(model, f)
	user, agent := func(s string) chat.Message { return chat.TextMessage(llm.User, s) }, func(s string) chat.Message { return chat.TextMessage(llm.Assistant, s) }
	req := ask(e, "")
	req.Options.Tools = []llm.Tool{weather}
	req.Messages = []chat.Message{
		user("Hello"), called("", call("a", "{}"), call("b", "{}")), result("b", "2"), result("a", "1"), agent("Hi"),
		user("How warm is it?"),
		called("", call("a", `{"city":"Oslo"}`)), result("a", "20"),
		called("And now", call("z", `{}`)), result("z", ""),
	}
	collect(t, e, req)
	if f.queries[0].Text != "How warm is it?" {
		t.Errorf("searched for %q", f.queries[0].Text)
	}
	sent := answering(model).Messages[1:]
	want := []llm.Message{
		llm.Text(llm.User, "Hello"),
		{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("a", "{}"), call("b", "{}")}},
		{Role: llm.ToolRole, ToolCallID: "b", Parts: []llm.Part{{Text: "2"}}},
		{Role: llm.ToolRole, ToolCallID: "a", Parts: []llm.Part{{Text: "1"}}},
		llm.Text(llm.Assistant, "Hi"),
		llm.Text(llm.User, "How warm is it?\n\nSources:\na.md: In Oslo it is 20 degrees."),
		{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call("a", `{"city":"Oslo"}`)}},
		{Role: llm.ToolRole, ToolCallID: "a", Parts: []llm.Part{{Text: "20"}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: "And now"}}, ToolCalls: []llm.ToolCall{call("z", "{}")}},
		{Role: llm.ToolRole, ToolCallID: "z"},
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// answering returns the request for the answer, which is the last one, after that for the rewritten
// question.
func answering(m *llmtest.Model) llm.Request {
	all := m.Requests()
	return all[len(all)-1]
}

func TestRun_LeavesCallsWithoutResultsOutOfTheHistory(t *testing.T) {
	model := llmtest.Says("ok")
	e := newEngine(model, passages())
	req := ask(e, "")
	req.Messages = []chat.Message{
		chat.TextMessage(llm.User, "one"), called("Let me see.", call("a", "{}"), call("b", "{}")), result("a", "1"),
		chat.TextMessage(llm.User, "two"), called("", call("c", "{}")),
		chat.TextMessage(llm.User, "three"),
	}
	collect(t, e, req)
	var got []string
	for _, m := range answering(model).Messages[1:] {
		got = append(got, string(m.Role)+": "+m.Text())
		if len(m.ToolCalls) > 0 {
			t.Errorf("calls %+v", m.ToolCalls)
		}
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: Let me see.", "user: two\n\nthree\n\nSources:\n"}, got); diff != "" {
		t.Error(diff)
	}
}

// However little of the history fits, no result of a tool is kept without its call.
func TestRun_KeepsCallsAndResultsTogether(t *testing.T) {
	var messages []chat.Message
	for i := range 6 {
		id := fmt.Sprint("c", i)
		messages = append(messages, chat.TextMessage(llm.User, strings.Repeat("q", 40)),
			called("", call(id, `{"city":"`+strings.Repeat("x", 40)+`"}`)), result(id, strings.Repeat("r", 40*i)),
			chat.TextMessage(llm.Assistant, strings.Repeat("a", 40)))
	}
	messages = append(messages, chat.TextMessage(llm.User, "last"))
	for budget := 1; budget < 700; budget += 7 {
		model := llmtest.Says("ok")
		e := newEngine(model, passages(), func(c *chat.Config) { c.MaxHistoryTokens = budget })
		req := ask(e, "")
		req.Messages = messages
		collect(t, e, req)
		open := map[string]bool{}
		for i, m := range answering(model).Messages[1:] {
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
			if m.Role == llm.ToolRole && !open[m.ToolCallID] || i == 0 && m.Role != llm.User {
				t.Fatalf("with %d tokens message %d is %+v", budget, i, m)
			}
			delete(open, m.ToolCallID)
		}
		if len(open) > 0 {
			t.Fatalf("with %d tokens there are calls without a result: %v", budget, open)
		}
	}
}

func TestRun_RefusesToolsThatCannotWork(t *testing.T) {
	text := chat.TextMessage
	tool := func(change func(*llm.Tool)) func(*chat.Request) {
		other := weather
		change(&other)
		return withTools(weather, other)
	}
	say := func(m ...chat.Message) func(*chat.Request) {
		return func(r *chat.Request) { r.Messages = append(r.Messages, m...) }
	}
	for name, c := range map[string]struct {
		set  func(*chat.Request)
		kind chat.Kind
		says string
	}{
		"two of a name":        {withTools(weather, weather), chat.Invalid, "two tools"},
		"name with a space":    {tool(func(t *llm.Tool) { t.Name = "a b" }), chat.Invalid, "name of tool 2"},
		"name with a line end": {tool(func(t *llm.Tool) { t.Name = "a\n" }), chat.Invalid, "name of tool 2"},
		"name of a choice":     {tool(func(t *llm.Tool) { t.Name = "required" }), chat.Invalid, `not "none" or "required"`},
		"no schema":            {tool(func(t *llm.Tool) { t.Name, t.Parameters = "x", json.RawMessage(`[]`) }), chat.Invalid, "JSON Schema"},
		"broken schema":        {tool(func(t *llm.Tool) { t.Name, t.Parameters = "x", json.RawMessage(`{`) }), chat.Invalid, "JSON Schema"},
		"long":                 {tool(func(t *llm.Tool) { t.Name, t.Description = "x", strings.Repeat("x", 1<<20) }), chat.TooLarge, "longer"},
		"too many":             {withTools(make([]llm.Tool, 200)...), chat.Invalid, "more than 128"},
		"choice without tools": {func(r *chat.Request) { r.Options.ToolChoice = llm.ToolsRequired }, chat.Invalid, "offers no tools"},
		"choice of another":    {func(r *chat.Request) { r.Options.Tools, r.Options.ToolChoice = []llm.Tool{weather}, "x" }, chat.Invalid, "not among"},

		"orphan result":        {say(result("x", "1")), chat.Invalid, "Message 2 is a tool result"},
		"result of another":    {say(called("", call("a", "{}")), result("b", "1")), chat.Invalid, "Message 3 is a tool result"},
		"result twice":         {say(called("", call("a", "{}")), result("a", "1"), result("a", "1")), chat.Invalid, "Message 4 is a tool result"},
		"result too late":      {say(called("", call("a", "{}")), text(llm.Assistant, "x"), result("a", "1")), chat.Invalid, "Message 4 is a tool result"},
		"a result is missing":  {say(called("", call("a", "{}"), call("b", "{}")), result("a", "1")), chat.Invalid, "no result"},
		"call without an id":   {say(called("", call("", "{}")), result("", "1")), chat.Invalid, "Message 2"},
		"two calls of one id":  {say(called("", call("a", "{}"), call("a", "{}")), result("a", "1")), chat.Invalid, "Message 2"},
		"call of a bad name":   {say(called("", llm.ToolCall{ID: "a", Name: "x\ny"}), result("a", "1")), chat.Invalid, "Message 2"},
		"a user's call":        {func(r *chat.Request) { r.Messages[0].ToolCalls = []llm.ToolCall{call("a", "{}")} }, chat.Invalid, "only assistant messages"},
		"result that is large": {say(called("", call("a", "{}")), result("a", strings.Repeat("x ", 400_000))), chat.TooLarge, "do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(llmtest.Says("x"), passages())
			_, err := chat.Collect(e.Run(t.Context(), new(ask(e, "q", c.set))))
			if chat.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestRun_RefusesJSONAndCallsOfAModelThatHasOnlyText(t *testing.T) {
	e := newEngine(llmtest.Says("x"), passages(), func(c *chat.Config) { c.Grounded = func(string) bool { return true } })
	for choice, says := range map[string]string{"": "", llm.ToolsNone: "", llm.ToolsRequired: "required to call a tool", weather.Name: "required to call a tool"} {
		req := ask(e, "q", withTools(weather))
		if req.Options.ToolChoice = choice; says == "" {
			collect(t, e, req)
			continue
		}
		if _, err := chat.Collect(e.Run(t.Context(), &req)); chat.KindOf(err) != chat.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v", choice, err)
		}
	}
	req := ask(e, "q")
	req.Options.Schema = json.RawMessage(`{}`)
	if _, err := chat.Collect(e.Run(t.Context(), &req)); chat.KindOf(err) != chat.Invalid || !strings.Contains(err.Error(), "not in JSON") {
		t.Errorf("error %v", err)
	}
}

func TestRun_TellsTheModelHowToAnswer(t *testing.T) {
	model := llmtest.Says(`{"a":1}`)
	e := newEngine(model, passages())
	req := ask(e, "q")
	req.Options.Effort, req.Options.Stop, req.Options.Schema = "low", []string{"END"}, json.RawMessage(`{"type":"object"}`)
	collect(t, e, req)
	sent := model.Requests()[0]
	if sent.Effort != "low" || !cmp.Equal(sent.Stop, []string{"END"}) || string(sent.Schema) != `{"type":"object"}` {
		t.Errorf("sent %+v", sent)
	}
	if got, want := sent.Messages[1].Text(), "q\n\nAnswer with a JSON object that follows this JSON Schema, and nothing else:\n{\"type\":\"object\"}\n\nSources:\n"; got != want {
		t.Errorf("user turn %q", got)
	}
	for name, set := range map[string]func(*chat.Options){
		"effort":        func(o *chat.Options) { o.Effort = "huge" },
		"empty stop":    func(o *chat.Options) { o.Stop = []string{""} },
		"many stops":    func(o *chat.Options) { o.Stop = strings.Split("abcde", "") },
		"broken schema": func(o *chat.Options) { o.Schema = json.RawMessage(`{`) },
		"no schema":     func(o *chat.Options) { o.Schema = json.RawMessage(`1`) },
	} {
		req := ask(e, "q")
		set(&req.Options)
		if _, err := chat.Collect(e.Run(t.Context(), &req)); chat.KindOf(err) != chat.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
