package main

import (
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

type configCmd struct{}

// Run prints a YAML file that --config reads back, except secrets. A comment gives the origin of
// each value that is not a default.
func (configCmd) Run(p *program) error { return writeConfig(p.stdout, p.config, p.origin) }

func writeConfig(w io.Writer, cfg Config, origin map[string]string) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	sections := map[string]*yaml.Node{}
	for _, f := range fields() {
		parent, key := root, f.Key
		if section, rest, ok := strings.Cut(f.Key, "."); ok {
			if sections[section] == nil {
				sections[section] = &yaml.Node{Kind: yaml.MappingNode}
				root.Content = append(root.Content, scalar(section), sections[section])
			}
			parent, key = sections[section], rest
		}
		value := valueNode(f, reflect.ValueOf(cfg).Field(f.index))
		if from := origin[f.Name]; from != "" {
			value.LineComment = from
		}
		parent.Content = append(parent.Content, scalar(key), value)
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	return enc.Close()
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// valueNode returns the value as YAML, without keys and without passwords inside URLs.
func valueNode(f field, v reflect.Value) *yaml.Node {
	if f.Secret {
		if v.IsZero() {
			return scalar("")
		}
		return scalar("(hidden)")
	}
	if list, ok := v.Interface().([]string); ok {
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range list {
			n.Content = append(n.Content, scalar(item))
		}
		return n
	}
	if s, ok := v.Interface().(string); ok {
		if u, err := url.Parse(s); err == nil && u.User != nil {
			s = u.Redacted()
		}
		return scalar(s)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v.Interface())}
}
