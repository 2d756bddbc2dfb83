// Package gemini is a model provider for Google's Gemini API
// (POST {base}/v1beta/models/{model}:streamGenerateContent?alt=sse). It uses net/http directly.
//
// A stream has no final event. It is complete if a finish reason arrived before its end.
//
// https://ai.google.dev/api/generate-content
package gemini

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Config says how to reach the upstream. A zero field means its default.
type Config struct {
	BaseURL   string // without the version; https://generativelanguage.googleapis.com
	APIKey    string // sent as x-goog-api-key, never in the URL
	Overrides llm.Overrides
	Upstream  upstream.Config
}

// Provider makes completions and embeddings. It is safe for concurrent use.
type Provider struct {
	base      string
	key       string
	overrides llm.Overrides
	client    *upstream.Client
	sizes     upstream.Sizes
}

var (
	_ llm.Model        = (*Provider)(nil)
	_ llm.Embedder     = (*Provider)(nil)
	_ llm.EmbedLimiter = (*Provider)(nil)
	_ llm.Lister       = (*Provider)(nil)
	_ llm.Describer    = (*Provider)(nil)
	_ llm.Sizer        = (*Provider)(nil)
)

// New returns a provider, or an error if the base URL is invalid.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://generativelanguage.googleapis.com"
	}
	u, err := upstream.ParseURL(cfg.BaseURL, "the base URL of the Gemini provider")
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1beta")
	p := &Provider{base: base + "/v1beta", key: cfg.APIKey, overrides: cfg.Overrides, client: upstream.NewClient(cfg.Upstream)}
	p.sizes.List = p.Models
	return p, nil
}

// Stream implements llm.Model. The error is an *llm.Error, or the context's if that has ended.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return p.client.Stream(ctx, func(call *upstream.Call) (err error) {
		name := url.PathEscape(strings.TrimPrefix(llm.CleanName(req.Model), "models/"))
		*call = p.call("/models/" + name + ":streamGenerateContent?alt=sse")
		call.Body, err = p.encodeRequest(req)
		call.Decoder, call.Whole = newDecoder(req, call.Failed), req.Whole
		return err
	})
}

func (p *Provider) call(path string) upstream.Call {
	h := http.Header{}
	if p.key != "" {
		h.Set("X-Goog-Api-Key", p.key)
	}
	return upstream.Call{URL: p.base + path, Header: h, Secret: upstream.Secret(p.key), Failure: classify}
}

// Models implements llm.Lister with one page of GET /v1beta/models.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	body, err := p.client.Get(ctx, p.call("/models?pageSize=1000"))
	if err != nil {
		return nil, err
	}
	var w struct {
		Models []struct {
			Name    string   `json:"name"`
			Input   int      `json:"inputTokenLimit"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	if err := upstream.DecodeModels(body, &w); err != nil {
		return nil, err
	}
	var models []llm.ModelInfo
	for _, m := range w.Models {
		methods := strings.Join(m.Methods, " ")
		embeds := strings.Contains(methods, "mbedContent")
		if methods == "" || embeds || strings.Contains(methods, "enerateContent") {
			name := llm.CleanName(strings.TrimPrefix(m.Name, "models/"))
			models = append(models, llm.ModelInfo{Name: name, Context: max(m.Input, 0), Embeds: embeds})
		}
	}
	return models, nil
}

// ContextSize implements llm.Sizer.
func (p *Provider) ContextSize(ctx context.Context, model string) int {
	return p.sizes.Of(ctx, strings.TrimPrefix(model, "models/"))
}

// classify reads a google.rpc.Status (https://cloud.google.com/apis/design/errors), whose details may
// contain a retry delay.
func classify(body []byte) *llm.Error {
	var w struct {
		Error struct {
			Code    int `json:"code"`
			Details []struct {
				RetryDelay string `json:"retryDelay"` // in a google.rpc.RetryInfo, such as "7.5s"
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		return &llm.Error{}
	}
	e := upstream.StatusError(w.Error.Code)
	for _, detail := range w.Error.Details {
		if d, err := time.ParseDuration(detail.RetryDelay); err == nil && d > 0 {
			e.RetryAfter = min(d, time.Hour)
		}
	}
	return e
}
