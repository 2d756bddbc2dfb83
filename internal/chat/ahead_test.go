package chat_test

import (
	"context"
	"fmt"
	"testing"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// A computed answer needs each passage that its table comes from; quotes make do with as many
// passages as are wanted.
func TestRun_KeepsMorePassagesThanWantedOnlyIfTheAnswerNeedsThemAll(t *testing.T) {
	var five []retrieval.Passage
	for i := range 5 {
		five = append(five, chattest.Passage(fmt.Sprintf("%d.md", i), 0, "The lighthouse is tall."))
	}
	for all, want := range map[bool]int{true: 4, false: 2} {
		e := newEngine(llmtest.Says("x"), passages(five...), func(cfg *chat.Config) {
			cfg.Models = &llm.Router{Default: "builtin:extractive", Providers: map[string]llm.Model{"builtin": builtin.Answerer{}}}
			cfg.Defaults.Models.Inference = "builtin:extractive"
			cfg.Read = func(context.Context, *llm.Evidence) ([]int, bool) { return []int{4, 1, 2, 0}, all }
		})
		turn := collect(t, e, ask(e, "How tall is the lighthouse?", func(r *chat.Request) { r.Options.Top = 2 }))
		if got := len(turn.Retrieved.Passages); got != want || turn.Retrieved.Passages[0].Document.Name != "4.md" {
			t.Errorf("all %v: %d passages, want %d, the first quoted one first", all, got, want)
		}
	}
}
