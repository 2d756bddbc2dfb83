package pdf

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

func northwind(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(extracttest.Shared(t, "data/northwind/pdf"), "*.pdf"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no PDFs: %v", err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = data
	}
	return files
}

// The words of each page are those that pdftotext finds, except for the hyphens that it drops at
// line ends.
func TestPDF_FindsTheWordsOfNorthwind(t *testing.T) {
	files := northwind(t)
	if _, err := exec.LookPath("pdftotext"); err != nil {
		needs.Missing(t, "pdftotext")
	}
	for name, data := range files {
		cmd := exec.Command("pdftotext", "-", "-")
		cmd.Stdin = bytes.NewReader(data)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		theirs := strings.Split(string(out), "\f")
		for _, p := range extracttest.Read(t, name, data).Pages {
			got, want := letters(p.Text), letters(theirs[p.Number-1])
			if got != want {
				t.Errorf("%s page %d: %d letters, pdftotext has %d", name, p.Number, len(got), len(want))
			}
			ours, count := len(strings.Fields(p.Text)), len(strings.Fields(theirs[p.Number-1]))
			if ours < count-2 || ours > count+2 {
				t.Errorf("%s page %d: %d words, pdftotext has %d", name, p.Number, ours, count)
			}
		}
	}
}

// letters are the characters of a text in any order, without space and hyphens.
func letters(s string) string {
	runes := []rune(strings.NewReplacer(" ", "", "\n", "", "-", "").Replace(s))
	slices.Sort(runes)
	return string(runes)
}

func TestPDF_FindsTheStructureOfNorthwind(t *testing.T) {
	files := northwind(t)
	headings := map[string][]string{
		"Northwind_Health_Plus_Benefits_Details.pdf": {"Coinsurance", "CARE MANAGEMENT", "SUMMARY OF YOUR COSTS", "Emergency Room", "Balance Billing Protection"},
		"employee_handbook.pdf":                      {"Our Mission", "Performance Reviews", "Whistleblower Policy"},
		"PerksPlus.pdf":                              {"What is Covered?", "What is Not Covered?"},
		"role_library.pdf":                           {"Chief Executive Officer", "Manager of Sales"},
	}
	for name, want := range headings {
		doc := extracttest.Read(t, name, files[name])
		var found []string
		cut := 0
		for _, p := range doc.Pages {
			for i, b := range p.Blocks {
				text := p.Text[b.Start:b.End]
				first, _ := utf8.DecodeRuneInString(text)
				switch {
				case b.Kind == extract.Heading:
					found = append(found, text)
				case i > 0 && b.Kind == extract.Paragraph && unicode.IsLower(first):
					cut++
				}
			}
		}
		for _, h := range want {
			if !slices.Contains(found, h) {
				t.Errorf("%s: %q is no heading", name, h)
			}
		}
		// A paragraph that goes on in small letters has been cut into its lines. One document has
		// a line break inside a sentence.
		if cut > 1 {
			t.Errorf("%s: %d paragraphs begin in the middle of a sentence", name, cut)
		}
	}
}

func TestPDF_MapsNorthwindToCharacters(t *testing.T) {
	for name, data := range northwind(t) {
		if testing.Short() && len(data) > 1<<20 {
			continue
		}
		if words := checkCharMap(t, data); words < 400 {
			t.Errorf("%s: %d words", name, words)
		}
	}
}

// BenchmarkPDF reads the Northwind documents with PDFium loaded; BenchmarkPdftotext is the
// figure to compare with.
func BenchmarkPDF(b *testing.B) {
	files := northwind(b)
	x := &extract.Extractor{CacheDir: extracttest.ParserCache}
	defer x.Close()
	pages := 0
	for b.Loop() {
		for name, data := range files {
			doc, err := x.File(context.Background(), extracttest.Input(name, data))
			if err != nil {
				b.Fatal(err)
			}
			pages += len(doc.Pages)
		}
	}
	b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
}

func BenchmarkPdftotext(b *testing.B) {
	files := northwind(b)
	if _, err := exec.LookPath("pdftotext"); err != nil {
		needs.Missing(b, "pdftotext")
	}
	pages := 0
	for b.Loop() {
		for _, data := range files {
			cmd := exec.Command("pdftotext", "-", "-")
			cmd.Stdin = bytes.NewReader(data)
			out, err := cmd.Output()
			if err != nil {
				b.Fatal(err)
			}
			pages += bytes.Count(out, []byte("\f"))
		}
	}
	b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
}
