package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Purpose says what a text is embedded for, since some models embed questions and documents
// differently.
type Purpose string

// The purposes.
const (
	ForDocument Purpose = "document"
	ForQuery    Purpose = "query"
)

// EmbedRequest asks for the vectors of some texts.
type EmbedRequest struct {
	Model      string   // the provider's own model name, without the provider prefix
	Texts      []string // at least one; none is empty
	Purpose    Purpose
	Dimensions int // the length that vectors are to have; 0 means the model's own
}

// Embeddings are the vectors of an EmbedRequest.
type Embeddings struct {
	Vectors [][]float32 // one a text, in their order; all of one length
	Model   string      // as the upstream names it; "" when it does not
	Usage   Usage       // Input only
}

// Embedder turns texts into vectors whose cosine is a measure of how alike the texts are.
type Embedder interface {
	// Embed returns one vector a text. Errors are *Error, or have no kind.
	Embed(ctx context.Context, req EmbedRequest) (Embeddings, error)
}

// EmbedLimits is what an embedder takes in one call. Zero fields are not known.
type EmbedLimits struct {
	Texts      int // texts
	Tokens     int // tokens of all texts together
	TextTokens int // tokens of one text
}

// EmbedLimiter is an embedder that knows what it takes.
type EmbedLimiter interface {
	EmbedLimits(model string) EmbedLimits
}

// extraTokens is more than a model may add to a text of its own accord.
const extraTokens = 256

// EmbedUsage returns the usage that an upstream reported for a call, or an estimate when that is
// nothing, or more than the texts can have had: no tokenizer makes two tokens of a byte.
func EmbedUsage(req EmbedRequest, reported Usage) Usage {
	var e TokenEstimate
	bytes := 0
	for _, text := range req.Texts {
		e.Add(text)
		bytes += len(text)
	}
	return inputUsage(reported, e.Tokens(), bytes+len(req.Texts)*extraTokens)
}

// inputUsage returns a reported usage if it is one of input alone, up to limit, else an estimate.
func inputUsage(reported Usage, estimate, limit int) Usage {
	if reported.Input > 0 && reported.Input <= limit {
		return Usage{Input: reported.Input, Estimated: reported.Estimated}
	}
	return Usage{Input: estimate, Estimated: true}
}

// checkEmbeddings returns an error, which is not retryable, when vectors are not what was asked for.
func checkEmbeddings(req EmbedRequest, vectors [][]float32) error {
	if len(vectors) != len(req.Texts) {
		return rejected("%d vectors for %d texts", len(vectors), len(req.Texts))
	}
	length := req.Dimensions
	if length == 0 {
		length = len(vectors[0])
	}
	for i, v := range vectors {
		if len(v) != length {
			return rejected("vector %d has %d dimensions, not %d", i, len(v), length)
		}
		if err := checkVector(v); err != nil {
			return rejected("vector %d %w", i, err)
		}
	}
	return nil
}

func checkVector(v []float32) error {
	zero := true
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return errors.New("holds something that is not a number")
		}
		zero = zero && x == 0
	}
	if zero {
		return errors.New("is zero")
	}
	return nil
}

func rejected(format string, args ...any) error {
	return &Error{Err: fmt.Errorf("the upstream's answer is not usable: "+format, args...)}
}
