// Package bgesmall carries the weights of bge-small-en-v1.5, an embedder of English text with 33
// million parameters, in eight bits (BAAI, MIT licence; see NOTICE and docs/models.md).
package bgesmall

import (
	_ "embed"
	"sync"

	"parley/internal/encoder"
)

//go:embed bge-small-en-v1.5.bin
var file []byte

// Open returns the model. It is read once, when it is first asked for.
var Open = sync.OnceValues(func() (*encoder.Model, error) { return encoder.Open(file) })
