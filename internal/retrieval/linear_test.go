package retrieval_test

import (
	"context"
	"strconv"
	"testing"

	"parley/internal/access"
	"parley/internal/retrieval"
	"parley/internal/text/texttest"
	"parley/test/needs"
)

func TestSearch_TakesTimeInProportionToTheQuestion(t *testing.T) {
	needs.Long(t)
	w := newWorld(t)
	w.put(document("plan.txt", "The deductible of the plan costs 500 dollars, and employees pay it.", "Urlaub und Tage, Kündigung und Frist."),
		document("de.txt", "Le coût du plan est de 500 euros pour les employés.", "费用 是 多少", "план документ стоит денег"))
	for _, s := range texttest.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			texttest.Linear(t, s, 8<<10, func(text string) { w.search(retrieval.Query{Text: text, Captions: true}) })
		})
	}
}

func TestSearch_LooksForTheRarestWordsOfALongText(t *testing.T) {
	w := newWorld(t)
	w.put(document("plan.txt", "The zymurgist pays the deductible."))
	for _, s := range texttest.Shapes {
		if s.Name != "distinct words" {
			continue
		}
		res := w.ask(s.Text(16<<10) + " zymurgist " + s.Text(8<<10))
		if len(res.Passages) != 1 || len(res.Terms) > 300 {
			t.Errorf("%d passages for %d terms", len(res.Passages), len(res.Terms))
		}
	}
}

func TestSearch_EndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	w.put(document("plan.txt", "The deductible of the plan."))
	w.ask("deductible") // the index is read
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := search(ctx, w.corpus, retrieval.Query{Text: "deductible"}); err == nil {
		t.Errorf("a search without a client found %d passages", len(res.Passages))
	}
}

// The first search of a caller looks at the rights of every document, and does no more for each.
func TestSearch_AllocatesNoMoreForTheFirstSearchOfACallerAmongMoreDocuments(t *testing.T) {
	allocations := func(documents int) float64 {
		w := newWorld(t)
		w.put(colours(documents)...)
		caller := 0
		return testing.AllocsPerRun(10, func() {
			caller++
			w.search(retrieval.Query{Text: "zymurgist", Filter: retrieval.Filter{Principal: access.Principal{Subject: strconv.Itoa(caller)}}})
		})
	}
	if few, many := allocations(20), allocations(1000); many > few+200 {
		t.Errorf("%v allocations among 20 documents, %v among 1000", few, many)
	}
}
