package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestREADME_ShowsWhatTheProgramAnswers ingests the documents that README.md starts with, and asks its question.
func TestREADME_ShowsWhatTheProgramAnswers(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)parley ask \"([^\"]*)\"\n```\n\n```\n(.*?)```").FindSubmatch(readme)
	if shown == nil {
		t.Fatal("README.md shows no question with its answer")
	}
	data := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), binary(t), "ingest", "../../docs", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("ingest: %v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary(t), "ask", string(shown[1]), "--data", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out, shown[2]) {
		t.Errorf("README.md shows\n%s\nthe program answers\n%s", shown[2], out)
	}
}
