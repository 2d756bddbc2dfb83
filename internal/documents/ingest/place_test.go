package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/internal/retrieval"
)

// wantIn compares the names of the documents in a namespace.
func (b *bench) wantIn(namespace string, names ...string) {
	b.t.Helper()
	if got := b.corpus.namesIn(namespace); !slices.Equal(got, names) {
		b.t.Errorf("%s holds %q, want %q", namespace, got, names)
	}
}

// open lets files name any namespace.
func (b *bench) open() *bench {
	b.cfg.MayName = func(string) bool { return true }
	return b
}

func TestRun_PutsDocumentsIntoTheNamespaceThatIsSaid(t *testing.T) {
	b := newBench(t).open()
	b.write("a.md", "Alpha.")
	b.write("hr/b.md", "Beta.")
	b.write("hr/legal/c.md", "Gamma.")
	b.write("hr/own.md", "goes to own")
	b.write("hr/d.md", "goes to nowhere")
	b.write("hr/d.md.parley.yaml", "namespace: beside\n")
	b.write("hr/e.md", "goes to nowhere")
	b.write("hr/a.md", "Another alpha.")
	b.write("hr/back.md", "Home.")
	b.write("hr/parley.yaml", "namespace: hr\nfiles: {e.md: {namespace: entry}, back.md: {namespace: default}}\n")
	b.write("hr/legal/parley.yaml", "namespace: legal\n")
	b.want(b.run(), counts{Indexed: 8})
	for namespace, names := range map[string][]string{
		"default": {"a.md", "hr/back.md"}, "hr": {"hr/a.md", "hr/b.md"}, "legal": {"hr/legal/c.md"},
		"own": {"hr/own.md"}, "beside": {"hr/d.md"}, "entry": {"hr/e.md"}, "nowhere": nil,
	} {
		b.wantIn(namespace, names...)
	}
	r := b.run()
	b.want(r, counts{Unchanged: 8})
	if r.Elsewhere["hr"] != 2 || len(r.Elsewhere) != 5 {
		t.Errorf("the report counts %v elsewhere", r.Elsewhere)
	}
	b.extractor.take()
	b.remove("hr/own.md")
	b.remove("hr/legal")
	b.want(b.refresh("hr"), counts{Unchanged: 5, Deleted: 2})
	b.wantIn("own")
	b.wantIn("legal")
}

func TestRun_MovesADocumentWhoseNamespaceChanges(t *testing.T) {
	b := newBench(t).open()
	b.write("sub/a.md", "Alpha.")
	b.write("sub/b.md", "goes to team")
	b.run()
	first := b.corpus.docIn(t, "default", "sub/a.md").Document.ID
	b.corpus.onApply = func(batch retrieval.Batch) error {
		puts, deletes := 0, 0
		for _, part := range append([]retrieval.Batch{batch}, batch.Others...) {
			puts, deletes = puts+len(part.Put), deletes+len(part.Delete)
		}
		if puts == 0 && deletes > 0 {
			t.Error("a document is put in one transaction and deleted in another")
		}
		return nil
	}
	move := func(text string) {
		t.Helper()
		b.write("sub/parley.yaml", text)
		b.want(b.refresh("sub/parley.yaml"), counts{Updated: 2})
	}
	move("namespace: crew\n")
	b.wantIn("default")
	b.wantIn("crew", "sub/a.md")
	b.wantIn("team", "sub/b.md")
	if id := b.corpus.docIn(t, "crew", "sub/a.md").Document.ID; id == first {
		t.Error("the document has the id that it had in its old namespace")
	}
	move("namespace: team\n")
	b.wantIn("crew")
	b.wantIn("team", "sub/a.md", "sub/b.md")
	b.write("sub/b.md", "Home again, by its folder.")
	b.write("sub/parley.yaml", "category: x\n")
	b.want(b.run(), counts{Updated: 2})
	b.wantIn("team")
	b.wantNames("sub/a.md", "sub/b.md")
}

// If the namespace of a document cannot be read, the run removes the document, wherever it is.
func TestRun_KeepsNothingWhereItMayNotBe(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		mayName func(string) bool
		detail  string
	}{
		"not a name":      {"namespace: [a]", func(string) bool { return true }, "is not valid"},
		"control":         {"namespace: \"a\\tb\"", func(string) bool { return true }, "1 to 128 bytes"},
		"too long":        {"namespace: " + strings.Repeat("n", 129), func(string) bool { return true }, "1 to 128 bytes"},
		"reserved":        {"namespace: \U0010FFFFold/x", func(string) bool { return true }, "U+10FFFF"},
		"empty":           {"namespace: ", func(string) bool { return true }, "is not valid"},
		"not of the list": {"namespace: other", func(ns string) bool { return ns == "team" }, "not one of those"},
		"none":            {"namespace: other", nil, "may only go into"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).open()
			b.write("a.md", "Alpha.")
			b.write("a.md.parley.yaml", "namespace: team\n")
			b.run()
			b.wantIn("team", "a.md")
			b.cfg.MayName = c.mayName
			b.write("a.md.parley.yaml", c.text+"\n")
			r := b.run()
			b.want(r, counts{Failed: 1, Deleted: 1})
			if f := r.Failed[0]; f.Reason != BadMetadata || !strings.Contains(f.Detail, c.detail) {
				t.Errorf("failed as %+v", f)
			}
			b.wantIn("team")
			b.wantNames()
		})
	}
}

