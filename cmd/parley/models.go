package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"parley/internal/builtin"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/anthropic"
	"parley/internal/llm/azureopenai"
	"parley/internal/llm/gemini"
	"parley/internal/llm/ollama"
	"parley/internal/llm/openai"
	"parley/internal/llm/price"
	"parley/internal/rerank"
)

// builtinModel is the default model. It needs no key and no server.
const builtinModel = "builtin:extractive"

// provider opens one model provider.
type provider struct {
	name string
	// open returns an llm.Model, an llm.Embedder, an llm.Reranker, or several of them in one.
	open func(cfg Config) (any, error)
	// missing returns what must be set before the provider can be used, or "".
	missing func(cfg Config) string
	embeds  bool // open returns an llm.Embedder
}

// answerer returns the built-in answerer with its reader.
func answerer() builtin.Answerer {
	return builtin.Answerer{Reader: builtin.NewReader()}
}

// reader returns the reranker that reads passages, nil for a query in a language that it does not know.
func reader(query string) rerank.Reranker {
	r := builtin.NewReader()
	if !r.ReadsInEnglish(query) {
		return nil
	}
	return rerank.Reader{Model: "builtin:reader", Scores: r.English}
}

// providers are the model providers, apart from the configured endpoints. To add one, write a
// directory in internal/llm, its settings in Config, and an entry here.
var providers = []provider{
	{
		name:   "builtin",
		embeds: true,
		open: func(cfg Config) (any, error) {
			return struct {
				builtin.Answerer
				builtin.Embedder
			}{Answerer: answerer()}, nil
		},
		missing: func(Config) string { return "" },
	},
	{
		name:   "openai",
		embeds: true,
		open: func(cfg Config) (any, error) {
			return openai.New(openai.Config{
				BaseURL: cfg.OpenAIBaseURL, APIKey: cfg.OpenAIAPIKey, Overrides: cfg.Capabilities.of("openai"),
			})
		},
		missing: func(cfg Config) string {
			// A private server may need no key.
			if cfg.OpenAIAPIKey == "" && cfg.OpenAIBaseURL == defaultText("openai-base-url") {
				return "set OPENAI_API_KEY, or openai.api_key in the configuration file"
			}
			return ""
		},
	},
	{
		name:   "azure-openai",
		embeds: true,
		open: func(cfg Config) (any, error) {
			return azureopenai.New(azureopenai.Config{
				Endpoint: cfg.AzureOpenAIEndpoint, APIVersion: cfg.AzureOpenAIAPIVersion, APIKey: cfg.AzureOpenAIAPIKey,
				TokenFile: cfg.AzureOpenAITokenFile, Entra: entra(cfg),
				Overrides: cfg.Capabilities.of("azure-openai"),
			})
		},
		missing: func(cfg Config) string {
			if cfg.AzureOpenAIEndpoint == "" {
				return "set AZURE_OPENAI_ENDPOINT, or azure_openai.endpoint in the configuration file"
			}
			tokens := entra(cfg)
			if cfg.AzureOpenAIAPIKey == "" && cfg.AzureOpenAITokenFile == "" && !tokens.Configured() {
				return "set AZURE_OPENAI_API_KEY, or what tokens of Entra ID need: AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, " +
					"or azure_openai.managed_identity in the configuration file"
			}
			return ""
		},
	},
	{
		name: "anthropic",
		open: func(cfg Config) (any, error) {
			return anthropic.New(anthropic.Config{
				BaseURL: cfg.AnthropicBaseURL, APIKey: cfg.AnthropicAPIKey, Overrides: cfg.Capabilities.of("anthropic"),
			})
		},
		missing: func(cfg Config) string {
			return unset(cfg.AnthropicAPIKey, "set ANTHROPIC_API_KEY, or anthropic.api_key in the configuration file")
		},
	},
	{
		name:   "gemini",
		embeds: true,
		open: func(cfg Config) (any, error) {
			return gemini.New(gemini.Config{
				BaseURL: cfg.GeminiBaseURL, APIKey: cfg.GeminiAPIKey, Overrides: cfg.Capabilities.of("gemini"),
			})
		},
		missing: func(cfg Config) string {
			return unset(cfg.GeminiAPIKey, "set GEMINI_API_KEY, or gemini.api_key in the configuration file")
		},
	},
	{
		name:   "ollama",
		embeds: true,
		open: func(cfg Config) (any, error) {
			return ollama.New(ollama.Config{Host: cfg.OllamaHost, Overrides: cfg.Capabilities.of("ollama")})
		},
		missing: func(Config) string { return "" },
	},
}

