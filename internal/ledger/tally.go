package ledger

import (
	"bytes"

	"parley/internal/llm"
)

// blockSize is the size in bytes of the pieces in which text is kept. It grows by pieces, so that what
// is there already is not copied again and again: there are many streams.
const blockSize = 1 << 10

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
	blocks [][]byte // see blockSize
	size   int      // of them
	rest   llm.TokenEstimate
}

func (t *tally) add(s string) {
	if s == "" {
		return
	}
	if t.size+len(s) > maxKept {
		t.rest.Add(s)
		return
	}
	t.size += len(s)
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last])+len(s) > cap(t.blocks[last]) {
		t.blocks, last = append(t.blocks, make([]byte, 0, max(blockSize, len(s)))), last+1
	}
	t.blocks[last] = append(t.blocks[last], s...)
}

func (t *tally) tokens(count Count) int {
	// A space at the end belongs to the token of a word that did not come, and waits in the engine for it.
	return count(string(bytes.TrimRight(bytes.Join(t.blocks, nil), " "))) + t.rest.Tokens()
}

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
