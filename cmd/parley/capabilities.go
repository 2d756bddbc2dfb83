package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"parley/internal/llm"
)

// capability is llm.Override as written in the configuration.
type capability struct {
	Like        string `yaml:"like" json:"like,omitempty"`
	Vision      *bool  `yaml:"vision" json:"vision,omitempty"`
	Tools       *bool  `yaml:"tools" json:"tools,omitempty"`
	Schema      *bool  `yaml:"schema" json:"schema,omitempty"`
	Effort      *bool  `yaml:"effort" json:"effort,omitempty"`
	Temperature *bool  `yaml:"temperature" json:"temperature,omitempty"`
	TopP        *bool  `yaml:"top_p" json:"top_p,omitempty"`
	Stop        *bool  `yaml:"stop" json:"stop,omitempty"`
	Context     *int   `yaml:"context" json:"context,omitempty"`
}

// capabilities correct the declared capabilities of models, by provider:model; "" for none.
type capabilities structured

// UnmarshalText reads a YAML mapping.
func (c *capabilities) UnmarshalText(text []byte) error {
	return readStructured[map[string]capability](text, c, "models as provider:model")
}

// list returns the corrections by key.
func (c capabilities) list() map[string]capability { return content[map[string]capability](c) }

// of returns the corrections for the models of a provider, by model.
func (c capabilities) of(provider string) llm.Overrides {
	found := llm.Overrides{}
	for key, v := range c.list() {
		if name, model, _ := strings.Cut(key, ":"); name == provider {
			found[model] = llm.Override(v)
		}
	}
	return found
}

// seeing returns the corrections with one more: a model reads pictures.
func (c capabilities) seeing(key string) (capabilities, error) {
	list := map[string]capability{}
	maps.Copy(list, c.list())
	seen, yes := list[key], true
	seen.Vision = &yes
	list[key] = seen
	data, err := json.Marshal(list)
	return capabilities(data), err
}

func (c capabilities) check(providers []string) error {
	list := c.list()
	for _, key := range sortedNames(list) {
		if err := checkModel(key, providers); err != nil {
			return err
		}
		if n := list[key].Context; n != nil && *n < 1 {
			return fmt.Errorf("context of %s is not a number of tokens", key)
		}
		if name, _, _ := strings.Cut(key, ":"); strings.HasPrefix(list[key].Like, name+":") {
			return fmt.Errorf("like of %s must be the name of a model without its provider", key)
		}
	}
	return nil
}
