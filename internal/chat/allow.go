package chat

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"parley/internal/llm"
)

// Allowlist says which models requests may name.
type Allowlist struct {
	Patterns []string // of "provider:model", in which * stands for any text; none allows all
	Defaults Models   // what stages use when nothing is named; it may be named, for its stage
}

// Allows reports whether requests may name a model for any stage.
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

// check refuses a request that names a model which it may not. Clients send back what they were
// told that a stage uses, be it only because it is the model that answers.
func (a Allowlist) check(m Models) error {
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

// fits reports whether a whole text has the form of a pattern.
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

// Runner runs one turn, as Engine does.
type Runner interface {
	Run(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Start returns r.Run(ctx, *req), for who ranges over the turn. The copy of a request is large, and in
// the frame of who ranges it would take stack for as long as the stream lasts, once for each Runner.
//
//go:noinline
func Start(ctx context.Context, r Runner, req *Request) iter.Seq2[Event, error] {
	return r.Run(ctx, *req)
}

// Restricted is a Runner that refuses requests whose models are not allowed. It stands where
// requests come from clients: what is behind it may choose models itself.
type Restricted struct {
	Runner
	Allow Allowlist
}

// Run is that of the Runner, or ends with an error before the first event.
func (r Restricted) Run(ctx context.Context, req Request) iter.Seq2[Event, error] {
	if err := r.Allow.check(req.Options.Models); err != nil {
		return func(yield func(Event, error) bool) { yield(nil, err) }
	}
	return r.Runner.Run(ctx, req)
}
