package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"parley/internal/builtin"
	"parley/internal/llm"
	"parley/internal/llm/anthropic"
	"parley/internal/llm/azureopenai"
	"parley/internal/llm/gemini"
	"parley/internal/llm/ollama"
	"parley/internal/llm/openai"
	"parley/internal/llm/price"
	"parley/internal/turn"
)

// builtinModel is the model that needs nothing.
const builtinModel = "builtin:extractive"

// provider makes the models of one provider.
type provider struct {
	name string
	open func(cfg Config) (llm.Model, error)
	// missing returns what must be set before the provider can be used, "" when nothing is.
	missing func(cfg Config) string
}

// providers are the model providers there are, beside the endpoints of the configuration. A new
// one is a directory in internal/llm, its settings in Config, and an entry here.
var providers = []provider{
	{
		name:    "builtin",
		open:    func(Config) (llm.Model, error) { return builtin.Answerer{}, nil },
		missing: func(Config) string { return "" },
	},
	{
		name: "openai",
		open: func(cfg Config) (llm.Model, error) {
			return openai.New(openai.Config{BaseURL: cfg.OpenAIBaseURL, APIKey: cfg.OpenAIAPIKey})
		},
		missing: func(cfg Config) string {
			// A server of one's own may need no key.
			if cfg.OpenAIAPIKey == "" && cfg.OpenAIBaseURL == DefaultConfig().OpenAIBaseURL {
				return "set OPENAI_API_KEY, or openai.api_key in the configuration file"
			}
			return ""
		},
	},
	{
		name: "azure-openai",
		open: func(cfg Config) (llm.Model, error) {
			return azureopenai.New(azureopenai.Config{
				Endpoint: cfg.AzureOpenAIEndpoint, APIVersion: cfg.AzureOpenAIAPIVersion, APIKey: cfg.AzureOpenAIAPIKey,
				Token: cfg.AzureOpenAIToken, TokenFile: cfg.AzureOpenAITokenFile, Reasoning: cfg.AzureOpenAIReasoning,
			})
		},
		missing: func(cfg Config) string {
			if cfg.AzureOpenAIEndpoint == "" {
				return "set AZURE_OPENAI_ENDPOINT, or azure_openai.endpoint in the configuration file"
			}
			if cfg.AzureOpenAIAPIKey == "" && cfg.AzureOpenAIToken == "" && cfg.AzureOpenAITokenFile == "" {
				return "set AZURE_OPENAI_API_KEY, AZURE_OPENAI_AD_TOKEN, or azure_openai.token_file in the configuration file"
			}
			return ""
		},
	},
	{
		name: "anthropic",
		open: func(cfg Config) (llm.Model, error) {
			return anthropic.New(anthropic.Config{BaseURL: cfg.AnthropicBaseURL, APIKey: cfg.AnthropicAPIKey})
		},
		missing: func(cfg Config) string {
			return unset(cfg.AnthropicAPIKey, "set ANTHROPIC_API_KEY, or anthropic.api_key in the configuration file")
		},
	},
	{
		name: "gemini",
		open: func(cfg Config) (llm.Model, error) {
			return gemini.New(gemini.Config{BaseURL: cfg.GeminiBaseURL, APIKey: cfg.GeminiAPIKey})
		},
		missing: func(cfg Config) string {
			return unset(cfg.GeminiAPIKey, "set GEMINI_API_KEY, or gemini.api_key in the configuration file")
		},
	},
	{
		name: "ollama",
		open: func(cfg Config) (llm.Model, error) {
			return ollama.New(ollama.Config{Host: cfg.OllamaHost, Context: cfg.OllamaContext})
		},
		missing: func(Config) string { return "" },
	},
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

// providersOf returns all providers, those of the configuration last.
func (p *program) providersOf(cfg Config) []provider {
	all := providers[:len(providers):len(providers)]
	for _, name := range cfg.Providers.names() {
		e := cfg.Providers.list()[name]
		key, _ := p.lookupEnv(e.APIKeyEnv)
		all = append(all, provider{
			name: name,
			open: func(Config) (llm.Model, error) {
				return openai.New(openai.Config{BaseURL: e.BaseURL, APIKey: key, Reasoning: e.Reasoning})
			},
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

// newRouter returns the models of all providers that are configured. It is a usage error when
// cfg.Model or one of its fallbacks is not among them.
func (p *program) newRouter(cfg Config, ledger *turn.Ledger) (*llm.Router, error) {
	r := &llm.Router{Default: cfg.Model, Providers: map[string]llm.Model{}, Missing: map[string]string{}}
	for _, provider := range p.providersOf(cfg) {
		if need := provider.missing(cfg); need != "" {
			r.Missing[provider.name] = need
			continue
		}
		m, err := provider.open(cfg)
		if err != nil {
			return nil, fmt.Errorf("open the model provider %s: %w", provider.name, err)
		}
		r.Providers[provider.name] = m
	}
	for _, key := range append([]string{cfg.Model}, cfg.Fallback...) {
		name, _, _ := strings.Cut(key, ":")
		if need := r.Missing[name]; need != "" {
			return nil, usagef("the model %s needs an API key: %s", key, need)
		}
	}
	r.Wrap = p.resilient(cfg, r.Providers, ledger)
	return r, nil
}

// resilient returns what every model is wrapped in, from the inside out: each call is entered in
// the ledger, goes through the breaker of its endpoint, which is a provider and a model, is tried
// again within the budget of its provider, and is replaced by the next model of cfg.Fallback.
func (p *program) resilient(cfg Config, models map[string]llm.Model, ledger *turn.Ledger) func(llm.Model, string) llm.Model {
	breakers := llm.NewBreakers(llm.BreakerOptions{})
	retriers := map[string]*llm.Retrier{}
	for name := range models {
		retriers[name] = llm.NewRetrier(llm.RetryOptions{})
	}
	link := func(key string) llm.Link {
		name, model, _ := strings.Cut(key, ":")
		m := ledger.Meter(name, models[name])
		if name != turn.Builtin {
			m = retriers[name].Wrap(breakers.Wrap(m, key))
		}
		return llm.Link{Model: m, Name: model, Key: key}
	}
	failed := func(ctx context.Context, from, to llm.Link, err error) {
		p.log.WarnContext(ctx, "model failed, asking the next", "model", from.Key, "next", to.Key, "err", err)
	}
	return func(m llm.Model, key string) llm.Model {
		if name, _, _ := strings.Cut(key, ":"); name == turn.Builtin {
			return ledger.Meter(name, m)
		}
		links := []llm.Link{link(key)}
		for _, next := range cfg.Fallback {
			if next != key {
				links = append(links, link(next))
			}
		}
		if len(links) == 1 {
			return links[0].Model
		}
		return llm.Chain(links, failed)
	}
}

// readPrices returns the built-in prices with those of the operator's file laid over them. A
// server in the place of a provider's own has no built-in prices.
func readPrices(cfg Config) (*price.Table, error) {
	prices, own := price.Builtin(), DefaultConfig()
	for name, moved := range map[string]bool{
		"openai":    cfg.OpenAIBaseURL != own.OpenAIBaseURL,
		"anthropic": cfg.AnthropicBaseURL != own.AnthropicBaseURL,
		"gemini":    cfg.GeminiBaseURL != own.GeminiBaseURL,
	} {
		if moved {
			prices = prices.Without(name)
		}
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

func costs(prices *price.Table) turn.Price {
	return func(provider, model string, u llm.Usage) turn.Cost {
		micros, known := prices.Cost(provider, model, u, time.Now())
		return turn.Cost{Micros: micros, Known: known}
	}
}
