package main

import (
	"fmt"
	"strings"

	"parley/internal/builtin"
	"parley/internal/llm"
	"parley/internal/llm/openai"
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

// providers are the model providers there are. A new one is a directory in internal/llm, its
// settings in Config, and an entry here.
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
}

func providerNames() []string {
	names := make([]string, len(providers))
	for i, p := range providers {
		names[i] = p.name
	}
	return names
}

// newRouter returns the models of all providers that are configured, each call of which is
// entered in the ledger. It is a usage error when cfg.Model is not among them.
func newRouter(cfg Config, ledger *turn.Ledger) (*llm.Router, error) {
	chosen, _, _ := strings.Cut(cfg.Model, ":")
	r := &llm.Router{
		Default: cfg.Model, Providers: map[string]llm.Model{}, Missing: map[string]string{},
		Wrap: func(m llm.Model, key string) llm.Model {
			name, _, _ := strings.Cut(key, ":")
			return ledger.Meter(name, m)
		},
	}
	for _, p := range providers {
		if need := p.missing(cfg); need != "" {
			if p.name == chosen {
				return nil, usagef("the model %s needs an API key: %s", cfg.Model, need)
			}
			r.Missing[p.name] = need
			continue
		}
		m, err := p.open(cfg)
		if err != nil {
			return nil, fmt.Errorf("open the model provider %s: %w", p.name, err)
		}
		r.Providers[p.name] = m
	}
	return r, nil
}
