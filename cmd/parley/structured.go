package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// structured is a setting that is a list or a mapping, as JSON text; "" if empty. Settings must be
// text, so that they can be compared and set by the environment.
type structured string

// readStructured parses YAML into L, and sets to. It rejects unknown keys; names says what L lists, for errors.
func readStructured[L any, S ~string](text []byte, to *S, names string) error {
	var list L
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return errors.New("expected " + names + ", each with " + keysOf(reflect.TypeFor[L]().Elem()))
	}
	b, err := json.Marshal(list)
	if s := string(b); err == nil && s != "null" && s != "{}" && s != "[]" {
		*to = S(b)
	} else {
		*to = ""
	}
	return err
}

// keysOf lists the keys of a YAML mapping, the optional ones last, or says what else an entry is.
func keysOf(t reflect.Type) string {
	if t.Kind() != reflect.Struct {
		return "a list"
	}
	var needed, more []string
	for f := range t.Fields() {
		if strings.Contains(f.Tag.Get("json"), ",omit") {
			more = append(more, f.Tag.Get("yaml"))
		} else {
			needed = append(needed, f.Tag.Get("yaml"))
		}
	}
	if needed == nil {
		return "some of " + strings.Join(more, ", ")
	}
	return strings.Join(needed, ", ") + ", and optionally " + strings.Join(more, ", ")
}

// content decodes the result of readStructured.
func content[L any, S ~string](s S) (list L) {
	if s != "" {
		_ = json.Unmarshal([]byte(s), &list) // written by readStructured
	}
	return list
}

func sortedNames[T any](list map[string]T) []string { return slices.Sorted(maps.Keys(list)) }
