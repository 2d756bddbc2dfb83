package builtin

import (
	"slices"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// The parts of a question that a reader reads by themselves.
const (
	maxParts = 3 // of one question
	minPart  = 3 // words of a part
)

// further matches the place in a question where a further one begins.
var further = lazyregexp.New(`(?i),? (?:and|or) (?:also )?((?:what|how|which|when|where|who|why|does|do|is|are|can)\b)|[?.;]\s`)

// parts returns the parts of a question that asks for several things, unless a part merely adds to the others: "and what does it
// cost?".
func (n need) parts(ev *llm.Evidence) (parts []string) {
	ends := further.FindAllStringSubmatchIndex(ev.Query, -1)
	if len(ends) == 0 {
		return nil
	}
	from := 0
	for _, m := range append(ends, []int{len(ev.Query), len(ev.Query), -1}) {
		part := ev.Query[from:m[0]]
		if c := n.clause(ev, part); c.total >= minEvidence*n.total && len(c.terms) > 0 {
			parts = append(parts, part)
		}
		if from = m[1]; m[2] >= 0 {
			from = m[2]
		}
	}
	return parts
}

// clause returns the need of a part of a question.
func (n need) clause(ev *llm.Evidence, part string) need {
	own := n.termSet(part)
	c := needOf(slices.DeleteFunc(slices.Clone(ev.Terms), func(t llm.Term) bool { return !own[t.Text] }))
	c.forms, c.likes = n.forms, n.likes
	return c
}

// clauses returns the needs of all parts.
func (n need) clauses(ev *llm.Evidence) (clauses []need) {
	for _, part := range n.parts(ev) {
		clauses = append(clauses, n.clause(ev, part))
	}
	return clauses
}

// asked returns the parts of a question that can be read by themselves. It returns nil if there are fewer than two.
func (n need) asked(ev *llm.Evidence) (parts []string) {
	for _, part := range n.parts(ev) {
		if len(strings.Fields(part)) >= minPart {
			parts = append(parts, part)
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return parts[:min(len(parts), maxParts)]
}
