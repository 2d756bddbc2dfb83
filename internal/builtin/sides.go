package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// comparisons match questions about how two things differ. each asks what one of them is.
var comparisons = []struct {
	asks *lazyregexp.Regexp
	each string
}{
	{lazyregexp.New(`(?i)\bdifferences? (?:is there )?between (.{1,80}?) and (.{1,80}?)\W*$`), "What is %s?"},
	{lazyregexp.New(`(?i)^\W*how (?:do|does|is|are) (.{1,80}?) (?:differ|different) from (.{1,80}?)\W*$`), "What is %s?"},
	{lazyregexp.New(`(?i)\bunterschiede? (?:besteht |gibt es )?zwischen (.{1,80}?) und (.{1,80}?)\W*$`), "Was ist %s?"},
	{lazyregexp.New(`(?i)\bdifférences? (?:y a-t-il )?entre (.{1,80}?) et (.{1,80}?)\W*$`), "Qu’est-ce que %s ?"},
	{lazyregexp.New(`(?i)\bdiferencias? (?:hay )?entre (.{1,80}?) [ye] (.{1,80}?)\W*$`), "¿Qué es %s?"},
	{lazyregexp.New(`(?i)\bdifferenz[ae] (?:c['’]è )?(?:tra|fra) (.{1,80}?) ed? (.{1,80}?)\W*$`), "Che cos’è %s?"},
	{lazyregexp.New(`(?i)\bdiferenças? (?:há |existe )?entre (.{1,80}?) e (.{1,80}?)\W*$`), "O que é %s?"},
	{lazyregexp.New(`^(.{1,40}?)[和与跟](.{1,40}?)(?:之间)?(?:有什么|有何|的)?(?:区别|不同|差别)`), "%s是什么？"},
}

const (
	minSide    = 0.6 // share of the name of a thing that its description must hold
	minTelling = 0.7 // how well a description must answer, if it does not have the form of a definition
)

// bothSides returns the chosen units. If the question compares two things and the units describe only one of them, it returns
// the best description of each instead.
func (a Answerer) bothSides(ctx context.Context, ev *llm.Evidence, chosen []unit) []unit {
	var sides []string
	var each string
	for _, c := range comparisons {
		if m := c.asks.FindStringSubmatch(ev.Query); m != nil {
			sides, each = m[1:], c.each
			break
		}
	}
	if sides == nil {
		return chosen
	}
	own := [2]map[string]bool{termSet(sides[0]), termSet(sides[1])}
	var both []unit
	told, direct := true, slices.Clone(chosen)
	for i, side := range sides {
		of := *ev
		of.Query, of.Previous = fmt.Sprintf(each, side), nil
		of.Question = of.Query
		of.Terms = slices.DeleteFunc(slices.Clone(ev.Terms), func(t llm.Term) bool { return !own[i][t.Text] || own[1-i][t.Text] })
		n, units := a.units(ctx, &of)
		unnamed := func(u unit) bool {
			held, _ := n.held(union(u.terms, u.asked))
			return held < minSide
		}
		direct = slices.DeleteFunc(direct, func(u unit) bool { return unnamed(u) || !differing.MatchString(u.key) })
		units = slices.DeleteFunc(units, func(u unit) bool {
			return unnamed(u) || u.features[defining] == 0 && u.features[like] < minTelling
		})
		if len(units) == 0 || !n.answered(&of, units, a.Reader) {
			return chosen
		}
		best := slices.MaxFunc(units, func(u, v unit) int { return cmp.Compare(u.score, v.score) })
		told = told && slices.ContainsFunc(chosen, func(c unit) bool {
			return slices.ContainsFunc(units, func(u unit) bool { return u.key == c.key })
		})
		if len(both) == 0 || best.key != both[0].key {
			both = append(both, best)
		}
	}
	if told || len(direct) > 0 {
		return chosen
	}
	return both
}

// differing matches sentences that state a difference.
var differing = lazyregexp.New(`(?i)\b(?:differ\pL*|unlike|whereas|while|instead|unterschied\pL*|unterscheide\pL*|während|hingegen|dagegen|contrairement|tandis|alors que|diffère\pL*|mientras|diferencia\pL*|mentre|invece|enquanto|diferença\pL*)\b|不同|区别|差别|而`)
