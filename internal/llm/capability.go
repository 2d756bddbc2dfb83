package llm

import (
	"context"
	"strings"
)

// Capabilities is what a model takes beside text. What a model does not take, its provider leaves
// out of the call; the pipeline asks only to choose what to prepare, and to say what it left out.
type Capabilities struct {
	Vision      bool // images in messages
	Tools       bool // functions that it may ask to call
	Schema      bool // an answer that follows a JSON Schema
	Effort      bool // how long it is to reason
	Temperature bool
	TopP        bool
	Stop        bool // texts at which it is to stop
	Context     int  // tokens that fit into the prompt; 0 when that is not known
}

// Describer is a provider that knows what its models take.
type Describer interface {
	// Capabilities describes one model by its own name, without the provider prefix. Of a model
	// that it does not know it says what holds for the provider's newest ones.
	Capabilities(model string) Capabilities
}

// Sizer is a provider that can ask its server for how many tokens a model reads and writes together.
type Sizer interface {
	// ContextSize returns 0 when the server does not say. It asks now and then only, and waits for no
	// longer than a few seconds.
	ContextSize(ctx context.Context, model string) int
}

// Window returns how many tokens the model that key names reads and writes together: the smaller one of
// what its provider declares and what its server says, else what KnownWindow has; 0 when nobody knows.
func (r *Router) Window(ctx context.Context, key string) int {
	if key == "" {
		key = r.Default
	}
	tokens := 0
	provider, name, _ := strings.Cut(key, ":")
	if s, ok := r.Providers[provider].(Sizer); ok && name != "" {
		tokens = s.ContextSize(ctx, name)
	}
	tokens = smaller(tokens, r.Capabilities(key).Context) // after the server was asked, which it may build on
	if tokens <= 0 && r.KnownWindow != nil {
		return r.KnownWindow(provider, name)
	}
	return tokens
}

// smaller returns the smaller one of two sizes of which 0 is not known.
func smaller(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Capabilities describes the model that key names: the zero value when there is none, or when its
// provider is no Describer.
func (r *Router) Capabilities(key string) Capabilities {
	if key == "" {
		key = r.Default
	}
	provider, name, _ := strings.Cut(key, ":")
	if d, ok := r.Providers[provider].(Describer); ok && name != "" {
		return d.Capabilities(name)
	}
	return Capabilities{}
}

// InFamily reports whether a model's name is the family's, or continues it with a version, a size or a date:
// gpt-5 includes gpt-5-mini and gpt-5.1, but not gpt-50.
func InFamily(model, family string) bool {
	rest, ok := strings.CutPrefix(model, family)
	return ok && (rest == "" || strings.ContainsRune("-.:@_", rune(rest[0])))
}
