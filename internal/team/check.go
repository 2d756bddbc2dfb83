package team

import (
	"fmt"

	"parley/internal/chat"
)

// problems describes each doubt of the engine's citation check in a sentence. Invented citations have been
// removed from the text, but the sentences that had them have not.
func problems(m chat.MessageFinished) (all []string) {
	for _, d := range m.Doubts {
		switch {
		case d.Kind == chat.Invented:
			all = append(all, fmt.Sprintf("[%s] is not among the sources: %q", d.Label, d.Sentence))
		case d.Reason == "numbers":
			all = append(all, fmt.Sprintf("[%s] does not have these numbers: %q", d.Label, d.Sentence))
		default:
			all = append(all, fmt.Sprintf("[%s] does not say this: %q", d.Label, d.Sentence))
		}
	}
	return all
}
