package cite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

// benefits is a passage over two pages. It repeats the header row of a table from above.
var benefits = retrieval.Passage{
	Document: retrieval.Document{ID: "D1", Name: "benefits.pdf", Title: "Benefits"},
	Chunk: retrieval.Chunk{
		Text: "Plan | Deductible\n" +
			"Plan: Basic; Deductible: $2,000\nPlan: Plus; Deductible: $500\n\nVision care is included. Contact lenses are covered up to $150 each year,\n" +
			"and glasses every second year. Dental care is not part of the plan.",
		Spans: []retrieval.Span{
			{Page: 3, Start: 100, End: 117, Offset: 0},
			{Page: 3, Start: 900, End: 1035, Offset: 18},
			{Page: 4, Start: 0, End: 67, Offset: 154},
		},
	},
}

func quotes(t *testing.T, answer string, doubts ...Doubt) map[string][]Span {
	t.Helper()
	passages := []retrieval.Passage{benefits, page("other.md", 0, "Nothing of the kind is said here.")}
	known := Citable(passages)
	cited := findCitations(answer, known)
	locate(cited, answer, known, passages, doubts)
	out := map[string][]Span{}
	for _, c := range cited {
		out[c.Label] = c.Spans
	}
	return out
}

func TestLocate_FindsTheCitedWords(t *testing.T) {
	const p3, p4 = "benefits.pdf#page=3", "benefits.pdf#page=4"
	for _, c := range []struct {
		name, answer string
		want         map[string][]string // quotes
	}{
		{"a sentence as it stands", "Vision care is included. [benefits.pdf#page=3]", map[string][]string{p3: {"Vision care is included."}}},
		{"a sentence over the end of its page", "Contact lenses are covered up to $150 each year, and glasses every second year. [benefits.pdf#page=3]",
			map[string][]string{p3: {"Contact lenses are covered up to $150 each year,"}}},
		{"the other page of it", "Contact lenses are covered up to $150 each year, and glasses every second year. [benefits.pdf#page=4]",
			map[string][]string{p4: {"and glasses every second year."}}},
		{"each place of a label", "Vision care is included [benefits.pdf#page=3]. The Plus plan has a deductible of $500 [benefits.pdf#page=3].",
			map[string][]string{p3: {"Vision care is included", "Plan: Plus; Deductible: $500"}}},
		{"two labels behind one sentence", "Vision care is included, dental care is not [benefits.pdf#page=3][benefits.pdf#page=4].",
			map[string][]string{p3: {"Vision care is included."}, p4: {"Dental care is not part of the plan."}}},
		{"other words", "You get $150 per year for contact lenses [benefits.pdf#page=3].",
			map[string][]string{p3: {"Contact lenses are covered up to $150 each year,"}}},
		{"a row of a table, not its header", "Basic has a deductible of 2000 dollars [benefits.pdf#page=3].",
			map[string][]string{p3: {"Plan: Basic; Deductible: $2,000"}}},
		{"the sentence before", "Dental care is not part of the plan. That is all. [benefits.pdf#page=4]",
			map[string][]string{p4: {"Dental care is not part of the plan."}}},
		{"nothing that is close", "Elephants sleep standing up most nights [benefits.pdf#page=4].", map[string][]string{p4: {""}}},
		{"two labels with space around them", "Vision care is included  [benefits.pdf#page=3]   [benefits.pdf#page=4].",
			map[string][]string{p3: {"Vision care is included"}, p4: {"Dental care is not part of the plan."}}},
		{"a citation alone", "[benefits.pdf#page=4]", map[string][]string{p4: {""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string][]string{}
			for label, spans := range quotes(t, c.answer) {
				for i, s := range spans {
					if s.Occurrence != i {
						t.Errorf("occurrence %d stands at %d", s.Occurrence, i)
					}
					got[label] = append(got[label], s.Quote)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLocate_OffsetsAreThoseOfThePage(t *testing.T) {
	got := quotes(t, "Vision care is included. [benefits.pdf#page=3]")["benefits.pdf#page=3"][0]
	at := strings.Index(benefits.Chunk.Text, "Vision care")
	want := Span{Start: 900 + at - 18, End: 900 + at - 18 + len("Vision care is included."), Quote: "Vision care is included."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLocate_MarksTheDoubtsOfTheCheck(t *testing.T) {
	const answer = "Vision care is included [benefits.pdf#page=3]. It pays for elephants too [benefits.pdf#page=3]."
	got := quotes(t, answer, Doubt{Label: "benefits.pdf#page=3", Kind: Unsupported, Sentence: "It pays for elephants too."})["benefits.pdf#page=3"]
	if len(got) != 2 || got[0].Doubted || !got[1].Doubted {
		t.Errorf("%+v", got)
	}
}

func TestLocate_IsBounded(t *testing.T) {
	answer := strings.Repeat("Vision care is included [benefits.pdf#page=3]. ", 100)
	if got := quotes(t, answer)["benefits.pdf#page=3"]; len(got) != maxSpans {
		t.Errorf("%d spans", len(got))
	}
	long := page("long.txt", 0, strings.Repeat("vision care word ", 400))
	known := Citable([]retrieval.Passage{long})
	said := strings.TrimSpace(long.Chunk.Text)
	cited := findCitations(said+" [long.txt]", known)
	locate(cited, said+" [long.txt]", known, []retrieval.Passage{long}, nil)
	if s := cited[0].Spans[0]; len(s.Quote) > maxQuote || s.End != len(said) {
		t.Errorf("a quote of %d bytes, to %d", len(s.Quote), s.End)
	}
}

// Space around several citations that ends with a full stop is removed from the text behind the first
// one.
func TestClaimsOf_KeepsItsPlaceInSpaceThatIsTakenOut(t *testing.T) {
	known := Citable([]retrieval.Passage{benefits})
	for _, answer := range []string{"x  [benefits.pdf#page=3]  [benefits.pdf#page=4].", "  [benefits.pdf#page=3]    [benefits.pdf#page=4] ."} {
		plain, marks := withoutCitations(answer, known)
		for _, m := range marks {
			if m.at > len(plain) {
				t.Errorf("%q: a citation at %d of %d bytes", answer, m.at, len(plain))
			}
		}
		claimsOf(answer, known)
	}
}
