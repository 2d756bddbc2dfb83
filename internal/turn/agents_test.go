package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
)

// Two agents work at the same time, each in its own stage, and one of them fails. The ledger has the
// usage of each under its stage, each answer has its own, and the turn has the sum.
func TestLedger_KnowsTheStageOfEachAgent(t *testing.T) {
	s := open(t).State()
	books := ledger.New(s, ledger.Options{Price: price})
	good := books.Meter("openai", chunks(nil, llm.Chunk{Text: "four"}, llm.Chunk{Usage: &llm.Usage{Input: 7, Output: 1}}))
	bad := books.Meter("openai", chunks(errors.New("boom"), llm.Chunk{Text: "half", Usage: &llm.Usage{Input: 30, Output: 5}}))
	call := func(ctx context.Context, agent string, m llm.Model) (u llm.Usage) {
		for chunk, err := range m.Stream(ledger.WithAgent(ctx, agent), prompt) {
			if err == nil && chunk.Usage != nil {
				u = *chunk.Usage
			}
		}
		return u
	}
	team := engine(func(ctx context.Context, _ chat.Request, emit func(chat.Event) bool) error {
		emit(chat.StageStarted{Stage: chat.StageGenerate, Agent: "A"})
		emit(chat.StageStarted{Stage: chat.StageRewrite, Agent: "B"})
		emit(chat.MessageStarted{ID: "a", Agent: "A"})
		emit(chat.MessageStarted{ID: "b", Agent: "B"})
		used := call(ctx, "A", good)
		call(ctx, "B", bad)
		emit(chat.MessageFinished{ID: "b", Agent: "B", Status: chat.StatusFailed, Err: &chat.Error{}})
		emit(chat.MessageFinished{ID: "a", Agent: "A", Status: chat.StatusCompleted, Usage: used})
		emit(chat.StageFinished{Stage: chat.StageGenerate, Agent: "A", Usage: used})
		emit(chat.TurnFinished{Usage: used})
		return nil
	})
	if err := run(t.Context(), turn.NewRunner(team, s, turn.Options{}), askTurn("", "why?")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries(t, s, turnID) {
		got = append(got, string(e.Stage)+" "+string(e.Status))
	}
	if diff := cmp.Diff([]string{"generate completed", "rewrite failed"}, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	record := saved(t, s)
	if want := (llm.Usage{Input: 37, Output: 6}); record.Usage != want {
		t.Errorf("usage of the turn %+v, want %+v", record.Usage, want)
	}
	want := map[string]llm.Usage{"A": {Input: 7, Output: 1}, "B": {Input: 30, Output: 5}}
	for _, a := range record.Answers {
		if a.Usage != want[a.Agent] {
			t.Errorf("usage of %s: %+v, want %+v", a.Agent, a.Usage, want[a.Agent])
		}
	}
	if len(record.Answers) != 2 || len(record.Stages) != 1 || record.Stages[0].Agent != "A" {
		t.Errorf("the turn is %+v", record)
	}
}
