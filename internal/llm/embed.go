package llm

import "context"

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
