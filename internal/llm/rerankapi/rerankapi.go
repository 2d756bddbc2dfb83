// Package rerankapi is a provider of rerankers for any server with the /rerank API that Cohere, Jina,
// vLLM, llama.cpp, Infinity and text-embeddings-inference (TEI) share. It uses net/http directly.
//
//	POST {base}/rerank {"model": …, "query": …, "documents": […], "top_n": …}
//	→ {"results": [{"index": 1, "relevance_score": 0.9}, …]}
//
// TEI calls the documents "texts" and answers with a bare list of {"index", "score"}. It is recognised
// when it refuses the other form with status 422; from then on, requests use its own form.
//
// Some servers return the model's raw output, which can be any number, instead of a score between 0 and
// 1. When a score of an answer is outside of [0, 1], all scores of that model are mapped by the logistic
// function 1/(1+exp(-x)), in this answer and from then on. That keeps their order.
//
// https://docs.cohere.com/reference/rerank (v2; v1 differs in what is not used here),
// https://api.jina.ai/redoc#tag/rerank, https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
// (Re-rank API), https://huggingface.github.io/text-embeddings-inference (/rerank).
package rerankapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Config says how to reach the upstream. A zero field means its default.
type Config struct {
	BaseURL  string // the URL without /rerank, such as https://api.cohere.com/v2
	APIKey   string // sent as a bearer token unless it is empty
	Upstream upstream.Config
}

// Provider is a llm.Reranker. It is safe for concurrent use.
type Provider struct {
	base   string // without a trailing slash
	key    string
	client *upstream.Client

	mu  sync.Mutex
	tei bool            // the upstream is TEI
	raw map[string]bool // models whose scores can be any numbers
}

var (
	_ llm.Reranker = (*Provider)(nil)
	_ llm.Lister   = (*Provider)(nil)
)

// New returns a provider, or an error if the base URL is invalid.
func New(cfg Config) (*Provider, error) {
	u, err := upstream.ParseURL(cfg.BaseURL, "the base URL of the reranker")
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/rerank")
	return &Provider{
		base: u.String(), key: cfg.APIKey, raw: map[string]bool{},
		client: upstream.NewClient(cfg.Upstream),
	}, nil
}

// teiDocuments is the number of documents that TEI accepts in one call by default (--max-client-batch-size).
const teiDocuments = 32

// Rerank implements llm.Reranker.
func (p *Provider) Rerank(ctx context.Context, req llm.RerankRequest) (llm.Ranking, error) {
	out, err := p.rank(ctx, req)
	if err == nil {
		p.scale(req.Model, out.Scores)
	}
	return out, err
}

func (p *Provider) rank(ctx context.Context, req llm.RerankRequest) (llm.Ranking, error) {
	if p.isTEI() {
		return p.rankTEI(ctx, req)
	}
	w := wireRequest{
		Model: llm.CleanName(req.Model), Query: req.Query, Documents: req.Documents, TopN: len(req.Documents),
	}
	out, err := p.post(ctx, w, len(req.Documents))
	if !refused(err) {
		return out, err
	}
	out, teiErr := p.rankTEI(ctx, req)
	if refused(teiErr) {
		return llm.Ranking{}, err // the form of the request is not the problem
	}
	if teiErr == nil {
		p.setTEI()
	}
	return out, teiErr
}

// refused reports whether an upstream refused the form of the request.
func refused(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Status == http.StatusUnprocessableEntity
}

func (p *Provider) isTEI() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tei
}

func (p *Provider) setTEI() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tei = true
}

// rankTEI sends the documents to TEI, a few at a time. The score of a document does not depend on the
// others, so the results can be concatenated.
func (p *Provider) rankTEI(ctx context.Context, req llm.RerankRequest) (all llm.Ranking, err error) {
	for from := 0; from < len(req.Documents); from += teiDocuments {
		texts := req.Documents[from:min(from+teiDocuments, len(req.Documents))]
		part, err := p.post(ctx, wireTEI{Query: req.Query, Texts: texts, Truncate: true}, len(texts))
		if err != nil {
			return llm.Ranking{}, err
		}
		all.Scores = append(all.Scores, part.Scores...)
	}
	return all, nil
}

// post makes one call. The answer must have scores for the given number of documents.
func (p *Provider) post(ctx context.Context, w any, documents int) (llm.Ranking, error) {
	call := p.call("/rerank")
	var err error
	if call.Body, err = json.Marshal(w); err != nil {
		return llm.Ranking{}, &llm.Error{Err: fmt.Errorf("encode documents: %w", err)}
	}
	// Some servers return the documents unasked; escaping may turn a byte into six.
	limit := 64<<10 + documents*256 + 6*len(call.Body)
	body, err := p.client.Post(ctx, call, limit)
	if err != nil {
		return llm.Ranking{}, err
	}
	return decode(body, &call, documents)
}

func (p *Provider) call(path string) upstream.Call {
	h := http.Header{}
	if p.key != "" {
		h.Set("Authorization", "Bearer "+p.key)
	}
	return upstream.Call{URL: p.base + path, Header: h, Secret: upstream.Secret(p.key), Failure: classify}
}
