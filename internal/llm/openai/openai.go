// Package openai is a model provider for any server with the OpenAI protocol for streamed chat
// completions (POST {base}/chat/completions with "stream": true). It uses net/http directly.
//
// A stream is complete only if it ended with [DONE] or a finish reason; everything else is an error.
// Package upstream has the timeouts and limits.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Config says how to reach the upstream. A zero field means its default.
type Config struct {
	BaseURL string // including the version; https://api.openai.com/v1
	APIKey  string // sent as a bearer token unless it is empty
	// Reasoning names further models that reason, in addition to OpenAI's own.
	Reasoning []string
	Overrides llm.Overrides
	// Unknown is the model whose capabilities are assumed for models of unknown names. By default these
	// are the newest models at OpenAI's own address, and open models elsewhere.
	Unknown string
	// Authorize puts the credentials into a request's header instead of APIKey, and returns the text
	// that must not appear in errors. Optional.
	Authorize func(context.Context, http.Header) (upstream.Secret, error)
	// Path returns the part of the address of a model's completions after the base URL, including the
	// query; nil means "/chat/completions" for every model.
	Path func(model string) (string, error)
	// EmbeddingsPath is the same for embeddings; nil means "/embeddings".
	EmbeddingsPath func(model string) (string, error)
	// ModelsPath is the same for the list of models; "/models".
	ModelsPath string
	// EmbedLimits are the limits of one call of embeddings. The default is OpenAI's limits for OpenAI's
	// BaseURL, and unknown for others.
	EmbedLimits llm.EmbedLimits
	Upstream    upstream.Config
}

// Provider makes completions and embeddings. It is safe for concurrent use.
type Provider struct {
	cfg     Config
	base    string // without a trailing slash
	own     bool   // the server is OpenAI's
	server  server
	client  *upstream.Client
	speech  *upstream.Client // waits longer, for transcriptions
	sizes   upstream.Sizes
	decimal atomic.Bool // the upstream has refused to send vectors in base64
}

var (
	_ llm.Model        = (*Provider)(nil)
	_ llm.Embedder     = (*Provider)(nil)
	_ llm.EmbedLimiter = (*Provider)(nil)
	_ llm.Lister       = (*Provider)(nil)
	_ llm.Describer    = (*Provider)(nil)
	_ llm.Sizer        = (*Provider)(nil)
	_ llm.Transcriber  = (*Provider)(nil)
)

const ownBaseURL = "https://api.openai.com/v1"

// New returns a provider, or an error if the base URL is invalid.
func New(cfg Config) (*Provider, error) {
	cfg.BaseURL = cmp.Or(cfg.BaseURL, ownBaseURL)
	u, err := upstream.ParseURL(cfg.BaseURL, "the base URL of the OpenAI provider")
	if err != nil {
		return nil, err
	}
	if cfg.Authorize == nil {
		cfg.Authorize = bearer(cfg.APIKey)
	}
	if cfg.Path == nil {
		cfg.Path = func(string) (string, error) { return "/chat/completions", nil }
	}
	if cfg.EmbeddingsPath == nil {
		cfg.EmbeddingsPath = func(string) (string, error) { return "/embeddings", nil }
	}
	cfg.ModelsPath = cmp.Or(cfg.ModelsPath, "/models")
	if cfg.EmbedLimits == (llm.EmbedLimits{}) && strings.TrimRight(cfg.BaseURL, "/") == ownBaseURL {
		cfg.EmbedLimits = OwnEmbedLimits
	}
	u.Path = strings.TrimRight(u.Path, "/")
	own := u.Hostname() == "api.openai.com"
	p := &Provider{cfg: cfg, base: u.String(), own: own, server: serverAt(u), client: upstream.NewClient(cfg.Upstream)}
	speech := cfg.Upstream
	speech.FirstByte, speech.Overall = transcriptionTime, transcriptionTime
	p.speech = upstream.NewClient(speech)
	p.sizes.List = p.Models
	return p, nil
}

func bearer(key string) func(context.Context, http.Header) (upstream.Secret, error) {
	return func(_ context.Context, h http.Header) (upstream.Secret, error) {
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
		return upstream.Secret(key), nil
	}
}

// Stream implements llm.Model. The error is an *llm.Error, or the context's if that has ended.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return p.client.Stream(ctx, func(call *upstream.Call) (err error) {
		path, err := p.cfg.Path(req.Model)
		if err != nil {
			return err
		}
		if *call, err = p.call(ctx, path); err != nil {
			return err
		}
		call.Body, err = p.encodeRequest(req)
		call.Decoder, call.Whole = newDecoder(req, call.Failed), req.Whole
		return err
	})
}

func (p *Provider) call(ctx context.Context, path string) (upstream.Call, error) {
	call := upstream.Call{URL: p.base + path, Header: http.Header{}, Failure: classify}
	var err error
	if call.Secret, err = p.cfg.Authorize(ctx, call.Header); err != nil {
		return call, unauthorized(ctx, err)
	}
	return call, nil
}

// unauthorized returns the error of a call without credentials. It has a status, since no request was
// made that might cost something.
func unauthorized(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("authorize the call: %w", ctx.Err())
	}
	out := llm.Error{Status: http.StatusUnauthorized, Err: err}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		out = *e
	}
	out.Err = fmt.Errorf("authorize the call: %w", out.Err)
	return &out
}

// Models implements llm.Lister with GET {base}/models, or the configured path. The protocol has no
// context sizes, but vLLM and OpenRouter do.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	call, err := p.call(ctx, p.cfg.ModelsPath)
	if err != nil {
		return nil, err
	}
	body, err := p.client.Get(ctx, call)
	if err != nil {
		return nil, err
	}
	return decodeModels(body)
}

// ContextSize implements llm.Sizer. OpenAI's own list of models has no sizes, and Azure's has no
// deployments.
func (p *Provider) ContextSize(ctx context.Context, model string) int {
	if p.own || p.cfg.ModelsPath != "/models" {
		return 0
	}
	return p.sizes.Of(ctx, model)
}

func decodeModels(body []byte) ([]llm.ModelInfo, error) {
	var w struct {
		Data []struct {
			ID            string `json:"id"`
			MaxModelLen   int    `json:"max_model_len"`      // vLLM
			ContextLength int    `json:"context_length"`     // OpenRouter
			ContextWindow int    `json:"context_window"`     // Groq
			MaxContext    int    `json:"max_context_length"` // Mistral
			Meta          struct {
				Trained int `json:"n_ctx_train"` // llama.cpp
				Loaded  int `json:"n_ctx"`
			} `json:"meta"`
		} `json:"data"`
	}
	if err := upstream.DecodeModels(body, &w); err != nil {
		return nil, err
	}
	models := make([]llm.ModelInfo, 0, len(w.Data))
	for _, m := range w.Data {
		size := cmp.Or(max(m.Meta.Loaded, 0), max(m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContext, m.Meta.Trained, 0))
		models = append(models, llm.ModelInfo{Name: llm.CleanName(m.ID), Context: size})
	}
	return models, nil
}
