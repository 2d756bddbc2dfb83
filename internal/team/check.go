package team

import (
	"fmt"

	"parley/internal/chat"
)

// problems returns what the engine's check of the citations has found in an answer, in sentences.
// What a model made up is not in the text any more, but the statement that it stood behind is.
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
