package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

// mapping is the text of a setting that maps names to values, as JSON; "" for none.
type mapping string

// readMapping reads a YAML mapping of names to values of T, in which unknown keys are errors.
func readMapping[T any](text []byte, expected string) (mapping, error) {
	var list map[string]T
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return "", errors.New(expected)
	}
	if len(list) == 0 {
		return "", nil
	}
	b, err := json.Marshal(list)
	return mapping(b), err
}

// entries returns what readMapping has read.
func entries[T any, M ~string](m M) map[string]T {
	var list map[string]T
	if m != "" {
		_ = json.Unmarshal([]byte(m), &list) // written by readMapping
	}
	return list
}

func sortedNames[T any](list map[string]T) []string { return slices.Sorted(maps.Keys(list)) }
