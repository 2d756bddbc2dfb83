// Package e5small carries the weights of multilingual-e5-small, an embedder of text in many languages with 21
// million parameters beside its vocabulary, cut to the 60,000 most frequent pieces (intfloat, MIT licence;
// see NOTICE and docs/models.md).
package e5small

import (
	_ "embed"
	"sync"

	"parley/internal/encoder"
)

//go:embed multilingual-e5-small.bin
var file []byte

// Open returns the model. It is read once, when it is first asked for.
var Open = sync.OnceValues(func() (*encoder.Model, error) { return encoder.Open(file) })