func entra(cfg Config) azureopenai.Entra {
	return azureopenai.Entra{
		Tenant: cfg.AzureOpenAITenantID, Client: cfg.AzureOpenAIClientID, Secret: cfg.AzureOpenAIClientSecret,
		AssertionFile: cfg.AzureOpenAIFederatedTokenFile, Managed: cfg.AzureOpenAIManagedIdentity,
		// App Service, Functions and Container Apps set these themselves.
		Endpoint: os.Getenv("IDENTITY_ENDPOINT"), Header: os.Getenv("IDENTITY_HEADER"),
	}
}

func unset(value, need string) string {
	if value != "" {
		return ""
	}
	return need
}

func (c *Config) providerNames() []string {
	var names []string
	for _, p := range providers {
		names = append(names, p.name)
	}
	return append(names, c.Providers.names()...)
}

// namesThat returns the names of the providers for which do is true.
func (c *Config) namesThat(do func(p provider) bool) []string {
	var names []string
	for _, p := range providers {
		if do(p) {
			names = append(names, p.name)
		}
	}
	for _, name := range c.Providers.names() {
		if !c.Providers.list()[name].Rerank {
			names = append(names, name)
		}
	}
	return names
}

func answers(provider) bool { return true }

func embeds(p provider) bool { return p.embeds }

// providersOf returns all providers; those of the configuration are last.
func (p *program) providersOf(cfg Config) []provider {
	all := providers[:len(providers):len(providers)]
	for _, name := range cfg.Providers.names() {
		e := cfg.Providers.list()[name]
		key, _ := p.lookupEnv(e.APIKeyEnv)
		all = append(all, provider{
			name: name,
			open: func(Config) (any, error) { return e.open(key, cfg.Capabilities.of(name)) },
			missing: func(Config) string {
				if e.APIKeyEnv == "" {
					return ""
				}
				return unset(key, "set "+e.APIKeyEnv)
			},
		})
	}
	return all
}

// newRouter returns the models of all configured providers. A model of the configuration without
// its provider is a usage error.
func (p *program) newRouter(cfg Config, books *ledger.Ledger) (*llm.Router, error) {
	r := &llm.Router{
		Default: cfg.Model, Providers: map[string]llm.Model{}, Embedders: map[string]llm.Embedder{},
		Rerankers: map[string]llm.Reranker{}, Missing: map[string]string{},
	}
	for _, provider := range p.providersOf(cfg) {
		if need := provider.missing(cfg); need != "" {
			r.Missing[provider.name] = need
			continue
		}
		opened, err := provider.open(cfg)
		if err != nil {
			return nil, fmt.Errorf("open the model provider %s: %w", provider.name, err)
		}
		register(r, provider.name, opened)
	}
	for _, key := range append(cfg.models(), cfg.Embedding) {
		name, _, _ := strings.Cut(key, ":")
		if need := r.Missing[name]; need != "" {
			return nil, usagef("the model %s needs an API key: %s", key, need)
		}
	}
	p.makeResilient(r, cfg, books)
	return r, nil
}