func TestRun_FrontMatterMayNameNoNamespaceThatIsNotAllowed(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "goes to other")
	b.write("b.md", "goes to default")
	b.write("c.md", "goes to "+strings.Repeat("n", 200))
	r := b.run()
	b.want(r, counts{Indexed: 1, Failed: 2})
	for _, f := range r.Failed {
		if f.Reason != BadMetadata || len(f.Detail) > 300 {
			t.Errorf("failed as %+v", f)
		}
	}
	b.wantNames("b.md")
}

// Whoever packed an archive chose its files, as in a folder; attachments of a mail come from strangers.
func TestRun_FilesInsideFilesGoWhereTheseGo(t *testing.T) {
	mail := func(attached string) string {
		return "From: ann\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nSee the attachment.\n--b\n" +
			"Content-Disposition: attachment; filename=note.txt\n\n" + attached + "\n--b--\n"
	}
	b := newBench(t).open()
	b.write("post/m.eml", mail("goes to elsewhere"))
	b.write("post/parley.yaml", "namespace: post\n")
	b.write("loose.eml", mail("goes to elsewhere"))
	b.write("z.zip", zipped(t, "in.md", "Alpha.", "own.md", "goes to own", "sub/b.md", "Beta.",
		"sub/parley.yaml", "namespace: sub\n", "sub/m.eml", mail("goes to elsewhere")))
	b.write("z.zip.parley.yaml", "namespace: zip\n")
	b.want(b.run(), counts{Indexed: 9})
	for namespace, names := range map[string][]string{
		"post": {"post/m.eml", "post/m.eml/note.txt"}, "zip": {"z.zip/in.md"}, "own": {"z.zip/own.md"}, "elsewhere": nil,
		"sub": {"z.zip/sub/b.md", "z.zip/sub/m.eml", "z.zip/sub/m.eml/note.txt"}, "default": {"loose.eml", "loose.eml/note.txt"},
	} {
		b.wantIn(namespace, names...)
	}
	b.write("z.zip.parley.yaml", "namespace: moved\n")
	b.run()
	b.wantIn("zip")
	b.wantIn("moved", "z.zip/in.md")
	b.remove("z.zip")
	b.remove("z.zip.parley.yaml")
	b.want(b.run(), counts{Unchanged: 4, Deleted: 5})
	b.write("post/parley.yaml", "namespace: ["+"\n")
	b.want(b.run(), counts{Unchanged: 2, Deleted: 2, Failed: 1})
	b.wantIn("post")
}

// Two runs may put files into the same namespace; each knows its own.
func TestRun_FilesOfTwoNamespacesMeetInAThird(t *testing.T) {
	b := newBench(t).open()
	b.write("a/x.md", "goes to shared")
	b.write("b/x.md", "goes to shared")
	b.run("a")
	b.cfg.Namespace = "second"
	b.run("b")
	b.wantIn("shared", "b/x.md", "x.md")
	b.remove("b/x.md")
	b.want(b.run("b"), counts{Deleted: 1})
	b.wantIn("shared", "x.md")
}

// Wherever a run breaks off, the next one finds the documents and moves them to their namespace.
func TestRun_GoesOnAfterAMoveThatFailed(t *testing.T) {
	b := newBench(t).open()
	b.write("a.md", "Alpha.")
	b.run()
	b.write("a.md", "goes to team")
	b.corpus.onApply = func(retrieval.Batch) error { return errors.New("no such luck") }
	if _, err := b.try(t.Context()); err == nil {
		t.Fatal("the run has not failed")
	}
	b.wantNames("a.md")
	b.wantIn("team")
	b.corpus.onApply = nil
	b.want(b.run(), counts{Updated: 1})
	b.wantNames()
	b.wantIn("team", "a.md")
}

func TestSurvey_ShowsWhatWouldGoElsewhere(t *testing.T) {
	b := newBench(t).open()
	b.write("a.md", "goes to team")
	var seen []string
	report, err := New(b.cfg).Survey(t.Context(), []string{b.dir}, func(p retrieval.Put) error {
		seen = append(seen, p.Document.Namespace+":"+p.Document.Name)
		return nil
	}, nil)
	if err != nil || !slices.Equal(seen, []string{"team:a.md"}) || report.Elsewhere["team"] != 1 {
		t.Errorf("seen %q, %v elsewhere (%v)", seen, report.Elsewhere, err)
	}
	b.wantIn("team")
}
