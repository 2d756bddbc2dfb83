// Package anthropic is a model provider for Anthropic's Messages API (POST {base}/v1/messages with
// "stream": true, version 2023-06-01). It uses net/http directly.
//
// https://platform.claude.com/docs/en/api/messages and
// https://platform.claude.com/docs/en/build-with-claude/streaming
package anthropic

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// version is the API version of each request: the only one in which older models accept a temperature.
const version = "2023-06-01"

// Config says how to reach the upstream. A zero field means its default.
type Config struct {
	BaseURL   string // without /v1; https://api.anthropic.com
	APIKey    string // sent as x-api-key
	Overrides llm.Overrides
	Upstream  upstream.Config
}

// Provider makes completions. It is safe for concurrent use.
type Provider struct {
	base      string
	key       string
	overrides llm.Overrides
	client    *upstream.Client
}

var (
	_ llm.Model     = (*Provider)(nil)
	_ llm.Lister    = (*Provider)(nil)
	_ llm.Describer = (*Provider)(nil)
)

// New returns a provider, or an error if the base URL is invalid.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://api.anthropic.com"
	}
	u, err := upstream.ParseURL(cfg.BaseURL, "the base URL of the Anthropic provider")
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1")
	return &Provider{base: base, key: cfg.APIKey, overrides: cfg.Overrides, client: upstream.NewClient(cfg.Upstream)}, nil
}

// Stream implements llm.Model. The error is an *llm.Error, or the context's if that has ended.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return p.client.Stream(ctx, func(call *upstream.Call) (err error) {
		*call = p.call("/v1/messages")
		call.Body, err = p.encodeRequest(req)
		call.Decoder, call.Whole = newDecoder(req, call.Failed), req.Whole
		return err
	})
}

func (p *Provider) call(path string) upstream.Call {
	h := http.Header{"Anthropic-Version": {version}}
	if p.key != "" {
		h.Set("X-Api-Key", p.key)
	}
	return upstream.Call{URL: p.base + path, Header: h, Secret: upstream.Secret(p.key), Failure: classify}
}

// Models implements llm.Lister with one page of GET /v1/models.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	body, err := p.client.Get(ctx, p.call("/v1/models?limit=1000"))
	if err != nil {
		return nil, err
	}
	var w struct {
		Data []struct {
			ID             string `json:"id"`
			MaxInputTokens int    `json:"max_input_tokens"`
		} `json:"data"`
	}
	if err := upstream.DecodeModels(body, &w); err != nil {
		return nil, err
	}
	models := make([]llm.ModelInfo, 0, len(w.Data))
	for _, m := range w.Data {
		models = append(models, llm.ModelInfo{Name: llm.CleanName(m.ID), Context: max(m.MaxInputTokens, 0)})
	}
	return models, nil
}

// statuses maps the types of errors to their statuses. Errors in streams have no status of their own.
// https://platform.claude.com/docs/en/api/errors
var statuses = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
	"timeout_error": 504, "overloaded_error": 529,
}

func classify(body []byte) *llm.Error {
	var w struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		return &llm.Error{}
	}
	return upstream.StatusError(statuses[w.Error.Type])
}
