package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPage_KeepsPromptsOnTheServer(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	var got struct {
		Findings, Listed, Before, Browsers, Found []string
		Draft, Statement, Full                    string
		StillListed                               int
		StillInBrowser                            *string
		Seen                                      seenOnPage
	}
	onPage(t, "prompts", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	const hostile = "<img src=x onerror=__ran()> in one line"
	if want := []string{hostile, "Answer in a table."}; !slices.Equal(got.Before, want) {
		t.Errorf("before the browser's own are moved %q, want %q", got.Before, want)
	}
	if want := []string{"From the browser.", hostile, "Answer in a table."}; !slices.Equal(got.Browsers, want) || got.StillInBrowser != nil {
		t.Errorf("in another browser %q, want %q", got.Browsers, want)
	}
	if want := []string{"From another browser.", hostile, "Answer in a table."}; !slices.Equal(got.Listed, want) {
		t.Errorf("after a reload %q, want %q", got.Listed, want)
	}
	if !strings.Contains(got.Full, "Delete a prompt first") || got.StillListed < 9 {
		t.Errorf("a browser whose prompts find no room shows %q and %d prompts", got.Full, got.StillListed)
	}
	if got.Draft != "How tall is it?\nAnswer in a table." || !strings.Contains(got.Statement, "everyone who uses this server without signing in can see them") || !slices.Equal(got.Found, []string{"Prompt 7"}) {
		t.Errorf("the question is %q; it says %q; found %q", got.Draft, got.Statement, got.Found)
	}
}
