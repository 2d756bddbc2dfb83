// Package minilm carries a model that reads an English question with a passage and says how well the passage answers it. Its
// weights, 33 million in eight bits, are those of ms-marco-MiniLM-L-12-v2 (sentence-transformers, Apache-2.0), trained further;
// see NOTICE and docs/models.md.
package minilm

import (
	_ "embed"
	"sync"

	"parley/internal/encoder"
)

//go:embed ms-marco-minilm-l-12-v2-trained.bin
var file []byte

// Open returns the model. It is read once, when it is first asked for.
var Open = sync.OnceValues(func() (*encoder.Scorer, error) { return encoder.OpenScorer(file) })
