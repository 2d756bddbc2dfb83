package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

func TestClarify_AsksBackWhenTheModelFindsTheQuestionAmbiguous(t *testing.T) {
	ambiguous := `{"query":"How tall is the Eiffel Tower?","ambiguous":true,"confidence":0.4,"reason":"two towers"`
	clarifying := func(r *chat.Request) { r.Options.Rewrite.Clarify = true }
	for name, c := range map[string]struct {
		reply string
		set   func(*chat.Request)
		want  string // "" for an answer
	}{
		"with its own question": {ambiguous + `,"clarification":"Which tower\n do you mean?"}`, clarifying, "Which tower do you mean?"},
		"with none":             {ambiguous + `}`, clarifying, "What exactly do you mean? Is it: How tall is the Eiffel Tower?"},
		"switched off":          {ambiguous + `,"clarification":"Which tower?"}`, func(*chat.Request) {}, ""},
		"not ambiguous":         {`{"query":"How tall is the Eiffel Tower?","ambiguous":false,"confidence":0.9,"reason":"","clarification":"Which?"}`, clarifying, ""},
		"no query":              {`{"query":"","ambiguous":true,"clarification":"Which?"}`, clarifying, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rewriter, answerer, found := llmtest.Says(c.reply), llmtest.Says("330 m"), passages()
			e := newEngine(answerer, found, with(map[string]llm.Model{"small": rewriter}))
			req := ask(e, "How tall is it?", goingOn, rewriteBy("small:m"))
			c.set(&req)
			var asked []string
			var turn chat.Turn
			for event, err := range e.Run(t.Context(), &req) {
				if err != nil {
					t.Fatal(err)
				}
				if n, ok := event.(chat.ClarificationNeeded); ok {
					asked = append(asked, n.Question)
				}
				turn.Add(event)
			}
			m := turn.Messages[0]
			if c.want == "" {
				if len(asked) != 0 || m.Text != "330 m" {
					t.Errorf("asked back %q, answered %q", asked, m.Text)
				}
				return
			}
			if diff := cmp.Diff([]string{c.want}, asked); diff != "" {
				t.Error(diff)
			}
			if m.Text != c.want || m.Status != chat.StatusCompleted || len(found.queries) != 0 || len(answerer.Requests()) != 0 {
				t.Errorf("message %+v after %d searches and %d answers", m, len(found.queries), len(answerer.Requests()))
			}
			if !strings.Contains(rewriter.Requests()[0].Messages[0].Text(), "clarification") {
				t.Error("the model was not told that it may ask")
			}
		})
	}
}

// turns returns an option that puts n turns before the question of a request.
func turns(n int) func(*chat.Request) {
	return func(r *chat.Request) {
		var before []chat.Message
		for i := range n {
			before = append(before,
				chat.TextMessage(llm.User, fmt.Sprintf("question %d about towers %s", i, strings.Repeat("x", 300))),
				chat.TextMessage(llm.Assistant, fmt.Sprintf("answer %d", i)))
		}
		r.Messages = append(before, r.Messages...)
	}
}

func TestRewrite_ShowsTheModelSoManyTurnsAndTheGistOfThoseBefore(t *testing.T) {
	for _, c := range []struct{ raw, tail, gist, whole, begun int }{
		{0, 0, 0, 3, 0},
		{0, 2, 0, 2, 0},
		{0, 2, 3, 2, 3},
		{0, chat.NoTurns, 2, 0, 2},
		{0, 5, 5, 5, 0}, // there are no more
		{1, 1, 2, 1, 2}, // also turns that the answer's prompt leaves out
		{1, 3, 1, 3, 1},
	} {
		rewriter := llmtest.Says(`{"query":"towers"}`)
		e := newEngine(llmtest.Says("x"), passages(), with(map[string]llm.Model{"small": rewriter}))
		req := ask(e, "How tall?", turns(5), rewriteBy("small:m"))
		req.Options.Rewrite.Turns, req.Options.Rewrite.Gist, req.Options.Summary.Turns = c.tail, c.gist, c.raw
		req.Options.Models.Summary = "builtin:none"
		collect(t, e, req)
		shown := rewriter.Requests()[0].Messages[1].Text()
		whole := strings.Count(shown, strings.Repeat("x", 300))
		if begun := strings.Count(shown, "> User: question") - whole; whole != c.whole || begun != c.begun {
			t.Errorf("%+v: %d turns whole and %d begun:\n%s", c, whole, begun, shown)
		}
	}
}

func TestHistory_NoTurnsLeavesAllToTheSummary(t *testing.T) {
	summarizer := llmtest.Says("They spoke of towers.")
	e := newEngine(llmtest.Says("x"), passages(), with(map[string]llm.Model{"small": summarizer}))
	req := ask(e, "How tall?", turns(2), rewriteBy("builtin:rules"))
	req.Options.Models.Summary, req.Options.Summary.Turns = "small:m", chat.NoTurns
	messages := collect(t, e, req).Prompt.Messages
	if len(messages) != 2 || !strings.Contains(messages[1].Text(), "They spoke of towers.") {
		t.Errorf("the prompt is %+v", messages)
	}
}

func TestHistory_ClipsTheLastTurnRatherThanDroppingAll(t *testing.T) {
	e := newEngine(llmtest.Says("x"), passages(), func(cfg *chat.Config) { cfg.MaxHistoryTokens = 200 })
	req := ask(e, "How tall?")
	req.Options.Models.Summary = "builtin:none"
	req.Messages = append([]chat.Message{
		chat.TextMessage(llm.User, "What is the Eiffel Tower?"),
		chat.TextMessage(llm.Assistant, "It is a tower. "+strings.Repeat("It is made of iron. ", 200)),
	}, req.Messages...)
	messages := collect(t, e, req).Prompt.Messages
	if len(messages) != 4 || messages[1].Text() != "What is the Eiffel Tower?" {
		t.Fatalf("the prompt is %+v", messages)
	}
	answer := messages[2].Text()
	if tokens := llm.EstimateTokens(answer); !strings.HasPrefix(answer, "It is a tower. It is made") || !strings.HasSuffix(answer, " …") || tokens < 150 || tokens > 200 {
		t.Errorf("the answer was clipped to %d tokens: %q", tokens, answer)
	}
}
