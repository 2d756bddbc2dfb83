package turn

import "parley/internal/llm"

// Count returns the tokens of a text.
type Count func(text string) int

// How many bytes of a call are counted with Count, which is slow; the rest is estimated. What an
// upstream said has to be kept for it.
const (
	maxCounted = 256 << 10 // of a prompt
	maxKept    = 64 << 10  // of an answer, and of its reasoning
)

// tally is text that is counted once it is known that nobody else will do so.
type tally struct {
	text []byte
	rest llm.TokenEstimate
}

func (t *tally) add(s string) {
	if len(t.text)+len(s) > maxKept {
		t.rest.Add(s)
		return
	}
	t.text = append(t.text, s...)
}

func (t *tally) tokens(count Count) int { return count(string(t.text)) + t.rest.Tokens() }

// countInput returns the tokens of a request, which no upstream has counted.
func countInput(req llm.Request, count Count) int {
	room := maxCounted
	return llm.CountInput(req, func(text string) int {
		if room -= len(text); room < 0 {
			return llm.EstimateTokens(text)
		}
		return count(text)
	})
}
