package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIngest_CutsDocumentsAgainWhenTheSizeOfChunksChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, docs := filepath.Join(dir, "data"), filepath.Join(dir, "docs")
	if err := os.MkdirAll(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "Room number %d on the long corridor is open from nine until five. ", i)
	}
	if err := os.WriteFile(filepath.Join(docs, "rooms.md"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "7 chunks"},
		{nil, "1 unchanged"},
		{[]string{"--ingest-chunk-size", "300"}, "33 chunks"},
		{[]string{"--ingest-chunk-size", "300"}, "1 unchanged"},
		{[]string{"--ingest-chunk-size", "300", "--ingest-chunk-overlap", "0"}, "25 chunks"},
		{nil, "7 chunks"},
	} {
		got := parley(t, append([]string{"ingest", "--data", data, docs}, c.args...)...)
		if !strings.Contains(got, c.want) {
			t.Errorf("parley ingest %q says %q, want %q", c.args, got, c.want)
		}
	}
}
