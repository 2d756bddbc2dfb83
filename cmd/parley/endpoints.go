package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"parley/internal/llm"
	"parley/internal/llm/openai"
	"parley/internal/llm/rerankapi"
)

// endpoint is a server that the configuration names: OpenAI-compatible, or one that reranks.
type endpoint struct {
	BaseURL   string   `yaml:"base_url" json:"base_url"`
	APIKeyEnv string   `yaml:"api_key_env" json:"api_key_env,omitempty"` // the variable that holds the key; "" for none
	Reasoning []string `yaml:"reasoning" json:"reasoning,omitempty"`     // models that reason
	Rerank    bool     `yaml:"rerank" json:"rerank,omitempty"`           // it has the /rerank API, and no models that answer
}

// open returns the provider at the endpoint.
func (e endpoint) open(key string, overrides llm.Overrides) (any, error) {
	if e.Rerank {
		return rerankapi.New(rerankapi.Config{BaseURL: e.BaseURL, APIKey: key})
	}
	return openai.New(openai.Config{BaseURL: e.BaseURL, APIKey: key, Reasoning: e.Reasoning, Overrides: overrides})
}

// endpoints are the servers by name, as JSON; "" for none.
type endpoints string

// UnmarshalText reads a YAML mapping.
func (e *endpoints) UnmarshalText(text []byte) error {
	var list map[string]endpoint
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return errors.New("expected names of providers, each with base_url, api_key_env, reasoning and rerank")
	}
	if len(list) == 0 {
		*e = ""
		return nil
	}
	b, err := json.Marshal(list)
	*e = endpoints(b)
	return err
}

// list returns the endpoints by name. The text was written by UnmarshalText.
func (e endpoints) list() map[string]endpoint {
	var list map[string]endpoint
	if e != "" {
		_ = json.Unmarshal([]byte(e), &list)
	}
	return list
}

// names returns the names in alphabetical order.
func (e endpoints) names() []string { return slices.Sorted(maps.Keys(e.list())) }

var endpointName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

func (e endpoints) check() error {
	for _, name := range e.names() {
		if !endpointName.MatchString(name) {
			return fmt.Errorf("%q is no name for a provider: small letters, digits and dashes make one", name)
		}
		if slices.ContainsFunc(providers, func(p provider) bool { return p.name == name }) {
			return fmt.Errorf("%q is a provider that there is already", name)
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
