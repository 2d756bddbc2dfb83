package llmtest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"unicode"

	"parley/internal/llm"
)

// Embedder makes vectors that are similar for texts that share words. They depend only on the text: each
// word, without its ending, adds to one of the dimensions. It is safe for concurrent use.
type Embedder struct {
	Size   int    // dimensions of the vectors if the request asks for none; 0 means 128
	Refuse string // the embedder refuses every call that has a text with this in it
	// Faults are the faults of the first calls, in order. A zero fault is none, and later calls have
	// none.
	Faults []EmbedFault

	mu       sync.Mutex
	requests []llm.EmbedRequest
}

var _ llm.Embedder = (*Embedder)(nil)

// EmbedFault is a fault of a call. Its fields apply in their order.
type EmbedFault struct {
	Do    func()                                // call it
	Wait  <-chan struct{}                       // receive from it, or end with the context's error
	Err   error                                 // end with it
	Spoil func(vectors [][]float32) [][]float32 // give what it returns instead
}

// WrongDimensions removes a dimension from the first vector.
func WrongDimensions(v [][]float32) [][]float32 {
	return append([][]float32{v[0][:len(v[0])-1]}, v[1:]...)
}

// NoNumber puts NaN into the last vector.
func NoNumber(v [][]float32) [][]float32 {
	v[len(v)-1][0] = float32(math.NaN())
	return v
}

// ZeroVector makes the last vector zero.
func ZeroVector(v [][]float32) [][]float32 {
	clear(v[len(v)-1])
	return v
}

// TooFew removes the last vector.
func TooFew(v [][]float32) [][]float32 { return v[:len(v)-1] }

// Embed implements llm.Embedder.
func (e *Embedder) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	fault := e.enter(req)
	if err := (Step{Do: fault.Do, Wait: fault.Wait, Err: fault.Err}).before(ctx); err != nil {
		return llm.Embeddings{}, err
	}
	size := cmp.Or(req.Dimensions, e.Size, 128)
	out := llm.Embeddings{Model: "hashed-1"}
	for _, text := range req.Texts {
		if e.Refuse != "" && strings.Contains(text, e.Refuse) {
			return llm.Embeddings{}, &llm.Error{Status: 400, Err: fmt.Errorf("the text %.20q is refused", text)}
		}
		out.Vectors = append(out.Vectors, hashed(text, size))
		out.Usage.Input += len(strings.Fields(text))
	}
	if fault.Spoil != nil {
		out.Vectors = fault.Spoil(out.Vectors)
	}
	return out, nil
}

func (e *Embedder) enter(req llm.EmbedRequest) EmbedFault {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.requests)
	e.requests = append(e.requests, req)
	if n < len(e.Faults) {
		return e.Faults[n]
	}
	return EmbedFault{}
}

// Requests returns all requests so far, in order.
func (e *Embedder) Requests() []llm.EmbedRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]llm.EmbedRequest(nil), e.requests...)
}

// Texts returns how many texts with a purpose the requests had.
func (e *Embedder) Texts(p llm.Purpose) (n int) {
	for _, r := range e.Requests() {
		if r.Purpose == p {
			n += len(r.Texts)
		}
	}
	return n
}

// hashed returns the vector of a text. It is never zero, because its first dimension starts above zero.
func hashed(text string, size int) []float32 {
	v := make([]float32, size)
	v[0] = 0.01
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, w := range words {
		for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
			if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) > 2 {
				w = rest
				break
			}
		}
		h := fnv.New32a()
		h.Write([]byte(w))
		v[h.Sum32()%uint32(size)]++
	}
	return v
}
