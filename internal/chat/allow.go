package chat

import (
	"cmp"
	"strings"

	"parley/internal/llm"
)

// Allowlist defines which models requests may name.
type Allowlist struct {
	Patterns []string // for "provider:model"; * matches any text; an empty list allows all models
	Defaults Models   // the stages' default models; a request may always name a stage's default for that stage
}

// Allows reports whether requests may name the model with this key for any stage.
func (a Allowlist) Allows(key string) bool {
	if len(a.Patterns) == 0 {
		return true
	}
	for _, p := range a.Patterns {
		if fits(p, key) {
			return true
		}
	}
	return false
}

// Check returns an error of kind Invalid for the first model that a request may not name. A stage's
// default is always allowed for that stage, because clients send back what the server told them.
func (a Allowlist) Check(m Models) error {
	d := a.Defaults
	for _, named := range [][2]string{
		{m.Inference, d.Inference}, {m.Rewrite, cmp.Or(d.Rewrite, d.Inference)}, {m.Rerank, d.Rerank},
		{m.Summary, cmp.Or(d.Summary, d.Inference)}, {m.Synthesis, cmp.Or(d.Synthesis, d.Inference)}, {m.Judge, d.Judge},
	} {
		if key, usual := named[0], named[1]; key != "" && key != usual && !a.Allows(key) {
			return invalid("The model %q may not be used on this server.", llm.CleanName(key))
		}
	}
	return nil
}

// fits reports whether a pattern matches all of s.
func fits(pattern, s string) bool {
	prefix, rest, star := strings.Cut(pattern, "*")
	if !star {
		return s == pattern
	}
	s, ok := strings.CutPrefix(s, prefix)
	for ok {
		middle, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, middle)
		}
		_, s, ok = strings.Cut(s, middle)
		rest = more
	}
	return false
}
