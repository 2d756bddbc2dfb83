package cite

import (
	"testing"

	"parley/internal/retrieval"
	"parley/internal/text/texttest"
	"parley/test/needs"
)

// The text of models and documents can be as hostile as that of users.
func TestAnswers_TakeTimeInProportionToWhatIsWritten(t *testing.T) {
	needs.Long(t)
	passage := func(text string) retrieval.Passage {
		return retrieval.Passage{Document: retrieval.Document{ID: "a", Name: "a.pdf", Title: "A"},
			Chunk: retrieval.Chunk{Text: text, Spans: []retrieval.Span{{Page: 1, End: len(text)}}}}
	}
	judged := func(answer string, passages []retrieval.Passage) {
		known := Citable(passages)
		claims := claimsOf(answer, known)
		doubts := support(claims, pageWords(claims, passages), wordsOf("What is it?"))
		locate(findCitations(answer, known), answer, known, passages, doubts)
	}
	for name, read := range map[string]func(string){
		"one delta": func(s string) {
			v := newVerifier()
			v.add(s)
			v.end()
		},
		"small deltas": func(s string) {
			v := newVerifier()
			for ; len(s) > 16; s = s[16:] {
				v.add(s[:16])
			}
			v.add(s)
			v.end()
		},
		"harmless":    func(s string) { Harmless(s, Nothing) },
		"claims":      func(s string) { judged(s+" [a.pdf#page=1]", []retrieval.Passage{passage("The plan is so.")}) },
		"cited pages": func(s string) { judged("The plan is so and costs 5 [a.pdf#page=1].", []retrieval.Passage{passage(s)}) },
	} {
		for _, s := range texttest.Shapes {
			t.Run(name+"/"+s.Name, func(t *testing.T) { texttest.Linear(t, s, 8<<10, read) })
		}
	}
}
