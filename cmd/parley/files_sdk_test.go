package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

// fileCitation is an annotation as a client shows it.
type fileCitation struct {
	Type, Filename string
	FileID         string `json:"file_id"`
	Page           int
	URL            string
}

// filesCalls is what a user of OpenAI's client sees from a file to its citation; files.mjs prints it.
type filesCalls struct {
	File, Status, Content, Thrown string
	Batch, None, Vector           int
	Listed, Found, Results        []string
	Cited, Streamed               []fileCitation
	Both, Given                   []fileCitation // from two vector stores, and from files of the request
	Completed                     []string
	Pages                         []bool // whether a page as it was read has the answer
	Deleted                       []bool
}

func TestSDK_OpenAIsClientGoesFromFilesToACitationOfThePage(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	dir := requireSDK(t, "openai")
	path := filepath.Join(t.TempDir(), "towers.pdf")
	pdf := pagePDF(
		[]pdfLine{{72, 700, "The coast of Jutland"}, {72, 660, "This report is about buildings and ferries."}},
		[]pdfLine{{72, 700, "Towers"}, {72, 660, "The lighthouse of Skagen is 46 metres tall."}})
	if err := os.WriteFile(path, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, nil, "--data", t.TempDir())
	cmd := exec.Command("node", "files.mjs", "http://"+p.addr+"/v1", path)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run files.mjs: %v: %s", err, stderr.String())
	}
	var got filesCalls
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("read %s: %v", out, err)
	}
	if got.Thrown != "" || got.Status != "completed" || got.Batch != 1 || got.None != 0 || got.Vector != 384 || got.Content != string(pdf) {
		t.Errorf("the client sees %+v", got)
	}
	for what, list := range map[string][]string{"listed": got.Listed, "results": got.Results} {
		if len(list) == 0 || slices.ContainsFunc(list, func(id string) bool { return id != got.File }) {
			t.Errorf("%s: %q, want %s", what, list, got.File)
		}
	}
	if !slices.Contains(got.Found, "towers.pdf") || !slices.Equal(got.Deleted, []bool{true, true}) {
		t.Errorf("found %q, deleted %v", got.Found, got.Deleted)
	}
	for what, cited := range map[string][]fileCitation{"cited": got.Cited, "streamed": got.Streamed} {
		if len(cited) == 0 {
			t.Errorf("%s: there is no citation", what)
		}
		for _, c := range cited {
			if c.Type != "file_citation" || c.FileID != got.File || c.Filename != "towers.pdf" || c.Page != 2 || !strings.HasSuffix(c.URL, "#page=2") {
				t.Errorf("%s: %+v", what, c)
			}
		}
	}
	checkGiven(t, got)
}

// checkGiven checks the citations of two vector stores at once, and of files that a request has brought: by its id, in an
// earlier request, and whole.
func checkGiven(t *testing.T, got filesCalls) {
	t.Helper()
	if !slices.Equal(got.Pages, []bool{false, true}) {
		t.Errorf("pages: %v", got.Pages)
	}
	var names []string
	for _, c := range got.Both {
		names = append(names, c.Filename)
	}
	if names = slices.Compact(names); !slices.Equal(names, []string{"towers.pdf", "towers.pdf.txt"}) {
		t.Errorf("two stores: %+v", got.Both)
	}
	ids := map[string]bool{}
	for _, c := range got.Given {
		ids[c.FileID] = true
		if c.Type != "file_citation" || c.Filename != "towers.pdf" || c.Page != 2 {
			t.Errorf("given: %+v", c)
		}
	}
	if len(ids) != 2 || !ids[got.File] || !ids[""] {
		t.Errorf("given: %+v", got.Given)
	}
	if len(got.Completed) == 0 || !strings.HasSuffix(got.Completed[0], "/v1/files/"+got.File+"/content#page=2") {
		t.Errorf("completed: %q", got.Completed)
	}
}
