package retrieval

import (
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// instruction matches sentences that say how to answer, not what to find: "Round to two decimals.", "If that is not relevant,
// please state why."
var instruction = lazyregexp.New(`(?i)^\W*(?:please,? |kindly |also,? )?(?:answer|respond|reply|give|provide|return|round|state|assume|base|approach|express|write|say|explain|use|utili[sz]e|keep|be)\b` +
	`|^\W*if\b.*\b(?:state|return|say|answer|explain|respond|reply|write)\b`)

// instructionShare is the weight of an instruction's word in the search, relative to a word of the question.
const instructionShare = 0.3

// instructions returns the sentences of a question that say how to answer it; none if the question has no other sentences.
func instructions(question string) []text.Span {
	var found []text.Span
	rest := false
	for _, sp := range text.Sentences(question) {
		s := question[sp.Start:sp.End]
		if instruction.MatchString(s) && !strings.HasSuffix(s, "?") {
			found = append(found, sp)
		} else if len(text.Terms(s)) > 0 {
			rest = true
		}
	}
	if !rest {
		return nil
	}
	return found
}

// without returns a question without some of its sentences.
func without(question string, spans []text.Span) string {
	for i := len(spans) - 1; i >= 0; i-- {
		question = question[:spans[i].Start] + question[spans[i].End:]
	}
	return question
}
