package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Purpose says what a text is embedded for. Some models embed questions and documents differently.
type Purpose string

// The purposes.
const (
	ForDocument Purpose = "document"
	ForQuery    Purpose = "query"
)

// EmbedRequest requests the vectors of some texts.
type EmbedRequest struct {
	Model      string   // the provider's own model name, without the provider prefix
	Texts      []string // at least one; none may be empty
	Purpose    Purpose
	Dimensions int  // requested length of the vectors; 0 means the model's own
	Background bool // nobody waits for the vectors: a model inside the program lets other work go first
}

// Embeddings are the vectors of an EmbedRequest.
type Embeddings struct {
	Vectors [][]float32 // one for each text, in their order; all of one length
	Model   string      // as the upstream names it; "" if it does not
	Usage   Usage       // Input only
}

// Embedder turns texts into vectors whose cosine measures the similarity of the texts.
type Embedder interface {
	// Embed returns one vector for each text. An error is an *Error, or has no known reason.
	Embed(ctx context.Context, req EmbedRequest) (Embeddings, error)
}

// EmbedLimits are the limits of one call of an embedder. A zero field is unknown.
type EmbedLimits struct {
	Texts      int // texts
	Tokens     int // tokens of all texts together
	TextTokens int // tokens of one text
}

// EmbedLimiter is an embedder that knows its limits.
type EmbedLimiter interface {
	EmbedLimits(model string) EmbedLimits
}

// extraTokens is more than any model adds to a text.
const extraTokens = 256

// EmbedUsage returns the usage that an upstream reported for a call. If it is zero, or more than the
// texts can have (no tokenizer makes two tokens of a byte), it returns an estimate.
func EmbedUsage(req EmbedRequest, reported Usage) Usage {
	var e TokenEstimate
	bytes := 0
	for _, text := range req.Texts {
		e.Add(text)
		bytes += len(text)
	}
	return inputUsage(reported, e.Tokens(), bytes+len(req.Texts)*extraTokens)
}

// inputUsage returns a reported usage if it is between 1 and limit, and otherwise an estimate.
func inputUsage(reported Usage, estimate, limit int) Usage {
	if reported.Input > 0 && reported.Input <= limit {
		return Usage{Input: reported.Input, Estimated: reported.Estimated}
	}
	return Usage{Input: estimate, Estimated: true}
}

// checkEmbeddings returns an error that is not retryable if the vectors do not fit the request.
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
			return errors.New("has a value that is not a finite number")
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
