// Package azureopenai is a model provider for Azure OpenAI, whose protocol is OpenAI's at other
// addresses: a model is a deployment, each URL contains an API version, and the credentials are a key or
// a token of Microsoft Entra ID. The results of the content filter are passed through as llm.Vendor.
//
//	POST {endpoint}/openai/deployments/{deployment}/chat/completions?api-version={version}
//	POST {endpoint}/openai/deployments/{deployment}/embeddings?api-version={version}
//
// https://learn.microsoft.com/azure/ai-services/openai/reference (2024-10-21), and for the API
// version "v1" https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle.
package azureopenai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

// DefaultAPIVersion is the default API version: the last dated one that is generally available, and the
// first that reports usage in streams.
const DefaultAPIVersion = "2024-10-21"

// Config says how to reach the resource. The credentials are APIKey, or else a token of Entra ID from
// TokenFile or Entra. A zero field means its default.
type Config struct {
	Endpoint   string // https://RESOURCE.openai.azure.com
	APIVersion string // a date, or "v1" for the unversioned API; DefaultAPIVersion
	APIKey     string // sent as api-key
	TokenFile  string // contains the token; read for each call, since tokens last an hour
	Entra      Entra  // how to get tokens
	Overrides  llm.Overrides
	Upstream   upstream.Config
}

// unknown is the model that a deployment is assumed to have if its name says nothing: one that does not
// reason and accepts everything else.
const unknown = "gpt-4o"

// Provider makes completions and embeddings. It is safe for concurrent use.
type Provider struct{ *openai.Provider }

var (
	_ llm.Model     = (*Provider)(nil)
	_ llm.Embedder  = (*Provider)(nil)
	_ llm.Lister    = (*Provider)(nil)
	_ llm.Describer = (*Provider)(nil)
)

// Models implements llm.Lister. The list is always empty: the API lists the models that the resource
// could deploy, but not its deployments. The request still shows whether the resource can be reached.
func (p *Provider) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	_, err := p.Provider.Models(ctx)
	return nil, err
}

// New returns a provider, or an error if the endpoint is not a URL or credentials are missing.
func New(cfg Config) (*Provider, error) {
	u, err := upstream.ParseURL(cfg.Endpoint, "the endpoint of Azure OpenAI")
	if err != nil {
		return nil, err
	}
	authorize, err := cfg.authorization(u)
	if err != nil {
		return nil, err
	}
	cfg.APIVersion = cmp.Or(cfg.APIVersion, DefaultAPIVersion)
	u.RawQuery, u.Fragment = "", ""
	base := strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/openai")
	p, err := openai.New(openai.Config{
		BaseURL: base + "/openai", Overrides: cfg.Overrides, Unknown: unknown, Authorize: authorize,
		Path: cfg.path("chat/completions"), EmbeddingsPath: cfg.path("embeddings"), ModelsPath: cfg.modelsPath(),
		EmbedLimits: openai.OwnEmbedLimits,
		Upstream:    cfg.Upstream,
	})
	return &Provider{p}, err
}

// path returns a function that returns the path of an operation for a deployment.
func (c *Config) path(operation string) func(deployment string) (string, error) {
	return func(deployment string) (string, error) {
		if c.APIVersion == "v1" {
			return "/v1/" + operation, nil
		}
		if strings.Trim(deployment, ".") == "" { // it would be a path segment with a meaning
			return "", &llm.Error{Status: http.StatusNotFound, Err: fmt.Errorf("%q is not the name of a deployment", deployment)}
		}
		return "/deployments/" + url.PathEscape(deployment) + "/" + operation + "?api-version=" + url.QueryEscape(c.APIVersion), nil
	}
}

// modelsPath returns the path of the list of models that the resource could deploy.
func (c *Config) modelsPath() string {
	if c.APIVersion == "v1" {
		return "/v1/models"
	}
	return "/models?api-version=" + url.QueryEscape(c.APIVersion)
}

// authorization returns a function that adds the credentials to a request.
func (c *Config) authorization(endpoint *url.URL) (func(context.Context, http.Header) (upstream.Secret, error), error) {
	entra := c.Entra
	if err := entra.check(endpoint); err != nil {
		return nil, err
	}
	tokens := newTokens(entra.fetch, time.Now)
	get := func(ctx context.Context) (string, error) { return tokens.get(ctx) }
	switch {
	case c.APIKey != "":
		key := c.APIKey
		return func(_ context.Context, h http.Header) (upstream.Secret, error) {
			h.Set("Api-Key", key)
			return upstream.Secret(key), nil
		}, nil
	case c.TokenFile != "":
		path := c.TokenFile
		get = func(context.Context) (string, error) { return readToken(path) }
	case !entra.Configured():
		return nil, errors.New("a key or a token for Azure OpenAI is needed")
	}
	return func(ctx context.Context, h http.Header) (upstream.Secret, error) {
		token, err := get(ctx)
		if err != nil {
			return "", err
		}
		h.Set("Authorization", "Bearer "+token)
		return upstream.Secret(token), nil
	}, nil
}

// maxToken is more than the size of a token of Entra ID, in bytes.
const maxToken = 64 << 10

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsAny(token, " \r\n") {
		return "", fmt.Errorf("read the token: %s does not hold a token", path)
	}
	return token, nil
}
