package llm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Router finds the model that a key of the form "provider:model" names. It is configured once;
// after that its methods may be called concurrently.
type Router struct {
	Default   string            // the key that "" stands for
	Providers map[string]Model  // by the part of the key before the colon
	Missing   map[string]string // providers that exist but are not configured, with what they need
	// Wrap, when set, decorates every model that is resolved, for example to meter its calls. The
	// stage is what the model is for, "" for none of its own; the key is complete: never "". What
	// it returns is kept and used again for the same stage and key.
	Wrap func(m Model, stage, key string) Model

	mu      sync.Mutex
	wrapped map[use]Model
}

// use is a model in a stage.
type use struct{ stage, key string }

// maxWrapped bounds the memory for wrapped models, whose keys may come from clients.
const maxWrapped = 1000

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
func (r *Router) Resolve(key string) (Model, string, error) { return r.ResolveFor("", key) }

// ResolveFor is Resolve for a stage, which may have fallbacks of its own (see Wrap).
func (r *Router) ResolveFor(stage, key string) (Model, string, error) {
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
	return r.wrap(m, use{stage, key}), name, nil
}

func (r *Router) wrap(m Model, u use) Model {
	if r.Wrap == nil {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.wrapped[u]; ok {
		return w
	}
	if r.wrapped == nil || len(r.wrapped) >= maxWrapped {
		r.wrapped = map[use]Model{}
	}
	w := r.Wrap(m, u.stage, u.key)
	r.wrapped[u] = w
	return w
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
