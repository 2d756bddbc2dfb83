package chat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

func TestCollect_KeepsWhatACutTurnHadSaid(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want chat.Status
	}{
		"failed":    {&llm.Error{Err: errors.New("connection reset")}, chat.StatusFailed},
		"cancelled": {fmt.Errorf("read: %w", context.Canceled), chat.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			model := &llmtest.Model{Steps: []llmtest.Step{
				{Chunk: llm.Chunk{Model: "m-1", Text: "Half [a.md"}}, {Chunk: llm.Chunk{Text: "] an ans"}},
				{Err: c.err},
			}}
			e := newEngine(model, passages(chattest.Passage("a.md", 0, "text"), chattest.Passage("b.md", 0, "text")))
			turn, err := chat.Collect(e.Run(t.Context(), new(ask(e, "q"))))
			if !errors.Is(err, c.err) || len(turn.Messages) != 1 {
				t.Fatalf("%d messages and the error %v", len(turn.Messages), err)
			}
			m := turn.Messages[0]
			if m.Text != "Half [a.md] an ans" || m.Status != c.want || m.Model != "m-1" {
				t.Errorf("the partial message is %+v", m)
			}
			if len(m.Citations) != 1 || m.Citations[0].Label != "a.md" {
				t.Errorf("it cites %+v", m.Citations)
			}
		})
	}
}

func TestCollect_FindsCitationsOfImagesAndOfToolResultsInACutAnswer(t *testing.T) {
	down := &llm.Error{Err: errors.New("connection reset")}
	pool := llm.ToolCall{ID: "c1", Name: "search", Arguments: `{}`}
	var drawn []string
	for name, c := range map[string]struct {
		model llm.Model
		set   func(*chat.Request)
		want  string
	}{
		"image": {llmtest.Fails(down, "See [a.pdf#page=3] and "), func(r *chat.Request) { r.Options.Images = chat.ImagesOnly }, "a.pdf#page=3"},
		"tool":  {&inTurn{scripts: []*llmtest.Model{asksFor("", pool), llmtest.Fails(down, "See [found.pdf#page=7] and ")}}, usingTools, "found.pdf#page=7"},
	} {
		e := newEngine(c.model, passages(pdfPassage("a.pdf", 3, "three")), seeing(&drawn), ofServer(&toolbox{names: []string{"search"}}))
		turn, err := chat.Collect(e.Run(t.Context(), new(ask(e, "q", c.set))))
		if err == nil || len(turn.Messages) != 1 {
			t.Fatalf("%s: %d messages and the error %v", name, len(turn.Messages), err)
		}
		if m := turn.Messages[0]; len(m.Citations) != 1 || m.Citations[0].Label != c.want {
			t.Errorf("%s: %q cites %+v", name, m.Text, m.Citations)
		}
	}
}

func TestTurn_FoldsMessagesThatInterleave(t *testing.T) {
	turn := &chat.Turn{}
	for _, e := range []chat.Event{
		chat.PassagesRetrieved{Passages: []retrieval.Passage{chattest.Passage("a.md", 0, "text")}},
		chat.MessageStarted{ID: "1", Agent: "writer", Model: "m"},
		chat.MessageStarted{ID: "2", Agent: "critic", Model: "n"},
		chat.TextDelta{ID: "2", Text: "No"},
		chat.TextDelta{ID: "1", Text: "Yes ["},
		chat.MessageFinished{ID: "2", Status: chat.StatusCompleted, Text: "No"},
		chat.TextDelta{ID: "1", Text: "a.md]"},
	} {
		turn.Add(e)
	}
	if m := turn.Messages[0]; m.Text != "Yes [a.md]" || m.Status != "" {
		t.Errorf("the open message is %+v", m)
	}
	turn.End(chat.StatusCancelled)
	first, second := turn.Messages[0], turn.Messages[1]
	// No passage is in the prompt, so there is nothing that could be cited.
	if first.Status != chat.StatusCancelled || len(first.Citations) != 0 {
		t.Errorf("the message that was open is %+v", first)
	}
	if second.Status != chat.StatusCompleted || second.Agent != "critic" || second.Model != "n" {
		t.Errorf("the finished message is %+v", second)
	}
}

// A string that grows by concatenation costs an allocation for each delta, and time that grows
// with the square of the answer.
func TestTurn_FoldsALongAnswerWithoutCopyingItForEachDelta(t *testing.T) {
	const deltas = 10_000
	piece := strings.Repeat("x", 10)
	var text, reasoning chat.Event = chat.TextDelta{ID: "1", Text: piece}, chat.ReasoningDelta{ID: "1", Text: piece}
	allocs := testing.AllocsPerRun(1, func() {
		turn := &chat.Turn{}
		for range deltas {
			turn.Add(text)
			turn.Add(reasoning)
		}
		if len(turn.Messages[0].Text) != deltas*len(piece) || len(turn.Reasoning) != deltas*len(piece) {
			t.Fatal("the fold is not the text of the deltas")
		}
	})
	if allocs > deltas/10 {
		t.Errorf("%.0f allocations for %d deltas", allocs, deltas)
	}
}
