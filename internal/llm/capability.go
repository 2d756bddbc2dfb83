package llm

import "strings"

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

// InFamily reports whether a model's name is that of the family, or goes on behind it with a
// version, a size or a date: gpt-5 has gpt-5-mini and gpt-5.1, but not gpt-50.
func InFamily(model, family string) bool {
	rest, ok := strings.CutPrefix(model, family)
	return ok && (rest == "" || strings.ContainsRune("-.:@_", rune(rest[0])))
}
