package llm

import (
	"cmp"
	"context"
	"strings"
)

// Capabilities says what a model accepts besides text. Its provider omits everything else from a call.
// The pipeline uses Capabilities only to decide what to prepare, and to report what was left out.
type Capabilities struct {
	Vision      bool // images in messages
	Tools       bool // functions that the model may call
	Schema      bool // answers that follow a JSON Schema
	Effort      bool // a setting of the reasoning effort
	Temperature bool
	TopP        bool
	Stop        bool // texts that end the answer
	Context     int  // maximum tokens of the prompt; 0 if unknown
}

// Describer is a provider that knows the capabilities of its models.
type Describer interface {
	// Capabilities describes the model that key names. It returns the zero value if there is no such model or its
	// provider is not a Describer.
	Capabilities(model string) Capabilities
}

// Sizer is a provider that can ask its server for the context size of a model, input and output
// together, in tokens.
type Sizer interface {
	// ContextSize returns 0 if the server does not report it. It caches the reply, and waits for at most
	// a few seconds.
	ContextSize(ctx context.Context, model string) int
}

// Window returns the context size of the model that key names, in tokens: the smaller of what its
// provider declares and its server reports, or else the size from KnownWindow, or 0 if it is unknown.
func (r *Router) Window(ctx context.Context, key string) int {
	key = cmp.Or(key, r.Default)
	tokens := 0
	provider, name, _ := strings.Cut(key, ":")
	if s, ok := r.Providers[provider].(Sizer); ok && name != "" {
		tokens = s.ContextSize(ctx, name)
	}
	tokens = smaller(tokens, r.Capabilities(key).Context) // after the request, since the declaration may use the reply
	if tokens <= 0 && r.KnownWindow != nil {
		return r.KnownWindow(provider, name)
	}
	return tokens
}

// smaller returns the smaller of two sizes, where 0 means unknown.
func smaller(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Capabilities describes the model that key names. It returns the zero value if there is no such model or its provider is not a
// Describer.
func (r *Router) Capabilities(key string) Capabilities {
	key = cmp.Or(key, r.Default)
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
