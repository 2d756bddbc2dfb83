package retrieval

import (
	"slices"
	"testing"

	"parley/internal/lexical"
)

// firstOf returns the page that comes first of pages that the search ranks alike, each under a heading.
func firstOf(question, title string, about lexical.Subjects, headings ...string) int {
	var found []candidate
	passages := make(map[ChunkKey]*Passage)
	for i, h := range headings {
		c := candidate{key: ChunkKey{Revision: 1, Ordinal: i}, page: i + 1, rank: 1}
		found = append(found, c)
		passages[c.key] = &Passage{Document: Document{Name: "plan.pdf", Title: title},
			Chunk: Chunk{Key: c.key, Text: "Nothing.", Headings: []string{h}, Spans: []Span{{Page: i + 1}}}}
	}
	newWording(Query{Text: question}, nil).reorder(about, found, passages)
	return found[0].page
}

func TestReorder_WeighsHeadings(t *testing.T) {
	question := "Are covered services of hospice care in the plan of the Zava Company?"
	for name, tc := range map[string]struct {
		title    string
		about    lexical.Subjects
		headings []string
		want     int
	}{
		"the one that is named":               {"Plan", nil, []string{"Exceptions", "Hospice Care"}, 2},
		"the rarer one":                       {"Plan", nil, []string{"Covered Services", "Covered Services", "Covered Services", "Hospice Care"}, 4},
		"the one that says nothing else":      {"Plan", nil, []string{"Hospice Care And Ambulance Trips", "Covered Services"}, 2},
		"not the name of the document":        {"Zava Company", nil, []string{"Zava Company", "Hospice Care At Home"}, 2},
		"not in a document that is not meant": {"Plan", lexical.Subjects{2: 1}, []string{"Exceptions", "Hospice Care"}, 1},
		"not one word of several":             {"Plan", nil, []string{"Exceptions", "Hospice"}, 1},
		"not the parts of one word":           {"Plan", nil, []string{"Exceptions", "Co-vered"}, 1},
	} {
		if got := firstOf(question, tc.title, tc.about, tc.headings...); got != tc.want {
			t.Errorf("%s: page %d is first, want %d", name, got, tc.want)
		}
	}
}

// A question for one word that most chunks have finds the section that is headed by it, or by the word.
func TestReorder_PutsFirstWhatIsHeadedByTheQuestion(t *testing.T) {
	for text, first := range map[string]int{
		"## What are tides?\n\nThe sea rises and falls.":     1,
		"# Tides\n\nThe sea rises and falls.":                1,
		"## Tides and boats\n\nThe sea rises and falls.":     0,
		"Here\n\nTides are what the sea does. It rises.":     0,
		"## How this part works\n\nThe sea rises and falls.": 0,
	} {
		found := []candidate{{key: ChunkKey{Revision: 1}, rank: 1}, {key: ChunkKey{Revision: 2}, rank: .8}}
		passages := map[ChunkKey]*Passage{
			found[0].key: {Chunk: Chunk{Text: "Tides are in the tables of tides."}},
			found[1].key: {Chunk: Chunk{Text: text}},
		}
		for idf, want := range map[float64]int{.5: first, 3: 0} { // a rare word finds its section by itself
			ranked := slices.Clone(found)
			w := newWording(Query{Text: "What are tides?"}, []Term{{Text: "tide", Weight: 1, IDF: idf}})
			if w.reorder(nil, ranked, passages); ranked[0].key.Revision != int64(want+1) {
				t.Errorf("%q, %v: revision %d is first", text, idf, ranked[0].key.Revision)
			}
		}
	}
}
