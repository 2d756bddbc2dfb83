package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPage_WorksOnManyDocumentsAndCollections(t *testing.T) {
	pageTest(t)
	docs := folderOf(t, map[string]string{"skagen.md": "---\ndepartment: Lights <b>\ntags: [tower, coast]\n---\n# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n"})
	p := serveIngested(t, nil, docs)
	var got struct {
		Taken, Kept, Selected, Reread, Refused, StillTicked, Warning string
		Begun, Filled, Left                                          []string
		Attributes                                                   []string
		Others                                                       int
		Seen                                                         seenOnPage
	}
	onPage(t, "library", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	if got.Taken == "" || len(got.Begun) != 2 || got.Kept != got.Begun[1] || !strings.HasPrefix(got.Kept, "Lighthouses <img") {
		t.Errorf("a new collection: %q, %q, after a reload %q", got.Taken, got.Begun, got.Kept)
	}
	if want := []string{"department Lights <b>", "tags tower, coast"}; !slices.Equal(got.Attributes, want) {
		t.Errorf("the attributes are %q, want %q", got.Attributes, want)
	}
	if len(got.Filled) != 3 || got.Selected != "2 selected" || got.Reread != "2 documents will be read again." {
		t.Errorf("filled with %q, %q, %q", got.Filled, got.Selected, got.Reread)
	}
	if len(got.Left) != 1 || !slices.ContainsFunc(got.Left, func(s string) bool { return strings.HasPrefix(s, "c.md") }) {
		t.Errorf("after two were deleted: %q", got.Left)
	}
	if got.Refused != "1 document failed: You may not delete this." || got.StillTicked != "1 selected" {
		t.Errorf("a refused deletion: %q, %q", got.Refused, got.StillTicked)
	}
	if !strings.HasPrefix(got.Warning, "1 document will be deleted") || got.Others != 1 {
		t.Errorf("emptied after %q, with %d documents in the main collection", got.Warning, got.Others)
	}
}
