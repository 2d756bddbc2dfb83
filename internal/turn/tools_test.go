package turn_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/turn"
)

// callingTools returns an engine that calls a tool when asked, and answers when given its results.
func callingTools(given *[]chat.Message) engine {
	return func(ctx context.Context, req chat.Request, emit func(chat.Event) bool) error {
		*given = req.Messages
		if req.Messages[len(req.Messages)-1].Role == llm.ToolRole {
			return answering()(ctx, req, emit)
		}
		call := llm.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}
		for _, e := range []chat.Event{
			chat.MessageStarted{ID: "m"},
			chat.ToolCalled{ID: "m", Call: call},
			chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{call},
				Doubts: []chat.Doubt{{Label: "x.pdf", Kind: chat.Invented}}},
			chat.TurnFinished{},
		} {
			if !emit(e) {
				return nil
			}
		}
		return nil
	}
}

// askWith returns alice's request with messages.
func askWith(conversation string, messages ...chat.Message) chat.Request {
	req := ask(conversation, "")
	req.Messages = messages
	return req
}

func said(messages []chat.Message) []llm.Message {
	var out []llm.Message
	for _, m := range messages {
		out = append(out, llm.Message{Role: m.Role, Parts: m.Parts, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID})
	}
	return out
}

func TestRun_GoesOnWithTheResultsOfToolsInAConversation(t *testing.T) {
	var given []chat.Message
	db := open(t)
	r := turn.NewRunner(callingTools(&given), db.State(), turn.Options{})
	result := chat.Message{Role: llm.ToolRole, ToolCallID: "c1", Parts: []llm.Part{{Text: "20 degrees"}}}
	if err := run(t.Context(), r, ask("c", "How warm?")); err != nil {
		t.Fatal(err)
	}
	called := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{}}, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}}}
	returned := llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Text: "20 degrees"}}, ToolCallID: "c1"}
	// Some clients send what is stored once more.
	second := askWith("c", chat.TextMessage(llm.User, "How warm?"), chat.Message{Role: llm.Assistant, ToolCalls: called.ToolCalls}, result)
	second.TurnID = turnID
	if err := run(t.Context(), r, second); err != nil {
		t.Fatal(err)
	}
	want := []llm.Message{llm.Text(llm.User, "How warm?"), called, returned}
	if diff := cmp.Diff(want, said(given)); diff != "" {
		t.Errorf("the engine was given: %s", diff)
	}
	if got := saved(t, db.State()); got.Question.Role != "" || len(got.Results) != 1 || got.Results[0].ID == "" || got.Results[0].Tokens == 0 {
		t.Errorf("saved turn %+v", got)
	}
	if err := run(t.Context(), r, ask("c", "And tomorrow?")); err != nil {
		t.Fatal(err)
	}
	want = append(want, llm.Text(llm.Assistant, "answer to 20 degrees"), llm.Text(llm.User, "And tomorrow?"))
	if diff := cmp.Diff(want, said(given)); diff != "" {
		t.Errorf("the next turn was given: %s", diff)
	}
}

func TestRun_KeepsDoubtsAndCallsWithTheTurn(t *testing.T) {
	var given []chat.Message
	db := open(t)
	r := turn.NewRunner(callingTools(&given), db.State(), turn.Options{})
	if err := run(t.Context(), r, askTurn("", "How warm?")); err != nil {
		t.Fatal(err)
	}
	a := saved(t, db.State()).Answers[0]
	if len(a.Doubts) != 1 || a.Doubts[0].Kind != chat.Invented || len(a.ToolCalls) != 1 || a.FinishReason != "tool_calls" || a.Tokens == 0 {
		t.Errorf("saved answer %+v", a)
	}
}
