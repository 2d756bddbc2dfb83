package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
	"golang.org/x/text/unicode/norm"

	"parley/test/needs"
)

var testCache = needs.ParserCache()

func TestMain(m *testing.M) {
	RunWorkerIfAsked(testPost)
	goleak.VerifyTestMain(m)
}

// read extracts data under a name, and checks what holds for every document.
func read(t *testing.T, name string, data []byte) *Document {
	t.Helper()
	doc, err := tryRead(t, name, data, Limits{})
	if err != nil {
		t.Fatalf("File(%s) = %v", name, err)
	}
	checkDocument(t, doc)
	return doc
}

func tryRead(t *testing.T, name string, data []byte, limits Limits) (*Document, error) {
	t.Helper()
	x := &Extractor{Limits: limits, CacheDir: testCache}
	defer x.Close()
	return x.File(context.Background(), input(name, data))
}

func input(name string, data []byte) Input {
	return Input{Name: name, Content: bytes.NewReader(data), Size: int64(len(data))}
}

// wantReason checks that a file is refused for a reason.
func wantReason(t *testing.T, name string, data []byte, limits Limits, want Reason) *Error {
	t.Helper()
	_, err := tryRead(t, name, data, limits)
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != want {
		t.Fatalf("File(%s) = %v, want reason %s", name, err, want)
	}
	return refused
}

// checkDocument checks the contract of Document: blocks ascend, are disjoint and cover the words;
// the text is clean; runs ascend.
func checkDocument(t testing.TB, doc *Document) {
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
			if (b.Kind == Heading) != (b.Level > 0) {
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

// outline renders blocks one to a line, as "H1 text", for comparison.
func outline(doc *Document) string {
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

// pdfObjects assembles a PDF file of objects numbered from 1. The first is the catalog; trailer
// is added to the trailer dictionary.
func pdfObjects(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, start)
	return b.Bytes()
}

func pdfStream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// makePDF makes a document of pages with the given content streams, in which /R is a regular and
// /B a bold face.
func makePDF(contents ...string) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
		"<< /Title (A made up report) >>",
	}
	var kids []string
	for _, c := range contents {
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /R 3 0 R /B 4 0 R >> >> >>", n+1),
			pdfStream(c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	return pdfObjects("/Info 5 0 R", objects...)
}

// set places one line of text on a page: face R or B, size and place in points.
func set(face string, size, x, y float64, text string) string {
	escaped := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
	return fmt.Sprintf("BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", face, size, x, y, escaped)
}

// setLines places lines of body text 14 points apart, from y down.
func setLines(x, y float64, lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(set("R", 11, x, y-14*float64(i), line))
	}
	return b.String()
}

// makeZIP makes an archive of parts, by name and content in turn.
func makeZIP(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shared is the folder of test data beside the repository. Without it the test does not run.
func shared(t testing.TB, dir string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		needs.Missing(t, path)
	}
	return path
}

func utf16le(ascii string) []byte {
	b := make([]byte, 0, 2*len(ascii))
	for i := range len(ascii) {
		b = append(b, ascii[i], 0)
	}
	return b
}

// reasonOf is the reason of an error, "" of none.
func reasonOf(err error) Reason {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}
