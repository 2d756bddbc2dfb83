package llm

import (
	"context"
	"errors"
)

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
	Usage  Usage     // Input only; an estimate where the upstream does not say
}

// Reranker judges documents against a query, each together with it.
type Reranker interface {
	// Rerank returns one score a document. Errors are *Error, or have no kind.
	Rerank(ctx context.Context, req RerankRequest) (Ranking, error)
}

// RerankUsage returns the usage that an upstream reported for a call, or an estimate when that is
// nothing, or more than the texts can have had. The query is read with each document.
func RerankUsage(req RerankRequest, reported Usage) Usage {
	var e TokenEstimate
	bytes := 0
	for _, text := range req.Documents {
		e.Add(text)
		bytes += len(text)
	}
	n := len(req.Documents)
	estimate := e.Tokens() + n*EstimateTokens(req.Query)
	return inputUsage(reported, estimate, bytes+n*(len(req.Query)+extraTokens))
}

// CheckedReranker returns a reranker that checks requests and answers. A request without a query or document,
// and an answer with a missing score or one outside [0, 1], is an *Error that is not retryable. An
// impossible usage is replaced by an estimate.
func CheckedReranker(r Reranker) Reranker { return checkedReranker{r} }

type checkedReranker struct{ reranker Reranker }

// Rerank implements Reranker.
func (r checkedReranker) Rerank(ctx context.Context, req RerankRequest) (Ranking, error) {
	if req.Query == "" || len(req.Documents) == 0 {
		return Ranking{}, &Error{Err: errors.New("there is nothing to rerank")}
	}
	out, err := r.reranker.Rerank(ctx, req)
	if err != nil {
		return Ranking{}, err
	}
	if len(out.Scores) != len(req.Documents) {
		return Ranking{}, rejected("%d scores for %d documents", len(out.Scores), len(req.Documents))
	}
	for i, s := range out.Scores {
		if !(s >= 0 && s <= 1) { // nor NaN
			return Ranking{}, rejected("score %d is %v, which is not between 0 and 1", i, s)
		}
	}
	out.Usage = RerankUsage(req, out.Usage)
	return out, nil
}
