package lexical

import (
	"fmt"
	"testing"
)

// report is a long document about a company that is named at its beginning only.
func report(id int64, file, company string, year int) Revision {
	r := Revision{ID: id}
	for i := range 20 {
		text := fmt.Sprintf("Note %d. Inventories are stated at the lower of cost and net value.", i)
		switch i {
		case 0:
			text = fmt.Sprintf("Annual report of %s for the year %d.", company, year)
		case 12:
			text = "Capital expenditure was higher than in the year before."
		}
		r.Chunks = append(r.Chunks, Chunk{Body: text, Titles: []string{file}, Page: i + 1})
	}
	return r
}

func subjectsReader(t *testing.T) *Reader {
	t.Helper()
	s, err := Open(Build([]Revision{
		report(1, "a1", "Harbour Lights", 2019), report(2, "a2", "Harbour Lights", 2020),
		report(3, "b1", "Northern Ferries", 2019), report(4, "b2", "Northern Ferries", 2020),
		{ID: 5, Chunks: []Chunk{{Body: "Northern weather."}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return NewReader([]*Segment{s})
}

func TestSearchAbout_PrefersTheDocumentThatTheQueryNames(t *testing.T) {
	v := subjectsReader(t).View(nil)
	terms := []Term{{"capit", 1}, {"expenditur", 1}, {"northern", 1}, {"2020", 1}}
	about := v.Subjects(t.Context(), terms)
	if len(about) == 0 || about[4] <= about[3] || about[4] <= about[2] || about[5] != 0 {
		t.Errorf("subjects: %v", about)
	}
	hits, _, err := v.SearchAbout(t.Context(), terms, about, 1)
	if err != nil || len(hits) != 1 || hits[0].Revision != 4 {
		t.Errorf("the best is %+v, %v: want one of revision 4", hits, err)
	}
}

// The words that a document is named by stand all over it, and what is asked about stands in few of its chunks, even if
// it stands all over others.
func TestSearchAbout_CountsHowRareATermIsInTheNamedDocument(t *testing.T) {
	revisions := []Revision{report(1, "a1", "Harbour Lights", 2019), report(2, "a2", "Harbour Lights", 2020)}
	for i := range revisions[0].Chunks {
		revisions[0].Chunks[i].Body += " Interest on borrowings."
		revisions[1].Chunks[i].Body += " Harbour Lights."
	}
	asked := &revisions[1].Chunks[15]
	asked.Body = "Note 15. Borrowings of the company are due in five years, at a rate that its bank sets once a year."
	s, err := Open(Build(revisions))
	if err != nil {
		t.Fatal(err)
	}
	v := NewReader([]*Segment{s}).View(nil)
	terms := []Term{{"harbour", 1}, {"light", 1}, {"borrow", 1}}
	about := v.Subjects(t.Context(), []Term{{"2020", 1}})
	hits, _, err := v.SearchAbout(t.Context(), terms, about, 1)
	if err != nil || len(hits) != 1 || hits[0].Revision != 2 || hits[0].Ordinal != 15 {
		t.Errorf("the best is %+v, %v: want chunk 15 of revision 2", hits, err)
	}
	if plain, _, _ := v.Search(t.Context(), terms, 1); plain[0].Ordinal == 15 {
		t.Error("the chunk is the best of a search about nothing, too: this shows nothing")
	}
}

// Hidden documents must neither be revealed nor affect a search.
func TestSubjects_KnowOnlyWhatIsShown(t *testing.T) {
	r := subjectsReader(t)
	terms := []Term{{"northern", 1}, {"2020", 1}}
	for name, shown := range map[string]func(segment, revision int) bool{
		"none": func(int, int) bool { return false },
		"one":  func(_, revision int) bool { return revision == 0 },
		"two":  func(_, revision int) bool { return revision < 2 },
	} {
		for id := range r.View(shown).Subjects(t.Context(), terms) {
			if id > 2 {
				t.Errorf("%s: revision %d is told of", name, id)
			}
		}
	}
}
