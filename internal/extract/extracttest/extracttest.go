// Package extracttest has helpers for the tests of packages that read files: makers of small files, files that other
// programs made, and checks of documents. It does not link in any reader; tests import extract/formats for that.
package extracttest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/extract"
	"parley/internal/format"
	"parley/test/needs"
)

// Gzipped returns a gzip file of data that stores a name.
func Gzipped(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ParserCache is the folder in which tests keep the compiled PDF parser.
var ParserCache = needs.ParserCache()

// Read extracts data under a name, and checks the document with CheckDocument.
func Read(t *testing.T, name string, data []byte) *extract.Document {
	t.Helper()
	doc, err := TryRead(t, name, data, extract.Limits{})
	if err != nil {
		t.Fatalf("File(%s) = %v", name, err)
	}
	CheckDocument(t, doc)
	return doc
}

// TryRead extracts data under a name with limits of its own. A document that it returns has been checked.
func TryRead(t *testing.T, name string, data []byte, limits extract.Limits) (*extract.Document, error) {
	t.Helper()
	x := &extract.Extractor{Limits: limits, CacheDir: ParserCache}
	if limits != (extract.Limits{}) {
		defer x.Close()
		return x.File(context.Background(), Input(name, data))
	}
	select {
	case x = <-idle:
	default:
	}
	defer func() { idle <- x }()
	return x.File(context.Background(), Input(name, data))
}

// idle holds Extractors with the default limits that no test uses at the moment. Loading PDFium takes longer than
// reading most test files.
var idle = make(chan *extract.Extractor, 1000)

// Input is the input for data under a name.
func Input(name string, data []byte) extract.Input {
	return extract.Input{Name: name, Content: bytes.NewReader(data), Size: int64(len(data))}
}

// WantReason checks that a file is refused for a reason.
func WantReason(t *testing.T, name string, data []byte, limits extract.Limits, want extract.Reason) *extract.Error {
	t.Helper()
	_, err := TryRead(t, name, data, limits)
	var refused *extract.Error
	if !errors.As(err, &refused) || refused.Reason != want {
		t.Fatalf("File(%s) = %v, want reason %s", name, err, want)
	}
	return refused
}

// CheckDocument checks the contract of Document: blocks ascend, are disjoint and cover the words;
// the text is clean; runs ascend.
func CheckDocument(t testing.TB, doc *extract.Document) {
	t.Helper()
	if len(doc.Pages)+len(doc.Parts) == 0 {
		t.Error("a document without pages")
	}
	for _, p := range doc.Pages {
		if !utf8.ValidString(p.Text) || !norm.NFC.IsNormalString(p.Text) {
			t.Errorf("page %d: text is not valid UTF-8 in NFC", p.Number)
		}
		if i := strings.IndexFunc(p.Text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }); i >= 0 {
			t.Errorf("page %d: control character %q", p.Number, p.Text[i])
		}
		end := 0
		for _, b := range p.Blocks {
			if b.Start < end || b.End <= b.Start || b.End > len(p.Text) {
				t.Fatalf("page %d: block %+v after %d in %d bytes", p.Number, b, end, len(p.Text))
			}
			if between := p.Text[end:b.Start]; strings.TrimSpace(between) != "" {
				t.Errorf("page %d: %q is in no block", p.Number, between)
			}
			if (b.Kind == extract.Heading) != (b.Level > 0) {
				t.Errorf("page %d: kind %d with level %d", p.Number, b.Kind, b.Level)
			}
			end = b.End
		}
		if rest := p.Text[end:]; strings.TrimSpace(rest) != "" {
			t.Errorf("page %d: %q is in no block", p.Number, rest)
		}
		for i, r := range p.Chars {
			if i == 0 && r.Offset != 0 || i > 0 && r.Offset <= p.Chars[i-1].Offset || r.Offset >= len(p.Text) {
				t.Fatalf("page %d: run %d of %v does not ascend", p.Number, i, p.Chars)
			}
		}
	}
}

// Outline renders blocks one to a line, as "H1 text", for comparison.
func Outline(doc *extract.Document) string {
	names := []string{"P", "H", "L", "TH", "TR", "C"}
	var b strings.Builder
	for _, p := range doc.Pages {
		if p.Number > 0 {
			fmt.Fprintf(&b, "page %d\n", p.Number)
		}
		for _, block := range p.Blocks {
			b.WriteString(names[block.Kind])
			if block.Level > 0 {
				fmt.Fprint(&b, block.Level)
			}
			b.WriteString(" " + strings.ReplaceAll(p.Text[block.Start:block.End], "\n", "⏎") + "\n")
		}
	}
	return b.String()
}

// Shared is the folder of test data beside the repository. Without it the test does not run.
func Shared(t testing.TB, dir string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "shared", dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		needs.Missing(t, path)
	}
	return path
}

// UTF16LE encodes ASCII text.
func UTF16LE(ascii string) []byte {
	b := make([]byte, 0, 2*len(ascii))
	for i := range len(ascii) {
		b = append(b, ascii[i], 0)
	}
	return b
}

// ReasonOf returns the reason of an error, or "" if it has none.
func ReasonOf(err error) extract.Reason {
	var refused *extract.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}

// CheckAnyInput checks that an input gives a document that keeps its contract, or an *extract.Error other than Crashed.
// It skips PDF, which has its own sandbox and is too slow to start here.
func CheckAnyInput(t *testing.T, name string, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte("%PDF-")) || format.Ext(name) == "pdf" {
		t.Skip()
	}
	doc, err := extract.ReadFile(context.Background(), name, bytes.NewReader(data), int64(len(data)), extract.Limits{TextBytes: 1 << 20, PartsBytes: 8 << 20})
	var refused *extract.Error
	switch {
	case errors.As(err, &refused):
		if refused.Reason == extract.Crashed {
			t.Errorf("crashed: %s", refused.Detail)
		}
	case err != nil:
		t.Error(err)
	default:
		CheckDocument(t, doc)
	}
}
