package cite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

func cited(name string, pages ...int) retrieval.Passage {
	p := retrieval.Passage{Document: retrieval.Document{ID: "id-" + name, Name: name, Title: "T " + name}}
	p.Chunk.Text = strings.Repeat("word ", 100)
	for i, page := range pages {
		p.Chunk.Spans = append(p.Chunk.Spans, retrieval.Span{Page: page, Offset: i * 50, End: 50})
	}
	return p
}

func TestFindCitations(t *testing.T) {
	known := Citable([]retrieval.Passage{
		cited("a.pdf", 1, 2), cited("dir/b c (1).pdf", 7), cited("notes.md", 0), cited("x[1].pdf", 3), cited("a.pdf", 2, 3), cited("README", 0),
	})
	for _, c := range []struct {
		name, answer string
		want         []string
	}{
		{"none", "no citation, arr[i] = b[0], [sic]", nil},
		{"in order of appearance", "x [notes.md] y [a.pdf#page=2] z [notes.md]", []string{"notes.md", "a.pdf#page=2"}},
		{"side by side", "x [a.pdf#page=1][a.pdf#page=3].", []string{"a.pdf#page=1", "a.pdf#page=3"}},
		{"spaces and parentheses", "x [dir/b c (1).pdf#page=7]", []string{"dir/b c (1).pdf#page=7"}},
		{"brackets in the name", "x [x[1].pdf#page=3][notes.md]", []string{"x[1].pdf#page=3", "notes.md"}},
		{"a name without an ending", "x [README] and [LICENSE]", []string{"README"}},
		{"a page that no passage spans", "x [a.pdf#page=9]", nil},
		{"not closed", "x [a.pdf#page=1", nil},
		{"nested", "x [[a.pdf#page=1]]", []string{"a.pdf#page=1"}},
		{"at the very end", "[", nil},
		{"many brackets", strings.Repeat("[", 100_000) + "notes.md]", []string{"notes.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := findCitations(c.answer, known)
			if got == nil {
				t.Error("citations are nil, which would be null in JSON")
			}
			var labels []string
			for _, g := range got {
				labels = append(labels, g.Label)
			}
			if diff := cmp.Diff(c.want, labels); diff != "" {
				t.Errorf("citations: %s", diff)
			}
		})
	}
}

func TestFindCitations_PointsToTheBestPassage(t *testing.T) {
	passages := []retrieval.Passage{cited("n.md", 0), cited("a.pdf", 1, 2), cited("a.pdf", 2, 3)}
	got := findCitations("[a.pdf#page=2][a.pdf#page=3]", Citable(passages))
	snippet := strings.Repeat("word ", 39) + "word…"
	want := []Citation{
		{Label: "a.pdf#page=2", DocumentID: "id-a.pdf", Name: "a.pdf", Title: "T a.pdf", Page: 2, Passage: 1, Snippet: snippet},
		{Label: "a.pdf#page=3", DocumentID: "id-a.pdf", Name: "a.pdf", Title: "T a.pdf", Page: 3, Passage: 2, Snippet: snippet},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSnippet_IsAtMost200Runes(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 500), strings.Repeat("é ", 500), "short\n text", strings.Repeat("健", 300)} {
		if got := snippet(text); len([]rune(got)) > 200 || strings.Contains(got, "\n") || got == "" {
			t.Errorf("%q…: %d runes", text[:5], len([]rune(got)))
		}
	}
}