// register registers a provider for everything that it can do.
func register(r *llm.Router, name string, opened any) {
	if m, ok := opened.(llm.Model); ok {
		r.Providers[name] = m
	}
	if e, ok := opened.(llm.Embedder); ok {
		r.Embedders[name] = e
	}
	if m, ok := opened.(llm.Reranker); ok {
		r.Rerankers[name] = m
	}
}

// makeResilient puts a breaker before each endpoint (a model of a provider), a retry budget before
// each provider, and a fallback to the next model of its stage after a failed completion.
func (p *program) makeResilient(r *llm.Router, cfg Config, books *ledger.Ledger) {
	r.Breakers = llm.NewBreakers(llm.BreakerOptions{})
	retriers := map[string]*llm.Retrier{}
	for _, provider := range p.providersOf(cfg) {
		retriers[provider.name] = llm.NewRetrier(llm.RetryOptions{})
	}
	guards := func(key string) llm.Guards {
		name, _, _ := strings.Cut(key, ":")
		return llm.Guards{Endpoint: key, Retrier: retriers[name], Breakers: r.Breakers, Meter: books.Of(name)}
	}
	r.Wrap = p.withFallback(cfg, r, books, guards)
	r.WrapEmbedder = func(e llm.Embedder, key string) llm.Embedder { return guards(key).Embedder(e) }
	r.WrapReranker = func(m llm.Reranker, key string) llm.Reranker { return guards(key).Reranker(m) }
}

// withFallback returns a wrapper for the answering models, by stage and key.
func (p *program) withFallback(cfg Config, r *llm.Router, books *ledger.Ledger, guards func(key string) llm.Guards) func(llm.Model, string, string) llm.Model {
	link := func(key string) llm.Link {
		name, model, _ := strings.Cut(key, ":")
		m := r.Providers[name]
		if name == ledger.Builtin {
			m = books.Meter(name, m)
		} else {
			m = guards(key).Model(m)
		}
		return llm.Link{Model: m, Name: model, Key: key, Window: func(ctx context.Context) int { return r.Window(ctx, key) }}
	}
	failed := func(ctx context.Context, from, to llm.Link, err error) {
		p.log.WarnContext(ctx, "model failed, asking the next", "model", from.Key, "next", to.Key, "error", err)
	}
	return func(m llm.Model, stage, key string) llm.Model {
		if isBuiltin(key) {
			return books.Meter(ledger.Builtin, m)
		}
		links := []llm.Link{link(key)}
		for _, next := range cfg.fallbacks(stage) {
			if next != key && !isBuiltin(next) {
				links = append(links, link(next))
			}
		}
		if len(links) == 1 {
			return links[0].Model
		}
		return llm.Chain(links, failed)
	}
}

// readPrices returns the built-in prices, overridden by the operator's file. A server in place of a
// provider's own has the catalogue's prices for its address, if any.
func readPrices(cfg Config) (*price.Table, error) {
	prices := price.Builtin()
	for name, url := range map[string]string{
		"openai": cfg.OpenAIBaseURL, "anthropic": cfg.AnthropicBaseURL, "gemini": cfg.GeminiBaseURL,
	} {
		if url != defaultText(name+"-base-url") {
			prices = prices.Without(name).At(name, url)
		}
	}
	for name, e := range cfg.Providers.list() {
		prices = prices.At(name, e.BaseURL)
	}
	if cfg.Prices == "" {
		return prices, nil
	}
	f, err := os.Open(cfg.Prices)
	if err != nil {
		return nil, usagef("read the prices: %w", err)
	}
	defer f.Close()
	if prices, err = prices.With(f); err != nil {
		return nil, usagef("%s: %w", cfg.Prices, err)
	}
	return prices, nil
}

func costs(prices *price.Table) ledger.Price {
	return func(provider, model string, u llm.Usage) ledger.Cost {
		micros, known := prices.Cost(provider, model, u, time.Now())
		return ledger.Cost{Micros: micros, Known: known}
	}
}
