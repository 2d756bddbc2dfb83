package builtin

import (
	"testing"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/text"
	"parley/internal/text/texttest"
	"parley/test/needs"
)

func TestBuiltin_TakesTimeInProportionToWhatItReads(t *testing.T) {
	needs.Long(t)
	terms := func(s string) (terms []llm.Term) {
		for _, w := range text.Terms(s) {
			terms = append(terms, llm.Term{Text: w, Word: w, Weight: 1, IDF: 1, Known: true})
		}
		return terms
	}
	asked := terms("what is the deductible of the plan")
	size := 16 << 10
	if needs.Race {
		size = 4 << 10
	}
	for name, read := range map[string]func(string){
		"question": func(s string) {
			Rewrite(t.Context(), []chat.Message{chat.TextMessage(llm.User, "What is the Northwind Plan?")}, s)
		},
		"history": func(s string) {
			Rewrite(t.Context(), []chat.Message{chat.TextMessage(llm.User, s), chat.TextMessage(llm.Assistant, s)}, "and it?")
		},
		"passage": func(s string) {
			ev := &llm.Evidence{Question: "What is the deductible of the plan?", Query: "What is the deductible of the plan?", Terms: asked,
				Passages: []llm.Passage{{Text: s, Score: 1, Title: "Plan", Marks: []llm.Mark{{Citation: "plan.txt"}}}}}
			choose(ev, brief)
			Answerer{}.findings(t.Context(), ev)
		},
	} {
		for _, s := range texttest.Shapes {
			t.Run(name+"/"+s.Name, func(t *testing.T) { texttest.Linear(t, s, size, read) })
		}
	}
}
