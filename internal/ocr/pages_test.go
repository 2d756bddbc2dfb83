package ocr

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"testing"

	"parley/internal/ocr/ocrtest"
	"parley/test/needs"
)

// knownPages are 20 pages of the licence, in ten ways of setting.
func knownPages(t testing.TB) []ocrtest.Page {
	t.Helper()
	licence, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	return ocrtest.Pages(t, string(licence), 20)
}

// system reads a picture with the tesseract in PATH.
func system(ctx context.Context, native string, picture *image.Gray) (string, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, native, "stdin", "stdout", "--dpi", "300", "--oem", "1", "-l", "eng")
	cmd.Stdin, cmd.Env = &b, append(os.Environ(), "OMP_THREAD_LIMIT=1")
	out, err := cmd.Output()
	return strings.Join(strings.Fields(string(out)), " "), err
}

// BenchmarkPages prints the characters that are wrong on pages of known text, in per cent, and pages a minute, of the built-in
// Tesseract and of the one in PATH. Of the built-in one it also prints what
// is wrong in the pages that Compose makes of its words. With -v it prints the rate of each page.
func BenchmarkPages(b *testing.B) {
	pages := knownPages(b)
	r := reader(b)
	if _, err := r.Words(b.Context(), pages[0].Picture, 300); err != nil {
		b.Fatal(err)
	}
	var found []Word // on the last page
	readers := map[string]func(*image.Gray) (string, error){"built-in": func(p *image.Gray) (text string, err error) {
		found, err = r.Words(b.Context(), p, 300)
		return wordsOf(found), err
	}}
	if native, err := exec.LookPath("tesseract"); err == nil {
		readers["system"] = func(p *image.Gray) (string, error) { return system(b.Context(), native, p) }
	}
	for name, read := range readers {
		b.Run(name, func(b *testing.B) {
			wrong, composed, chars := 0, 0, 0
			for b.Loop() {
				for i, p := range pages {
					got, err := read(p.Picture)
					if err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					n := distance(p.Text, got)
					b.Logf("page %d, %s: %d of %d characters are wrong", i+1, p.Name, n, len(p.Text))
					wrong, chars = wrong+n, chars+len(p.Text)
					if name == "built-in" {
						composed += distance(p.Text, textOfPage(b, found, p.Picture))
					}
					b.StartTimer()
				}
			}
			b.ReportMetric(100*float64(wrong)/float64(chars), "%wrong")
			if name == "built-in" {
				b.ReportMetric(100*float64(composed)/float64(chars), "%wrong-of-page")
			}
			b.ReportMetric(float64(chars)/float64(b.N), "chars")
			b.ReportMetric(float64(len(pages)*b.N)/b.Elapsed().Minutes(), "pages/min")
		})
	}
}

// Tesseract reads tables column by column, and columns of text should be read so.
func TestCompose_ReadsTablesRowByRowAndColumnsOneAfterTheOther(t *testing.T) {
	needs.Long(t)
	for _, p := range knownPages(t)[:10] {
		if p.Name != "table" && p.Name != "columns" {
			continue
		}
		words, err := reader(t).Words(t.Context(), p.Picture, 300)
		if err != nil {
			t.Fatal(err)
		}
		got := textOfPage(t, words, p.Picture)
		if n := distance(p.Text, got); n*50 > len(p.Text) {
			t.Errorf("%s: %d of %d characters are wrong:\n%s", p.Name, n, len(p.Text), got)
		}
	}
}

// textOfPage is the text of the page that Compose makes, without marks between cells.
func textOfPage(t testing.TB, words []Word, picture *image.Gray) string {
	t.Helper()
	page, err := Compose(words, picture.Rect.Size(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(page.Text, " | ", " ")), " ")
}
