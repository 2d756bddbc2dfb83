package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// If a re-index is killed at any moment, documents still answer, and the next re-index finishes the
// work.
func TestReindex_SurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, docs := filepath.Join(dir, "data"), filepath.Join(dir, "docs")
	if err := os.Mkdir(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	const documents = 200
	for i := range documents {
		text := fmt.Sprintf("Locker number w%dx belongs to the person in room %d.", i, i*7)
		if err := os.WriteFile(filepath.Join(docs, fmt.Sprintf("locker-%d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parley(t, "ingest", "--data", data, docs)
	answers := func() {
		t.Helper()
		if got := parley(t, "ask", "--data", data, "Who has locker w77x?"); !strings.Contains(got, "room 539") {
			t.Fatalf("the answer is %s", got)
		}
	}
	for _, after := range []int{50, 150, 300} {
		cmd := exec.Command(binary(t), "reindex", "--data", data)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(after) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		answers()
	}
	if got := parley(t, "reindex", "--data", data); !strings.Contains(got, "Switched to 200 documents") {
		t.Errorf("the last one said %s", got)
	}
	answers()
	if got := parley(t, "ingest", "--data", data, docs); !strings.Contains(got, "200 unchanged") {
		t.Errorf("the next ingestion said %s", got)
	}
}
