package text_test

import (
	"testing"

	"parley/internal/text"
	"parley/internal/text/texttest"
	"parley/test/needs"
)

func TestText_TakesTimeInProportionToItsLength(t *testing.T) {
	needs.Long(t)
	for name, read := range map[string]func(string){
		"Analyze":         func(s string) { text.Analyze(s) },
		"AnalyzeQuestion": func(s string) { text.AnalyzeQuestion(s) },
		"Sentences":       func(s string) { text.Sentences(s) },
		// Callers look at the word of each token.
		"words": func(s string) {
			n := 0
			for _, tok := range text.Analyze(s) {
				for range s[tok.Start:tok.End] {
					n++
				}
			}
		},
	} {
		for _, s := range texttest.Shapes {
			t.Run(name+"/"+s.Name, func(t *testing.T) { texttest.Linear(t, s, 8<<10, read) })
		}
	}
}
