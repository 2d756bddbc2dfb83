package ledger

import (
	"bytes"

	"parley/internal/llm"
)

// blockSize is the size in bytes of the blocks that store text. Growing by blocks avoids copying the
// existing text again and again for many streams.
const blockSize = 1 << 10

// Count returns the number of tokens of a text.
type Count func(text string) int

// The maximum number of bytes of a call that are counted with Count, which is slow. The rest is estimated.
// Text from the upstream is kept until it is counted.
const (
	maxCounted = 256 << 10 // of a prompt
	maxKept    = 64 << 10  // of an answer, and of its reasoning
)

// tally keeps text that is counted only if the upstream does not report a usage.
type tally struct {
	blocks [][]byte // see blockSize
	size   int      // total size of blocks
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
	// A trailing space belongs to the token of a word that did not arrive; the engine holds it back, too.
	return count(string(bytes.TrimRight(bytes.Join(t.blocks, nil), " "))) + t.rest.Tokens()
}

// countInput counts the tokens of a request that the upstream did not report.
func countInput(req llm.Request, count Count) int {
	room := maxCounted
	return llm.CountInput(req, func(text string) int {
		if room -= len(text); room < 0 {
			return llm.EstimateTokens(text)
		}
		return count(text)
	})
}
