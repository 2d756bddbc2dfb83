// Package rerankapi is a provider of rerankers for any server with the /rerank API that Cohere,
// Jina, vLLM, llama.cpp, Infinity and text-embeddings-inference (TEI) share, over net/http alone.
//
//	POST {base}/rerank {"model": …, "query": …, "documents": […], "top_n": …}
//	→ {"results": [{"index": 1, "relevance_score": 0.9}, …]}
//
// TEI names the documents "texts" and answers with a bare list of {"index", "score"}. It is known
// by its refusing the other form with status 422; from then on it is asked in its own.
//
// Some servers give what the model computes, which is any number, in place of a share of 1. When a
// score of an answer is not between 0 and 1, all scores of that model go through the logistic
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
	"time"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Config says where the upstream is. Zero fields mean the default.
type Config struct {
	BaseURL string       // what stands before /rerank, such as https://api.cohere.com/v2
	APIKey  string       // sent as a bearer token; none is sent when it is empty
	HTTP    *http.Client // the default is that of package upstream

	FirstByte time.Duration // until the upstream answers; 60 s
	Idle      time.Duration // between two pieces of an answer; 60 s
	Overall   time.Duration // for one call; 10 min
}

// Provider reranks. It is safe for concurrent use.
type Provider struct {
	base   string // without a slash at its end
	key    string
	client *upstream.Client

	mu  sync.Mutex
	tei bool            // the upstream is TEI
	raw map[string]bool // models whose scores are any numbers
}

var (
	_ llm.Reranker = (*Provider)(nil)
	_ llm.Lister   = (*Provider)(nil)
)

// New returns a provider, or an error when the base URL is not one.
func New(cfg Config) (*Provider, error) {
	u, err := upstream.ParseURL(cfg.BaseURL, "the base URL of the reranker")
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/rerank")
	return &Provider{
		base: u.String(), key: cfg.APIKey, raw: map[string]bool{},
		client: upstream.NewClient(upstream.Config{
			HTTP: cfg.HTTP, FirstByte: cfg.FirstByte, Idle: cfg.Idle, Overall: cfg.Overall,
		}),
	}, nil
}

// teiDocuments is how many documents TEI takes in one call unless it is told otherwise
// (--max-client-batch-size).
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
		return llm.Ranking{}, err // what is wrong is something else
	}
	if teiErr == nil {
		p.setTEI()
	}
	return out, teiErr
}

// refused reports whether an upstream did not understand the request.
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

// rankTEI asks TEI, a few documents at a time. Each score is its document's alone, so that they
// can be put together.
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

// post makes one call. Its answer has a score for each of so many documents.
func (p *Provider) post(ctx context.Context, w any, documents int) (llm.Ranking, error) {
	call := p.call("/rerank")
	var err error
	if call.Body, err = json.Marshal(w); err != nil {
		return llm.Ranking{}, &llm.Error{Err: fmt.Errorf("encode documents: %w", err)}
	}
	// Some servers give the documents back unasked; escaped, a byte may become six.
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
