package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/internal/encoder"
	"parley/internal/encoder/e5small"
	"parley/internal/llm"
)

// Embedder turns texts in many languages into vectors by an encoder that is part of the program. It reads the
// first 512 tokens of a text.
type Embedder struct{}

// embedders are the encoders of the program by name.
var embedders = map[string]struct {
	open  func() (*encoder.Model, error)
	share float64                    // see LikenessShare
	knows func(question string) bool // see Knows
}{
	"multilingual-e5-small": {open: e5small.Open, share: .3, knows: isSpelled},
}

// Knows reports whether an embedder knows the script of a question. Embedders of other providers are assumed
// to know every script.
func Knows(key, question string) bool {
	name, builtin := strings.CutPrefix(key, "builtin:")
	return !builtin || embedders[name].knows == nil || embedders[name].knows(question)
}

// LikenessShare returns the weight of the vectors of a built-in embedder in hybrid search, in proportion to
// that of the words; 0 for other models. docs/models.md has the measurements.
func LikenessShare(key string) float64 {
	name, _ := strings.CutPrefix(key, "builtin:")
	return embedders[name].share
}

// Embedders returns the names of the built-in embedders.
func Embedders() []string { return slices.Sorted(maps.Keys(embedders)) }

// Embed returns one vector for each text.
func (Embedder) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	e, ok := embedders[req.Model]
	if !ok {
		return llm.Embeddings{}, &llm.Error{Err: fmt.Errorf("there is no built-in embedder %q", req.Model)}
	}
	m, err := e.open()
	if err != nil {
		return llm.Embeddings{}, fmt.Errorf("open the built-in embedder: %w", err)
	}
	if req.Dimensions != 0 && req.Dimensions != m.Dimensions() {
		return llm.Embeddings{}, &llm.Error{Err: fmt.Errorf("%s makes vectors of %d dimensions, not %d", req.Model, m.Dimensions(), req.Dimensions)}
	}
	kind := encoder.Passage
	if req.Purpose == llm.ForQuery {
		kind = encoder.Question
	}
	all := llm.Embeddings{Model: m.Name(), Vectors: make([][]float32, len(req.Texts))}
	embed := func() {
		for i, text := range req.Texts {
			if all.Vectors[i], err = m.Embed(ctx, text, kind); err != nil {
				return
			}
			all.Usage.Input += len(m.Tokens(text, kind))
		}
	}
	if req.Background {
		ctx = encoder.InBackground(ctx)
		gently(embed)
	} else {
		embed()
	}
	if err != nil {
		return llm.Embeddings{}, err
	}
	return all, nil
}

// EmbedLimits keeps calls short, so that one that is cancelled ends soon.
func (Embedder) EmbedLimits(string) llm.EmbedLimits {
	return llm.EmbedLimits{Texts: 16, TextTokens: 512}
}
