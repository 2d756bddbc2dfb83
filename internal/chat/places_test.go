package chat

import (
	"testing"

	"parley/internal/chat/cite"
	"parley/internal/retrieval"
)

func TestTellApart_CitesDocumentsOfOneNameByDifferentNames(t *testing.T) {
	passage := func(id, name string) retrieval.Passage {
		return retrieval.Passage{Document: retrieval.Document{ID: id, Name: name}, Chunk: retrieval.Chunk{Spans: []retrieval.Span{{Page: 3}}}}
	}
	all := []retrieval.Passage{
		passage("1", "a.pdf"), passage("2", "a.pdf"), passage("1", "a.pdf"), passage("3", "a (2).pdf"), passage("2", "a.pdf"), passage("4", "a.pdf"),
	}
	tellApart(all)
	want := []string{"a.pdf#page=3", "a (3).pdf#page=3", "a.pdf#page=3", "a (2).pdf#page=3", "a (3).pdf#page=3", "a (4).pdf#page=3"}
	for i := range all {
		if got := cite.LabelOf(&all[i]); got != want[i] {
			t.Errorf("passage %d is cited as %q, want %q", i, got, want[i])
		}
	}
	for label, c := range cite.Citable(all) {
		if label == "a (3).pdf#page=3" && (c.Name != "a.pdf" || c.DocumentID != "2") {
			t.Errorf("%q is of %+v", label, c)
		}
	}
}
