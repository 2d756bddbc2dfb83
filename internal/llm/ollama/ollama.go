// Package ollama is a model provider for Ollama's own API (POST {host}/api/chat), whose streams are
// lines of JSON objects. It uses net/http directly.
//
// https://github.com/ollama/ollama/blob/main/docs/api.md
package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"net/url"
	"strings"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/upstream"
)

// Config says how to reach the upstream. A zero field means its default.
type Config struct {
	Host      string // as in OLLAMA_HOST: a host, host:port or a URL; 127.0.0.1:11434
	Overrides llm.Overrides
	// Upstream.FirstByte includes loading the model; its default is 5 min.
	Upstream upstream.Config
}

// Provider makes completions and embeddings. It is safe for concurrent use.
type Provider struct {
	base      string
	overrides llm.Overrides
	client    *upstream.Client
	shown     shown
}

var (
	_ llm.Model        = (*Provider)(nil)
	_ llm.Embedder     = (*Provider)(nil)
	_ llm.EmbedLimiter = (*Provider)(nil)
	_ llm.Lister       = (*Provider)(nil)
	_ llm.Describer    = (*Provider)(nil)
	_ llm.Sizer        = (*Provider)(nil)
)

// New returns a provider, or an error if the host is invalid.
func New(cfg Config) (*Provider, error) {
	base, err := BaseURL(cfg.Host)
	if err != nil {
		return nil, err
	}
	cfg.Upstream.FirstByte = cmp.Or(cfg.Upstream.FirstByte, 5*time.Minute)
	return &Provider{base: base, overrides: cfg.Overrides, client: upstream.NewClient(cfg.Upstream)}, nil
}

// BaseURL returns the URL for an OLLAMA_HOST, in the way Ollama's own server and client read it: the
// default port is 11434, or that of the scheme if there is one, and the unspecified address means this
// machine.
func BaseURL(host string) (string, error) {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(host), "://")
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if !ok {
		scheme, rest, port = "http", scheme, "11434"
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, given, err := net.SplitHostPort(rest)
	if err != nil {
		name, given = strings.Trim(rest, "[]"), ""
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(name, cmp.Or(given, port)), Path: strings.TrimRight("/"+path, "/")}
	parsed, err := url.Parse(u.String())
	if err != nil || port == "" || strings.ContainsAny(parsed.Host, " @") {
		return "", fmt.Errorf("%q is not a host for Ollama, such as 127.0.0.1:11434", host)
	}
	return parsed.String(), nil
}

// Stream implements llm.Model. The error is an *llm.Error, or the context's if that has ended.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return p.client.Stream(ctx, func(call *upstream.Call) (err error) {
		*call = upstream.Call{URL: p.base + "/api/chat", Framing: upstream.Lines, Failure: classify}
		p.ask(ctx, req.Model)
		call.Body, err = encodeRequest(req, p.family(req.Model))
		call.Decoder, call.Whole = newDecoder(req, call.Failed), req.Whole
		return err
	})
}

// Models implements llm.Lister with GET /api/tags, the models on the machine.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	body, err := p.client.Get(ctx, upstream.Call{URL: p.base + "/api/tags", Failure: classify})
	if err != nil {
		return nil, err
	}
	var w struct {
		Models []struct {
			Name    string `json:"name"`
			Details struct {
				Family string `json:"family"`
			} `json:"details"`
		} `json:"models"`
	}
	if err := upstream.DecodeModels(body, &w); err != nil {
		return nil, err
	}
	models := make([]llm.ModelInfo, 0, len(w.Models))
	for _, m := range w.Models {
		p.ask(ctx, m.Name) // for Capabilities
		models = append(models, llm.ModelInfo{
			Name: llm.CleanName(m.Name), Context: p.family(m.Name).Context,
			Embeds: p.family(m.Name).embeds || strings.HasSuffix(m.Details.Family, "bert"),
		})
	}
	return models, nil
}

// classify reads an error, which is only a text; its meaning is in the status. An error without a status
// broke off a stream, or is in a response without an answer.
func classify(body []byte) *llm.Error {
	var w struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil || w.Error == "" {
		return &llm.Error{}
	}
	if strings.Contains(w.Error, "parsing tool call") {
		return &llm.Error{Miscalled: true}
	}
	return &llm.Error{Retryable: true}
}
