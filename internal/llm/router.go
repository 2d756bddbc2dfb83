package llm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Router finds the model that a key of the form "provider:model" names. It is configured once
// and then only read, so it needs no lock.
type Router struct {
	Default   string            // the key that "" stands for
	Providers map[string]Model  // by the part of the key before the colon
	Missing   map[string]string // providers that exist but are not configured, with what they need
	// Wrap, when set, decorates every model that Resolve returns, for example to meter its calls.
	// The key is complete: never "".
	Wrap func(m Model, key string) Model
}

// UnknownModelError says that a key names no model that this server has.
type UnknownModelError struct {
	Key string // as asked for, shortened and without control characters
	Msg string // one sentence that may be shown to clients
}

func (e *UnknownModelError) Error() string { return e.Msg }

// maxModelKey bounds a key, because clients may send one.
const maxModelKey = 200

// Resolve returns the model for key and the name by which its provider knows it: what stands
// after the first colon. The error is an *UnknownModelError.
func (r *Router) Resolve(key string) (Model, string, error) {
	if key == "" {
		key = r.Default
	}
	provider, name, ok := strings.Cut(key, ":")
	if !ok || provider == "" || name == "" || len(key) > maxModelKey || CleanName(key) != key {
		return nil, "", r.unknown(key, "a model is named as provider:model")
	}
	m, ok := r.Providers[provider]
	if !ok {
		if need := r.Missing[provider]; need != "" {
			return nil, "", r.unknown(key, "the provider "+provider+" is not configured on this server: "+need)
		}
		return nil, "", r.unknown(key, "this server has the providers "+strings.Join(r.Names(), ", "))
	}
	if r.Wrap != nil {
		m = r.Wrap(m, key)
	}
	return m, name, nil
}

// Names returns the names of the configured providers, sorted.
func (r *Router) Names() []string { return slices.Sorted(maps.Keys(r.Providers)) }

func (r *Router) unknown(key, why string) error {
	key = CleanName(key)
	return &UnknownModelError{Key: key, Msg: fmt.Sprintf("There is no model %q: %s.", key, why)}
}

// CleanName returns a name that came from outside without control and format characters, and
// shortened to what a model name or key may be long, so that it can stand in logs and headers.
func CleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if len(name) > maxModelKey {
		name = strings.ToValidUTF8(name[:maxModelKey], "")
	}
	return name
}
