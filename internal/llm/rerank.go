package llm

import "context"

// RerankRequest asks how well documents answer a query.
type RerankRequest struct {
	Model     string   // the provider's own model name, without the provider prefix
	Query     string   // never empty
	Documents []string // at least one
}

// Ranking is the answer to a RerankRequest.
type Ranking struct {
	Scores []float64 // one a document, in the order of the request, in [0, 1]
	Model  string    // as the upstream names it; "" when it does not
	Usage  Usage     // Input only; zero where the upstream does not say
}

// Reranker judges documents against a query, each together with it.
type Reranker interface {
	// Rerank returns one score a document. Errors are *Error, or have no kind.
	Rerank(ctx context.Context, req RerankRequest) (Ranking, error)
}
