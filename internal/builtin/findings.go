package builtin

import (
	"context"

	"parley/internal/llm"
)

// FindingsName is the name of the model that lists what the evidence says.
const FindingsName = "findings"

// A list of findings is material for another agent's answer: it may be longer, and include sentences that add less.
var thorough = limits{sentences: 8, bytes: 2400, pages: 6, gain: .3, pageGain: .3, again: .7, unlike: 1}

// findings returns the items of a Markdown list: each sentence of the evidence that bears on the question, with its citation;
// none if the evidence does not hold an answer.
func (a Answerer) findings(ctx context.Context, ev *llm.Evidence) (items []string) {
	for i, q := range a.quotes(ctx, ev, thorough) {
		item := "- " + q.String()
		if i > 0 {
			item = "\n" + item
		}
		items = append(items, item)
	}
	return items
}
