package main

import (
	"fmt"
	"net/url"
	"slices"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/llm/openai"
	"parley/internal/llm/rerankapi"
)

// endpoint is an OpenAI-compatible or reranking server named by the configuration.
type endpoint struct {
	BaseURL   string   `yaml:"base_url" json:"base_url"`
	APIKeyEnv string   `yaml:"api_key_env" json:"api_key_env,omitempty"` // the environment variable with the key; "" for none
	Reasoning []string `yaml:"reasoning" json:"reasoning,omitempty"`     // reasoning models
	Rerank    bool     `yaml:"rerank" json:"rerank,omitempty"`           // it has the /rerank API, and no chat models
}

// open returns the provider for the endpoint.
func (e endpoint) open(key string, overrides llm.Overrides) (any, error) {
	if e.Rerank {
		return rerankapi.New(rerankapi.Config{BaseURL: e.BaseURL, APIKey: key})
	}
	return openai.New(openai.Config{BaseURL: e.BaseURL, APIKey: key, Reasoning: e.Reasoning, Overrides: overrides})
}

// endpoints are the servers by name; "" for none.
type endpoints structured

// UnmarshalText reads a YAML mapping.
func (e *endpoints) UnmarshalText(text []byte) error {
	return readStructured[map[string]endpoint](text, e, "names of providers")
}

// list returns the endpoints by name.
func (e endpoints) list() map[string]endpoint { return content[map[string]endpoint](e) }

// names returns the names in alphabetical order.
func (e endpoints) names() []string { return sortedNames(e.list()) }

var endpointName = lazyregexp.New(`^[a-z][a-z0-9-]{0,39}$`)

func (e endpoints) check() error {
	for _, name := range e.names() {
		if !endpointName.MatchString(name) {
			return fmt.Errorf("%q is not a valid provider name: use lowercase letters, digits and dashes", name)
		}
		if slices.ContainsFunc(providers, func(p provider) bool { return p.name == name }) {
			return fmt.Errorf("the provider %q exists already", name)
		}
		base := e.list()[name].BaseURL
		if err := checkURL(base); err != nil {
			return fmt.Errorf("base_url of %s: %w", name, err)
		}
		if u, err := url.Parse(base); err != nil || u.User != nil {
			return fmt.Errorf("base_url of %s holds a password; name the variable that holds the key in api_key_env", name)
		}
	}
	return nil
}
