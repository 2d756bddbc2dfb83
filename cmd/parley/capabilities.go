package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"parley/internal/llm"
)

// capability is llm.Override as it stands in the configuration.
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

// capabilities correct what providers declare of models, by provider:model, as JSON; "" for none.
type capabilities string

// UnmarshalText reads a YAML mapping.
func (c *capabilities) UnmarshalText(text []byte) error {
	var list map[string]capability
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return errors.New("expected models as provider:model, each with some of like, vision, tools, schema, effort, temperature, top_p, stop and context")
	}
	if len(list) == 0 {
		*c = ""
		return nil
	}
	b, err := json.Marshal(list)
	*c = capabilities(b)
	return err
}

// list returns the corrections by key. The text was written by UnmarshalText.
func (c capabilities) list() map[string]capability {
	var list map[string]capability
	if c != "" {
		_ = json.Unmarshal([]byte(c), &list)
	}
	return list
}

// of returns the corrections for the models of a provider.
func (c capabilities) of(provider string) llm.Overrides {
	found := llm.Overrides{}
	for key, v := range c.list() {
		if name, model, _ := strings.Cut(key, ":"); name == provider {
			found[model] = llm.Override(v)
		}
	}
	return found
}

func (c capabilities) check(providers []string) error {
	list := c.list()
	for _, key := range slices.Sorted(maps.Keys(list)) {
		if err := checkModel(key, providers); err != nil {
			return err
		}
		if n := list[key].Context; n != nil && *n < 1 {
			return fmt.Errorf("context of %s is not a number of tokens", key)
		}
		if name, _, _ := strings.Cut(key, ":"); strings.HasPrefix(list[key].Like, name+":") {
			return fmt.Errorf("like of %s is to be the name of a model without its provider", key)
		}
	}
	return nil
}
