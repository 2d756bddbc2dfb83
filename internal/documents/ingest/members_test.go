package ingest

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// zipped returns an archive of files, by name and content in turn.
func zipped(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Who asks for what somebody sent in May wants the attachments too.
func TestRun_GivesAttachmentsTheSenderAndTheDateOfTheirMail(t *testing.T) {
	b := newBench(t)
	mail := "From: Ann <ann@example.com>\nTo: bob\nSubject: Plan\nDate: Fri, 01 May 2026 10:00:00 +0200\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee below.\n--b\nContent-Disposition: attachment; filename=note.txt\n\nAttached.\n--b--\n"
	b.write("docs/a.eml", mail)
	b.write("docs/a.eml.parley.yaml", "attributes: {to: carol}")
	b.want(b.run(), counts{Indexed: 2})
	got := string(b.corpus.doc(t, "docs/a.eml/note.txt").Document.Attributes)
	if want := `{"date":"2026-05-01T10:00:00+02:00","from":["Ann","ann@example.com"],"to":"carol"}`; got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
	b.want(b.run(), counts{Unchanged: 2})
}

func TestRun_MakesDocumentsOfTheFilesInsideAFile(t *testing.T) {
	b := newBench(t)
	mail := "From: ann\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee the attachment.\n--b\nContent-Disposition: attachment; filename=note.txt\n\nAttached.\n--b--\n"
	b.write("docs/a.zip", zipped(t, "x.md", "Alpha.", "sub/y.txt", "Beta.", "sub/z.txt", "DAMAGED", "mail.eml", mail,
		"../out.txt", "Never.", ".git/x.md", "Never.", "inner.zip", zipped(t, "deep.md", "Gamma.")))
	r := b.run()
	b.want(r, counts{Indexed: 5, Failed: 2})
	b.wantNames("docs/a.zip/inner.zip/deep.md", "docs/a.zip/mail.eml", "docs/a.zip/mail.eml/note.txt", "docs/a.zip/sub/y.txt", "docs/a.zip/x.md")
	d := b.corpus.doc(t, "docs/a.zip/sub/y.txt")
	if d.Document.Title != "y" || d.Document.MediaType != "text/plain" || d.Chunks[0].Text != "Beta." {
		t.Errorf("%+v", d)
	}
	f, err := b.blobs.Open(d.Document.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, _ := io.ReadAll(f); string(data) != "Beta." {
		t.Errorf("the original is %q", data)
	}
	var failed []string
	for _, f := range r.Failed {
		rel, _ := filepath.Rel(b.dir, f.Path)
		failed = append(failed, fmt.Sprintf("%s: %s", rel, f.Reason))
	}
	if want := []string{"docs/a.zip/sub/z.txt: damaged", "docs/a.zip/unnamed/_out.txt: unsafe-name"}; !slices.Equal(failed, want) {
		t.Errorf("failed %q", failed)
	}
	want := map[string]map[string]int{
		"ZIP archive": {OutcomeOpened: 2}, "e-mail": {OutcomeIndexed: 1}, "Markdown": {OutcomeIndexed: 2},
		"plain text": {OutcomeIndexed: 2, "damaged": 1, "unsafe-name": 1},
	}
	if diff := cmp.Diff(want, r.Formats); diff != "" {
		t.Error(diff)
	}
	if left, err := os.ReadDir(b.data); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.Contains(e.Name(), "spool") }) {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRun_FollowsTheFilesInsideAFile(t *testing.T) {
	b := newBench(t)
	inner := zipped(t, "deep.md", "Gamma.")
	b.write("a.zip", zipped(t, "x.md", "Alpha.", "y.md", "Beta.", "z.md", "DAMAGED", "inner.zip", inner))
	b.want(b.run(), counts{Indexed: 3, Failed: 1})
	id := b.corpus.doc(t, "a.zip/x.md").Document.ID
	b.extractor.take()

	r := b.run()
	b.want(r, counts{Unchanged: 3, Failed: 1})
	if !r.Failed[0].Known {
		t.Error("the failed file is not said to be known")
	}
	if read := b.extractor.take(); len(read) > 0 {
		t.Errorf("read %q although nothing changed", read)
	}

	b.write("a.zip", zipped(t, "x.md", "Alpha again.", "inner.zip", inner, "new.md", "Delta."))
	b.want(b.run(), counts{Indexed: 1, Updated: 1, Unchanged: 1, Deleted: 1})
	b.wantNames("a.zip/inner.zip/deep.md", "a.zip/new.md", "a.zip/x.md")
	if d := b.corpus.doc(t, "a.zip/x.md"); d.Document.ID != id || d.Chunks[0].Text != "Alpha again." {
		t.Errorf("%+v", d)
	}
	if read := b.extractor.take(); slices.Contains(read, "deep.md") || slices.Contains(read, "inner.zip") {
		t.Errorf("read %q: what did not change was read again", read)
	}

	b.write("a.zip", "not an archive any more")
	b.want(b.run(), counts{Indexed: 1, Deleted: 3})
	b.wantNames("a.zip")
	b.remove("a.zip")
	b.want(b.run(), counts{Deleted: 1})
	if len(b.corpus.files) != 0 {
		t.Errorf("rows %v", b.corpus.files)
	}
}

func TestRun_DeletesTheFilesInsideAFileThatIsGone(t *testing.T) {
	b := newBench(t)
	b.write("a.zip", zipped(t, "x.md", "Alpha.", "inner.zip", zipped(t, "deep.md", "Gamma.")))
	b.write("sub/b.zip", zipped(t, "y.md", "Beta."))
	b.run()
	b.remove("a.zip")
	b.want(b.run(), counts{Unchanged: 1, Deleted: 2})
	b.wantNames("sub/b.zip/y.md")
	// A part of the root knows its archives too.
	b.want(b.run("sub"), counts{Unchanged: 1})
	b.want(b.run("sub/b.zip"), counts{Unchanged: 1})
}

func TestRun_NamesTheFilesInsideASingleFile(t *testing.T) {
	b := newBench(t)
	b.write("docs/a.zip", zipped(t, "x.md", "Alpha."))
	b.run("docs/a.zip")
	b.wantNames("a.zip/x.md")
	b.want(b.run("docs/a.zip"), counts{Unchanged: 1})
	id := b.corpus.doc(t, "a.zip/x.md").Document.ID
	b.want(b.run("docs"), counts{Updated: 1}) // taken over by the folder
	if d := b.corpus.doc(t, "a.zip/x.md"); d.Document.ID != id {
		t.Error("the document has a new id")
	}
	b.want(b.run(), counts{Updated: 1})
	b.wantNames("docs/a.zip/x.md")
	b.want(b.run(), counts{Unchanged: 1})
	if len(b.corpus.docs) != 1 || len(b.corpus.files) != 2 {
		t.Errorf("documents %v, rows %v", b.corpus.docs, b.corpus.files)
	}
}

func TestRun_BoundsTheFilesInsideAFile(t *testing.T) {
	nested := zipped(t, "x.md", "Alpha.")
	for range 6 {
		nested = zipped(t, "n.zip", nested)
	}
	b := newBench(t)
	b.write("deep.zip", nested)
	r := b.run()
	b.want(r, counts{Skipped: 1})
	if f := r.Skipped[0]; f.Reason != extract.TooLarge || strings.Count(f.Path, "n.zip") != maxDepth+1 {
		t.Errorf("%+v", f)
	}

	// One archive must not use up the budget of the next one inside the same file.
	five := zipped(t, "1.md", "A.", "2.md", "B.", "3.md", "C.", "4.md", "D.", "5.md", "E.")
	b = newBench(t)
	b.cfg.MaxParts = 10
	b.write("a.zip", zipped(t, "one.zip", five, "two.zip", five, "three.zip", five))
	r = b.run()
	b.want(r, counts{Indexed: 5, Skipped: 2})
	for _, f := range r.Skipped {
		if f.Reason != extract.TooLarge {
			t.Errorf("%+v", f)
		}
	}
}

func TestRun_BeginsWithAFileAgainWhenItWasCutShort(t *testing.T) {
	b := newBench(t)
	var files []string
	const n = 200
	for i := range n {
		files = append(files, fmt.Sprintf("%03d.md", i), fmt.Sprintf("Text %d.", i))
	}
	b.write("a.zip", zipped(t, files...))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.corpus.onApply = func(batch retrieval.Batch) error {
		if len(batch.Put) > 0 {
			cancel()
		}
		return nil
	}
	if _, err := b.try(ctx); err == nil {
		t.Fatal("no error")
	}
	done := len(b.corpus.docs)
	if done == 0 || done == n {
		t.Fatalf("%d documents", done)
	}
	b.corpus.onApply = nil
	b.extractor.take()
	b.want(b.run(), counts{Indexed: n - done, Unchanged: done})
	if read := b.extractor.take(); len(read) != n-done+1 {
		t.Errorf("read %d files, want the archive and the %d that were missing", len(read), n-done)
	}
}

func TestRun_WhatIsSaidOfAnArchiveHoldsForTheFilesInside(t *testing.T) {
	b := newBench(t)
	archive := zipped(t, "x.md", "Alpha.", "board/y.md", "Beta.", "board/parley.yaml", "groups: [board]", "z.md", "Gamma.",
		"z.md.parley.yaml", "title: Zed\nusers: [zoe]", "deep/w.zip", zipped(t, "w.md", "Delta."))
	b.write("a.zip", archive)
	b.write("a.zip.parley.yaml", "title: All\nurl: https://example.org/a.zip\ncategory: hr\ngroups: [staff]\n")
	b.want(b.run(), counts{Indexed: 4})
	staff := access.List{Groups: []string{"staff"}}
	for name, want := range map[string]retrieval.Document{
		"a.zip/x.md":            {Title: "x", Category: "hr", Access: staff},
		"a.zip/board/y.md":      {Title: "y", Category: "hr", Access: access.List{Groups: []string{"board"}}},
		"a.zip/z.md":            {Title: "Zed", Category: "hr", Access: access.List{Users: []string{"zoe"}}},
		"a.zip/deep/w.zip/w.md": {Title: "w", Category: "hr", Access: staff},
	} {
		d := b.corpus.doc(t, name).Document
		got := retrieval.Document{Title: d.Title, URL: d.URL, Category: d.Category, Access: d.Access}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	b.remove("a.zip.parley.yaml")
	b.want(b.run(), counts{Updated: 4})
	b.write("parley.yaml", "files: {a.zip: {groups: [staff], title: T}}")
	b.want(b.run(), counts{Updated: 3, Unchanged: 1})
	for name, want := range map[string]access.List{"a.zip/board/y.md": {Groups: []string{"board"}}, "a.zip/x.md": staff} {
		if d := b.corpus.doc(t, name).Document; !cmp.Equal(d.Access, want) || d.Title == "T" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	b.remove("parley.yaml")
	b.run()
	if d := b.corpus.doc(t, "a.zip/x.md").Document; d.Access.Restricted() {
		t.Errorf("%+v", d.Access)
	}
	b.want(b.run(), counts{Unchanged: 4})
}

func TestRun_AMailsAttachmentsSayNothingOfEachOther(t *testing.T) {
	b := newBench(t)
	b.write("m.eml", "From: eve\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nBody.\n"+
		"--b\nContent-Disposition: attachment; filename=x.md\n\nAlpha.\n"+
		"--b\nContent-Disposition: attachment; filename=x.md.parley.yaml\n\nusers: [eve]\n--b--\n")
	b.write("m.eml.parley.yaml", "groups: [board]")
	b.run()
	for _, name := range []string{"m.eml", "m.eml/x.md"} {
		if d := b.corpus.doc(t, name).Document; !cmp.Equal(d.Access, access.List{Groups: []string{"board"}}) {
			t.Errorf("%s: %+v", name, d.Access)
		}
	}
}
