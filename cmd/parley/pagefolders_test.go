package main

import (
	"os"
	"slices"
	"testing"
)

func TestPage_KeepsConversationsInFolders(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	var got struct {
		Findings, Today, Pinned, Renamed, After []string
		Filed                                   [][]string
		Empty                                   string
		Closed                                  int
		Seen                                    seenOnPage
	}
	onPage(t, "folders", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	for i, filed := range got.Filed {
		if !slices.Equal(filed, []string{"Boats?", "Dues?"}) {
			t.Errorf("in tab %d the folder has %q", i, filed)
		}
	}
	if !slices.Equal(got.Today, []string{"How high is it?"}) || got.Empty == "" || got.Closed != 0 {
		t.Errorf("beside folders %q, in an empty one %q, in a closed one %d", got.Today, got.Empty, got.Closed)
	}
	if want := []string{"Dues?", "Boats?"}; !slices.Equal(got.Pinned, want) || !slices.Equal(got.Renamed, want) {
		t.Errorf("with a pinned conversation %q, renamed %q, want %q", got.Pinned, got.Renamed, want)
	}
	if want := []string{"Boats?", "Dues?", "How high is it?"}; !slices.Equal(got.After, want) {
		t.Errorf("without their folder %q, want %q", got.After, want)
	}
}
