package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPage_FiltersDocumentsByAttributes(t *testing.T) {
	pageTest(t)
	files := map[string]string{}
	for i := range 120 {
		tag := []string{"policy", "draft"}[i/110]
		department := []string{"Lights <b>__ran()</b>", "Human resources"}[i%2]
		files[fmt.Sprintf("%03d.md", i)] = fmt.Sprintf("---\ndepartment: %s\ntags: [%s]\nauthor: Author %d\n---\n# Document %03d\n\nThe tower is %d metres tall.\n", department, tag, i, i, i)
	}
	p := serveIngested(t, nil, folderOf(t, files))
	var got struct {
		All, Tagged, Both, Searched, Back, Empty, One, None string
		Keys, Departments, Chips, Kept, Findings            []string
		Focused                                             bool
		FirstPage                                           int
		Seen                                                seenOnPage
	}
	onPage(t, "filter", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	if len(got.Findings) > 0 {
		t.Errorf("%d findings: %s", len(got.Findings), strings.Join(got.Findings, "\n"))
	}
	counts := []string{got.All, got.Tagged, got.Both, got.Searched, got.Back, got.One, got.None}
	if want := []string{"120 documents", "110 found", "55 found", "5 found", "5 found", "60 found", "120 documents"}; !slices.Equal(counts, want) {
		t.Errorf("the list says %q, want %q", counts, want)
	}
	if want := []string{"department", "tags", "author"}; !slices.Equal(got.Keys, want) {
		t.Errorf("the attributes are %q, want %q", got.Keys, want)
	}
	if want := []string{"Choose a value", "Human resources (60)", "Lights <b>__ran()</b> (60)"}; !slices.Equal(got.Departments, want) {
		t.Errorf("the departments are %q, want %q", got.Departments, want)
	}
	if want := []string{"tags: policy", "department: Lights <b>__ran()</b>"}; !slices.Equal(got.Chips, want) {
		t.Errorf("the filters are %q, want %q", got.Chips, want)
	}
	if want := append([]string{"document 01"}, got.Chips...); !slices.Equal(got.Kept, want) {
		t.Errorf("after looking at a document, there is %q, want %q", got.Kept, want)
	}
	if got.FirstPage != 100 || !got.Focused || !strings.Contains(got.Empty, "nothing at all") {
		t.Errorf("%d on the first page, focus is back: %v, nothing found: %q", got.FirstPage, got.Focused, got.Empty)
	}
}

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
