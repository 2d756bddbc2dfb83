package builtin

import (
	"strings"
	"testing"

	"parley/internal/llm"
)

// What is said of one thing does not answer a question about another, in whatever language and spelling.
func TestAnswer_IsAboutWhatTheQuestionNames(t *testing.T) {
	price := "Article: KX-20; Description: flow sensor; Price: 189"
	for _, c := range []struct {
		name, question, text, title string
		answered                    bool
	}{
		{"the identifier", "What is the price of the flow sensor KX-20?", price, "Prices", true},
		{"spelled otherwise", "What is the price of the flow sensor kx20?", price, "Prices", true},
		{"another identifier", "What is the price of the flow sensor KX-40?", price, "Prices", false},
		{"a longer identifier", "What is the price of the flow sensor KX-2?", price, "Prices", false},
		{"another year", "What was the margin of the yard in 2024?", "The margin of the yard in 2025 was 12 %.", "Report", false},
		{"the year of the title", "What was the margin of the yard in 2025?", "The margin of the yard was 12 %.", "Report 2025", true},
		{"another product", "How many columns may a table of Fernbase have?", "A table may have 1,600 columns.", "Limits of Oakbase", false},
		{"the product of the title", "How many columns may a table of Oakbase have?", "A table may have 1,600 columns.", "Limits of Oakbase", true},
		{"a number of days is no name", "Is the parking fee due after 30days?", "The parking fee is due after thirty days.", "Fees", true},
		{"German nouns are no names", "Wie hoch ist die Gebühr im Parkhaus?", "Die Gebühr im Parkhaus ist 3 Euro.", "Gebühren", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := passage("a.md", c.text)
			p.Title = c.title
			ev := about(c.question, p, passage("b.md", "Fernbase and KX-40 were shown at the fair in 2024."))
			for i := range ev.Terms {
				ev.Terms[i].Known = true
				ev.Terms[i].IDF = 2
			}
			got := quotesOf(t, ev)
			if answered := !isRefusal(got); answered != c.answered {
				t.Errorf("%q is answered with %q", c.question, got)
			}
		})
	}
}

// A name that stands on one page of a long document does not make the document about it.
func TestNamed_ANameOnAnotherPageIsNotEnough(t *testing.T) {
	for text, want := range map[string]bool{
		"Export the ledger with the menu File, and choose a format.":            false,
		"Export the ledger to Oakbase with the menu File, and choose a format.": true,
	} {
		ev := about("How do I export the ledger to Oakbase?", passage("guide.pdf#page=9", text),
			passage("guide.pdf#page=12", "The ledger has a page for each account."), passage("guide.pdf#page=40", "Checks fit the forms of Oakbase."))
		for i := range ev.Terms {
			ev.Terms[i].Known, ev.Terms[i].IDF = true, 2
		}
		n := needFor(ev)
		if got := n.named(ev, candidates(ev, n), []int{0}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestDefinition_OfAThingIsNotThatOfAnotherThatIsNamedAfterIt(t *testing.T) {
	ev := about("What is wear?", passage("a.md", "A wear plan is a model of how parts age."), passage("b.md", "Wear is what parts lose in use."))
	if got := quotesOf(t, ev); !strings.HasPrefix(got, "Wear is") {
		t.Errorf("answered with %q", got)
	}
}

func TestRefusal_NamesTheNearestSources(t *testing.T) {
	near := passage("guide.pdf#page=3", "The parking garage opens at six. It has a lift and a kiosk.")
	far := passage("menu.md", "Soup is served at noon.")
	for _, c := range []struct {
		question, want string
		passages       []llm.Passage
	}{
		{"Who sweeps the parking garage roof chimney?", Refusal + " What comes nearest: “The parking garage opens at six.” (guide.pdf, page 3)", []llm.Passage{near, far}},
		{"Who sweeps the roof chimney?", Refusal, []llm.Passage{far}},
	} {
		got := quotesOf(t, about(c.question, c.passages...))
		if got != c.want || strings.Contains(got, "[") {
			t.Errorf("%q is refused with %q, want %q", c.question, got, c.want)
		}
	}
}

// Vectors find passages for any words, and the best of them may be far ahead of the others.
func TestRefusal_NamesNoSourceThatHasNothingToDoWithTheQuestion(t *testing.T) {
	ev := about("How old is Napoleon?", passage("menu.md", "Soup is served at noon."), passage("kitchen.md", "The kitchen opened 12 years ago."))
	for name, c := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"nothing is near":   {nil, Refusal},
		"one block is near": {map[string]string{"Soup": "Napoleon?"}, Refusal + " What comes nearest: “Soup is served at noon.” (menu.md)"},
	} {
		a, _ := scoring(c.answers)
		if got := a.refusal(t.Context(), ev, true); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestExcerpt_IsCutAfterAWord(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("seven ", 60), strings.Repeat("seven ", 49) + "seven …"},
		{strings.Repeat("字", 120), strings.Repeat("字", 100) + " …"},
		{"short\ntext", "short text"},
	} {
		if got := excerpt([]quote{{text: c.text}}); got != c.want {
			t.Errorf("excerpt(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRewrite_TakesNoWordsFromARefusal(t *testing.T) {
	for _, r := range []string{Refusal + " What comes nearest: zebra.pdf, page 3", refusals["de"].refusal + " Am nächsten kommt: zebra.pdf"} {
		q := Rewrite(t.Context(), conversation("Who feeds the animals?", r), "And at night?")
		for _, term := range q.Context {
			if strings.Contains(term.Word, "zebra") || strings.EqualFold(term.Word, "documents") {
				t.Errorf("the context has %q of the refusal %q", term.Word, r)
			}
		}
	}
}
