package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/format"
	"parley/internal/lexical/lexicaltest"
	"parley/test/needs"
)

func TestMain(m *testing.M) {
	sandbox.RunWorkerIfAsked(nil)
	os.Exit(m.Run())
}

// Every supported format has generated files here, or a reason why not.
func TestFormats_AreAllThatAreRead(t *testing.T) {
	var made []string
	for _, f := range measured() {
		made = append(made, f.format)
	}
	for name := range notMeasured {
		if slices.Contains(made, name) {
			t.Errorf("%s has files although it is said to have none", name)
		}
		made = append(made, name)
	}
	var read []string
	for _, f := range format.Table {
		if !f.Unread {
			read = append(read, f.Name)
		}
	}
	for _, name := range read {
		if !slices.Contains(made, name) {
			t.Errorf("%s has no files", name)
		}
	}
	for _, name := range made {
		if !slices.Contains(read, name) {
			t.Errorf("%s is not a format that is read", name)
		}
	}
}

// Generated files have the format that they claim, and contain their words.
func TestFormats_AreReadAsWhatTheyAre(t *testing.T) {
	g := lexicaltest.New(1)
	g.Document()
	passages := make([]string, 12)
	for i := range passages {
		passages[i] = g.Passage()
	}
	x := &extract.Extractor{CacheDir: needs.ParserCache()}
	defer x.Close()
	for _, f := range measured() {
		t.Run(f.format+" "+f.ext, func(t *testing.T) {
			doc, text := readFile(t, x, f, passages)
			if doc.Format != f.format || len(doc.Parts) != f.holds {
				t.Errorf("read as %q, with %d files inside", doc.Format, len(doc.Parts))
			}
			for _, p := range passages {
				if words := strings.Fields(p); !strings.Contains(text, strings.Join(words[:5], " ")) {
					t.Fatalf("a passage is missing: %q", p)
				}
			}
		})
	}
}

// readFile reads a generated file, and returns its text, with the text of the files inside it, as
// one line.
func readFile(t testing.TB, x *extract.Extractor, f formatKind, passages []string) (*extract.Document, string) {
	t.Helper()
	data, err := f.make(passages)
	if err != nil {
		t.Fatal(err)
	}
	spool := filepath.Join(t.TempDir(), "spool")
	doc, err := x.File(t.Context(), extract.Input{Name: "a." + f.ext, Content: bytes.NewReader(data), Size: int64(len(data)), Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range doc.Pages {
		b.WriteString(p.Text + " ")
	}
	for i := range doc.Parts {
		part, err := os.ReadFile(filepath.Join(spool, extract.PartName(i)))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(part)
		b.WriteString(" ")
	}
	return doc, strings.Join(strings.Fields(b.String()), " ")
}

// BenchmarkExtract measures the parsers alone, in bytes of text.
func BenchmarkExtract(b *testing.B) {
	g := lexicaltest.New(1)
	g.Document()
	passages, text := make([]string, 600), 0
	for i := range passages {
		passages[i] = g.Passage()
		text += len(passages[i])
	}
	x := &extract.Extractor{CacheDir: needs.ParserCache()}
	defer x.Close()
	for _, f := range measured() {
		data, err := f.make(passages)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(f.format, " ", "-")+"-"+f.ext, func(b *testing.B) {
			b.SetBytes(int64(text))
			for b.Loop() {
				in := extract.Input{Name: "a." + f.ext, Content: bytes.NewReader(data), Size: int64(len(data)), Spool: filepath.Join(b.TempDir(), "spool")}
				if _, err := x.File(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
