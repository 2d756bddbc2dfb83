package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

func TestPage_KeepsPromptsInTheBrowser(t *testing.T) {
	needs.Long(t)
	requirePage(t)
	t.Parallel()
	p := startServe(t, nil, pageDocuments(t))
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Findings, Listed, Tabs []string
		Draft, Statement       string
		Left                   int
		Seen                   seenOnPage
	}
	onPage(t, "prompts", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	const hostile = "<img src=x onerror=__ran()> in one line"
	if want := []string{hostile, "Answer in a table."}; !slices.Equal(got.Listed, want) || !slices.Equal(got.Tabs, want) {
		t.Errorf("after a reload %q, in another tab %q, want %q", got.Listed, got.Tabs, want)
	}
	if got.Draft != "How tall is it?\nAnswer in a table." || !strings.Contains(got.Statement, "this browser only") || got.Left != 1 {
		t.Errorf("the question is %q; it says %q; %d prompts are left", got.Draft, got.Statement, got.Left)
	}
}
