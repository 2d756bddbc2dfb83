// Package encoder runs small transformers in the program itself: no server, no other library, no cgo.
// A Model turns texts into vectors, and the cosine of two vectors says how alike two texts are:
//
//	m, err := encoder.Open(file)
//	v, err := m.Embed(ctx, "How many days of leave are there?", encoder.Question)
//
// A Scorer reads a question together with a passage and says how well the passage answers it:
//
//	s, err := encoder.OpenScorer(file)
//	scores, err := s.Scores(ctx, "How many days of leave are there?", passages)
//
// The network is BERT's (Devlin et al. 2018) with weights in eight bits. Matrices are multiplied as
// integers by kernels in assembly where the processor has AVX2, AVX-512 VNNI or NEON with the dot product, and in plain Go
// elsewhere; which one runs is decided when the program starts. All kernels in assembly give the same
// vectors to the last bit; those of plain Go differ in the last digits of floats.
//
// Weights stay where they are and are not copied, so that a file that is part of the program costs
// memory only once it is used.
package encoder

import (
	"context"
	"math"
	"sync"
)

// Kind says what a text is. Some models embed questions differently from passages.
type Kind int

// The kinds of text.
const (
	Passage Kind = iota
	Question
)

// Model is a network with its weights. It may be used by several goroutines at once.
type Model struct {
	weights   *weights
	tokenizer tokenizer
	kernels   kernels
	passes    sync.Pool // of *pass, for as many tokens as the model takes
}

// Open returns the model in a file of weights, which it keeps and which must not change.
func Open(file []byte) (*Model, error) {
	w, r, err := open(file, nil)
	if err != nil {
		return nil, err
	}
	t, err := newTokenizer(w, r)
	if err != nil {
		return nil, err
	}
	return newModel(w, t), nil
}

func newModel(w *weights, t tokenizer) *Model {
	m := &Model{weights: w, tokenizer: t, kernels: newKernels()}
	m.passes.New = func() any { return newPass(w, m.kernels, w.Positions) }
	return m
}

// Name returns the model's name.
func (m *Model) Name() string { return m.weights.Name }

// Dimensions returns the length of a vector.
func (m *Model) Dimensions() int { return m.weights.Hidden }

// Limit returns the number of tokens of a text that are read. The rest is cut off.
func (m *Model) Limit() int { return m.weights.Positions }

// Tokens returns the tokens of a text as the model reads it, at most Limit.
func (m *Model) Tokens(text string, kind Kind) []int32 {
	switch kind {
	case Question:
		text = m.weights.Query + text
	case Passage:
		text = m.weights.Passage + text
	}
	return m.tokenizer.tokens(text, m.Limit())
}

// Embed returns the vector of a text, of length 1. The only possible error is ctx.Err().
func (m *Model) Embed(ctx context.Context, text string, kind Kind) ([]float32, error) {
	p := m.passes.Get().(*pass)
	defer m.passes.Put(p)
	tokens := m.Tokens(text, kind)
	if !m.weights.Mean {
		if err := p.run(ctx, tokens, len(tokens), 1); err != nil {
			return nil, err
		}
		return normalised(p.x[:m.weights.Hidden]), nil
	}
	if err := p.run(ctx, tokens, len(tokens), len(tokens)); err != nil {
		return nil, err
	}
	mean := make([]float32, m.weights.Hidden)
	for i := range tokens {
		for j, v := range p.x[i*len(mean):][:len(mean)] {
			mean[j] += v
		}
	}
	return normalised(mean), nil
}

func normalised(x []float32) []float32 {
	var squares float64
	for _, v := range x {
		squares += float64(v) * float64(v)
	}
	unit := make([]float32, len(x))
	for i, v := range x {
		unit[i] = float32(float64(v) / math.Sqrt(squares))
	}
	return unit
}
