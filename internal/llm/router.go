package llm

import (
	"cmp"
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
	Default   string              // the key that Resolve uses for ""
	Providers map[string]Model    // by the part of the key before the colon
	Embedders map[string]Embedder // the providers that embed
	Rerankers map[string]Reranker // the providers that rerank
	Missing   map[string]string   // providers that exist but are not configured, with what they need
	Breakers  *Breakers           // the breakers of all calls; nil for none
	// KnownWindow returns the context size, in tokens, of a model for which neither the provider nor the
	// server reports it; 0 if unknown. Optional.
	KnownWindow func(provider, model string) int
	// Wrap wraps every resolved model, for example in Guards. The stage is the use of the model, or ""
	// if it has none; the key is complete, never "". The result is cached for the stage and key.
	// WrapEmbedder and WrapReranker do the same for the other two methods. Optional.
	Wrap         func(m Model, stage, key string) Model
	WrapEmbedder func(e Embedder, key string) Embedder
	WrapReranker func(r Reranker, key string) Reranker

	mu      sync.Mutex
	wrapped map[use]Model
}

// use is a model in a stage.
type use struct{ stage, key string }

// maxWrapped limits the memory for wrapped models, whose keys may come from clients.
const maxWrapped = 1000

// UnknownModelError means that this server has no model of that key.
type UnknownModelError struct {
	Key string // as requested, shortened and without control characters
	Msg string // one sentence that may be shown to clients
}

func (e *UnknownModelError) Error() string { return e.Msg }

// maxModelKey limits the length of a key, because clients may send one.
const maxModelKey = 200

// Resolve returns the model for key and the provider's name of the model: the part of key after the
// first colon. The error is an *UnknownModelError.
func (r *Router) Resolve(key string) (Model, string, error) { return r.ResolveFor("", key) }

// ResolveFor is like Resolve, for a stage that may have its own fallbacks (see Wrap).
func (r *Router) ResolveFor(stage, key string) (Model, string, error) {
	key = cmp.Or(key, r.Default)
	m, name, err := resolve(r, r.Providers, key, "has no models that answer")
	if err != nil {
		return nil, "", err
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

// ResolveEmbedder is like Resolve, for a model that embeds. The embedder accepts any number of texts and
// checks the answers: see Batched.
func (r *Router) ResolveEmbedder(key string) (Embedder, string, error) {
	e, name, err := resolve(r, r.Embedders, key, "has no embeddings")
	if err != nil {
		return nil, "", err
	}
	var opts BatchOptions
	if l, ok := e.(EmbedLimiter); ok {
		opts.Limits = l.EmbedLimits(name)
	}
	if r.WrapEmbedder != nil {
		e = r.WrapEmbedder(e, key)
	}
	return Batched(e, opts), name, nil
}

// ResolveReranker is like Resolve, for a model that reranks. The reranker checks the answers: see
// CheckedReranker.
func (r *Router) ResolveReranker(key string) (Reranker, string, error) {
	m, name, err := resolve(r, r.Rerankers, key, "does not rerank")
	if err != nil {
		return nil, "", err
	}
	if r.WrapReranker != nil {
		m = r.WrapReranker(m, key)
	}
	return CheckedReranker(m), name, nil
}

// resolve finds the provider of a key among the able ones, and the name of the model.
func resolve[T any](r *Router, able map[string]T, key, unable string) (provider T, model string, err error) {
	name, model, ok := strings.Cut(key, ":")
	if !ok || name == "" || model == "" || len(key) > maxModelKey || CleanName(key) != key {
		return provider, "", r.unknown(key, "a model is named as provider:model")
	}
	if provider, ok = able[name]; ok {
		return provider, model, nil
	}
	return provider, "", r.unknown(key, r.without(name, unable, slices.Sorted(maps.Keys(able))))
}

// without explains why no able provider has the name.
func (r *Router) without(name, unable string, able []string) string {
	if need := r.Missing[name]; need != "" {
		return "the provider " + name + " is not configured on this server: " + need
	}
	why := "this server has the providers " + strings.Join(able, ", ")
	if len(able) == 0 {
		why = "this server has no provider for it"
	}
	if r.has(name) {
		return "the provider " + name + " " + unable + "; for that, " + why
	}
	return why
}

// has reports whether there is a provider of the name, whatever it can do.
func (r *Router) has(name string) bool {
	return r.Providers[name] != nil || r.Embedders[name] != nil || r.Rerankers[name] != nil
}

// Open returns the keys of the models whose breakers are open, sorted.
func (r *Router) Open() []string {
	if r.Breakers == nil {
		return nil
	}
	return r.Breakers.Open()
}

// Names returns the names of the configured providers of answering models, sorted.
func (r *Router) Names() []string { return slices.Sorted(maps.Keys(r.Providers)) }

func (r *Router) unknown(key, why string) error {
	key = CleanName(key)
	return &UnknownModelError{Key: key, Msg: fmt.Sprintf("There is no model %q: %s.", key, why)}
}

// CleanName returns a foreign name without control and format characters, cut to the maximum length of a
// model key, so that it can be written to logs and headers.
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
