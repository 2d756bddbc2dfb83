package chat

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
	passages := []retrieval.Passage{
		cited("a.pdf", 1, 2), cited("dir/b c (1).pdf", 7), cited("notes.md", 0), cited("x[1].pdf", 3), cited("a.pdf", 2, 3), cited("README", 0),
	}
	for _, c := range []struct {
		name, answer      string
		want, unsupported []string
	}{
		{"none", "no citation, arr[i] = b[0], [sic]", nil, nil},
		{"in order of appearance", "x [notes.md] y [a.pdf#page=2] z [notes.md]", []string{"notes.md", "a.pdf#page=2"}, nil},
		{"side by side", "x [a.pdf#page=1][a.pdf#page=3].", []string{"a.pdf#page=1", "a.pdf#page=3"}, nil},
		{"spaces and parentheses", "x [dir/b c (1).pdf#page=7]", []string{"dir/b c (1).pdf#page=7"}, nil},
		{"brackets in the name", "x [x[1].pdf#page=3][notes.md]", []string{"x[1].pdf#page=3", "notes.md"}, nil},
		{"a name without an ending", "x [README] and [LICENSE]", []string{"README"}, nil},
		{"several in one pair", "x [a.pdf#page=1, notes.md; gone.pdf#page=4]", []string{"a.pdf#page=1", "notes.md"}, []string{"gone.pdf#page=4"}},
		{"a page that no passage spans", "x [a.pdf#page=9]", nil, []string{"a.pdf#page=9"}},
		{"a document without its page", "x [a.pdf]", nil, []string{"a.pdf"}},
		{"made up", "x [evil.docx] [evil.docx] [Evil Report.PDF#page=1] [1] [the end.] [v1.2]", nil, []string{"evil.docx", "Evil Report.PDF#page=1"}},
		{"not closed", "x [a.pdf#page=1", nil, nil},
		{"over a line end", "x [a.pdf\n#page=1]", nil, nil},
		{"nested", "x [[a.pdf#page=1]]", []string{"a.pdf#page=1"}, nil},
		{"at the very end", "[", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, unsupported := findCitations(c.answer, passages)
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
			if diff := cmp.Diff(c.unsupported, unsupported); diff != "" {
				t.Errorf("unsupported: %s", diff)
			}
		})
	}
}

func TestFindCitations_PointsToTheBestPassage(t *testing.T) {
	passages := []retrieval.Passage{cited("n.md", 0), cited("a.pdf", 1, 2), cited("a.pdf", 2, 3)}
	got, _ := findCitations("[a.pdf#page=2][a.pdf#page=3]", passages)
	snippet := strings.Repeat("word ", 39) + "word…"
	want := []Citation{
		{Label: "a.pdf#page=2", DocumentID: "id-a.pdf", Name: "a.pdf", Title: "T a.pdf", Page: 2, Passage: 1, Snippet: snippet},
		{Label: "a.pdf#page=3", DocumentID: "id-a.pdf", Name: "a.pdf", Title: "T a.pdf", Page: 3, Passage: 2, Snippet: snippet},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFindCitations_BoundsWhatItReports(t *testing.T) {
	answer := strings.Repeat("[", 100_000) + strings.Repeat("[fake.pdf#page=1]", 1000)
	for i := range 100 {
		answer += "[f" + strings.Repeat("x", i) + ".pdf]"
	}
	if _, unsupported := findCitations(answer, nil); len(unsupported) != maxUnsupported {
		t.Errorf("%d unsupported labels", len(unsupported))
	}
}

func TestSnippet_IsAtMost200Runes(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 500), strings.Repeat("é ", 500), "short\n text", strings.Repeat("健", 300)} {
		if got := snippet(text); len([]rune(got)) > 200 || strings.Contains(got, "\n") || got == "" {
			t.Errorf("%q…: %d runes", text[:5], len([]rune(got)))
		}
	}
}
