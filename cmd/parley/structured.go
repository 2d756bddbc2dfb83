package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// structured is a setting that is a list or a mapping, as JSON text; "" if empty. Settings must be
// text, so that they can be compared and set by the environment.
type structured string

// readStructured parses YAML into L and rejects unknown keys.
func readStructured[L any](text []byte, expected string) (structured, error) {
	var list L
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return "", errors.New(expected)
	}
	b, err := json.Marshal(list)
	if s := string(b); err != nil || s == "null" || s == "{}" || s == "[]" {
		return "", err
	}
	return structured(b), nil
}

// content decodes the result of readStructured.
func content[L any, S ~string](s S) (list L) {
	if s != "" {
		_ = json.Unmarshal([]byte(s), &list) // written by readStructured
	}
	return list
}

func sortedNames[T any](list map[string]T) []string { return slices.Sorted(maps.Keys(list)) }
