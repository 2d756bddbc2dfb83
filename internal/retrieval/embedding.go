package retrieval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/internal/llm"
	"parley/internal/vector"
)

// Embedders finds the embedder that a key names; llm.Router is one.
type Embedders interface {
	ResolveEmbedder(key string) (llm.Embedder, string, error)
}

// Embedding says how texts become vectors.
type Embedding struct {
	Embedders  Embedders
	Model      string        // of the vectors that are wanted, as "provider:model"
	Dimensions int           // of them; 0 means the model's own
	Timeout    time.Duration // of embedding a question; 0 means 5 s
	// Share returns the weight of the similarity of vectors of a model in a hybrid rank, between 0 and 1; the words have the
	// rest. It depends on the model: the better its vectors, the more they count. 0 means the default. Optional.
	Share func(model string) float64
	// Knows reports whether a model knows the script of a question. Other questions are searched for by words
	// alone. Optional.
	Knows func(model, question string) bool
}

func (e *Embedding) share(model string) float64 {
	if e.Share != nil {
		if share := e.Share(model); share > 0 {
			return share
		}
	}
	return vectorShare
}

// Option changes what Open returns.
type Option func(*Corpus)

// WithEmbedding makes a Corpus search by vectors too. Without it, no vectors are read.
func WithEmbedding(e Embedding) Option {
	if e.Timeout == 0 {
		e.Timeout = 5 * time.Second
	}
	return func(c *Corpus) { c.embedding = &e }
}

// question is a query's text as a vector.
type question struct {
	vector     []float32 // of length 1; nil when the text was not embedded
	generation int64     // whose vectors it can be compared with
	share      float64   // of the similarity in a hybrid rank
	usage      llm.Usage // zero when the vector was known already
	model      string    // that was asked, as "provider:model"
	took       time.Duration
	note       string // why there is no vector, for people
}

// The reasons why a search that should use vectors does not.
const (
	noteNoVectors = "the documents have no vectors yet"
	noteSwitching = "the documents are getting vectors of another model"
	noteUnknown   = "the embedding model does not know the script of the question"
	noteNoSearch  = "the vectors could not be searched"
	noteFailed    = "the question could not be embedded"
)

// embedQuestion returns the vector of a query for the vectors that serve. A missing vector is not an error: the search goes on
// without it.
func (c *Corpus) embedQuestion(ctx context.Context, st *state, text string) question {
	g := st.vectors.generation
	if st.vectors.empty() {
		return question{note: noteNoVectors}
	}
	if c.embedding.Knows != nil && !c.embedding.Knows(g.Model, text) {
		return question{note: noteUnknown}
	}
	key := questionKey{g.ID, text}
	if v, ok := c.questions.Get(key); ok {
		return question{vector: v, generation: g.ID, share: c.embedding.share(g.Model)}
	}
	embedder, name, err := c.embedding.Embedders.ResolveEmbedder(g.Model)
	if err != nil {
		// Its provider is not configured any more.
		c.log.Debug("no embedder for the vectors that serve", "model", g.Model, "error", err)
		return question{note: noteSwitching}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.embedding.Timeout)
	defer cancel()
	out, err := embedOne(ctx, embedder, llm.EmbedRequest{
		Model: name, Texts: []string{text}, Purpose: llm.ForQuery, Dimensions: g.Dimensions,
	}, g.Length)
	q := question{usage: out.Usage, model: g.Model, took: time.Since(began)}
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			c.log.Warn("a question could not be embedded", "model", g.Model, "error", err)
		}
		q.note = noteFailed
		return q
	}
	q.vector, q.generation, q.share = out.Vectors[0], g.ID, c.embedding.share(g.Model)
	c.questions.Put(key, q.vector)
	return q
}

// embedOne embeds one text and returns its unit vector.
func embedOne(ctx context.Context, e llm.Embedder, req llm.EmbedRequest, length int) (llm.Embeddings, error) {
	if strings.TrimSpace(req.Texts[0]) == "" {
		return llm.Embeddings{}, errors.New("the text is empty")
	}
	out, err := e.Embed(ctx, req)
	if err != nil {
		return llm.Embeddings{}, err
	}
	vectors, err := unitVectors(out.Vectors, 1, length)
	out.Vectors = vectors
	return out, err
}

// unitVectors returns n vectors scaled to length 1, all with the given number of dimensions; if that is 0, they need only have
// the same number. It trusts no embedder, because one invalid vector would spoil every ranking.
func unitVectors(vectors [][]float32, n, dimensions int) ([][]float32, error) {
	if len(vectors) != n {
		return nil, fmt.Errorf("there are %d vectors for %d texts", len(vectors), n)
	}
	units := make([][]float32, n)
	for i, v := range vectors {
		if dimensions == 0 {
			dimensions = len(v)
		}
		if len(v) != dimensions {
			return nil, &dimensionsError{got: len(v), want: dimensions}
		}
		unit, err := vector.Normalize(v)
		if err != nil {
			return nil, err
		}
		units[i] = unit
	}
	return units, nil
}

// dimensionsError says that a model gives vectors of another length than before.
type dimensionsError struct{ got, want int }

func (e *dimensionsError) Error() string {
	return fmt.Sprintf("the vector has %d dimensions, the others have %d", e.got, e.want)
}

// questionKey identifies the vector of a question.
type questionKey struct {
	generation int64
	text       string
}

// maxQuestions is the number of question vectors that are remembered: a few megabytes at most.
const maxQuestions = 256
