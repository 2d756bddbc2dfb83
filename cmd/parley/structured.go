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

// structured is the text of a setting that is a list or a mapping, as JSON; "" for an empty one. Settings
// must be texts, so that they can be compared and come from the environment.
type structured string

// readStructured reads a list or a mapping L in YAML, in which unknown keys are errors.
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

// content returns what readStructured has read as L.
func content[L any, S ~string](s S) (list L) {
	if s != "" {
		_ = json.Unmarshal([]byte(s), &list) // written by readStructured
	}
	return list
}

func sortedNames[T any](list map[string]T) []string { return slices.Sorted(maps.Keys(list)) }
