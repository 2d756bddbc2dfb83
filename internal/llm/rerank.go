package llm

import (
	"context"
	"errors"
)

// RerankRequest asks for scores of how well documents answer a query.
type RerankRequest struct {
	Model     string   // the provider's own model name, without the provider prefix
	Query     string   // never empty
	Documents []string // at least one
}

// Ranking is the answer to a RerankRequest.
type Ranking struct {
	Scores []float64 // one for each document, in the order of the request, in [0, 1]
	Model  string    // as the upstream names it; "" if it does not
	Usage  Usage     // Input only; an estimate if the upstream does not report it
}

// Reranker scores documents by reading each together with the query.
type Reranker interface {
	// Rerank returns one score for each document. An error is an *Error, or has no known reason.
	Rerank(ctx context.Context, req RerankRequest) (Ranking, error)
}

// RerankUsage returns the usage that an upstream reported for a call. If it is zero, or more than the
// texts can have, it returns an estimate. The query counts once for each document.
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
		if !(s >= 0 && s <= 1) { // also for NaN
			return Ranking{}, rejected("score %d is %v, which is not between 0 and 1", i, s)
		}
	}
	out.Usage = RerankUsage(req, out.Usage)
	return out, nil
}
