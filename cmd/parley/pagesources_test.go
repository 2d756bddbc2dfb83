package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/webdav"
)

// startDAV starts a WebDAV server over a folder. It refuses everything while a file is there.
func startDAV(t *testing.T) (address, folder, down string) {
	t.Helper()
	folder, down = t.TempDir(), filepath.Join(t.TempDir(), "down")
	dav := &webdav.Handler{FileSystem: webdav.Dir(folder), LockSystem: webdav.NewMemLS(), Prefix: "/dav"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if exists(down) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return "webdav" + strings.TrimPrefix(s.URL, "http") + "/dav", folder, down
}

func TestPage_ShowsAndRunsRemoteSources(t *testing.T) {
	pageTest(t)
	address, folder, down := startDAV(t)
	for name, text := range map[string]string{"skagen.md": "# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n", "torn.docx": "PK\x03\x04 no archive"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := serveIngested(t, nil, address)
	var got struct {
		Findings, Documents             []string
		Address, First, Paused, Failing string
		Kept                            int
		Arabic                          []any
		Seen                            seenOnPage
	}
	onPage(t, "sources", p.addr, map[string]any{"folder": folder, "down": down, "shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	if got.Address != address || !strings.Contains(got.First, "1 new") || !strings.Contains(got.First, "torn.docx") {
		t.Errorf("the source %s is shown as %q: %q", address, got.Address, got.First)
	}
	if !slices.ContainsFunc(got.Documents, func(d string) bool { return strings.Contains(d, "later.md") }) || got.Paused != "Paused" {
		t.Errorf("read again: %q; paused: %q", got.Documents, got.Paused)
	}
	if !strings.Contains(got.Failing, "Failing") || !strings.Contains(got.Failing, "403") || got.Kept != 2 {
		t.Errorf("a source that refuses: %q, %d documents are left", got.Failing, got.Kept)
	}
	if want := []any{"rtl", false, "متعثر"}; !slices.Equal(got.Arabic, want) {
		t.Errorf("in Arabic: %v, want %v", got.Arabic, want)
	}
}

// A source whose first run waits for people is listed and not read, and the page says before that run what it would read.
func TestPage_SaysWhatTheFirstRunOfASourceWouldRead(t *testing.T) {
	pageTest(t)
	address, folder, _ := startDAV(t)
	text := "# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n" + strings.Repeat("It stands in the north. ", 200)
	if err := os.WriteFile(filepath.Join(folder, "skagen.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serveIngested(t, []string{"PARLEY_INGEST_SOURCES={skagen: {address: " + address + ", paused: true}}"})
	var got struct {
		Findings                   []string
		Never, Estimate, Cancelled string
		Seen                       seenOnPage
	}
	onPage(t, "firstrun", p.addr, map[string]any{"shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	if !strings.Contains(got.Never, "Never read") || !strings.Contains(got.Cancelled, "Never read") {
		t.Errorf("before the first run: %q, after one that was cancelled: %q", got.Never, got.Cancelled)
	}
	if !strings.Contains(got.Estimate, "1 file, 4.9 kB in all") || !strings.Contains(got.Estimate, "about 10 sec") || strings.Contains(got.Estimate, "vectors") || strings.Contains(got.Estimate, "Embedding") {
		t.Errorf("the estimate: %q", got.Estimate)
	}
}
