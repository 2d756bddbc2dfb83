// Package e5reader carries a model that reads a question with a passage, in many languages, and says how well the passage answers
// it. It was trained from multilingual-e5-small, whose vocabulary it uses; see docs/models.md.
package e5reader

import (
	_ "embed"
	"sync"

	"parley/internal/encoder"
	"parley/internal/encoder/e5small"
)

//go:embed multilingual-e5-small-reader.bin
var file []byte

// Open returns the model. It is read once, when it is first asked for.
var Open = sync.OnceValues(func() (*encoder.Scorer, error) {
	base, err := e5small.Open()
	if err != nil {
		return nil, err
	}
	return base.Scorer(file)
})
