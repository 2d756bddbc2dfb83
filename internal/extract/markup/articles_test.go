package markup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

// BenchmarkArticles says how well the main content of the test pages of go-readability, most of them news, is found: the F1
// measure of words, as a mean over the pages.
func BenchmarkArticles(b *testing.B) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "codeberg.org/readeck/go-readability/v2").Output()
	if err != nil {
		needs.Missing(b, "the source of go-readability")
	}
	pages, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "test-pages", "*", "source.html"))
	if err != nil || len(pages) == 0 {
		needs.Missing(b, "the test pages of go-readability")
	}
	x := &extract.Extractor{}
	defer x.Close()
	sum, low := 0.0, 0
	for b.Loop() {
		sum, low = 0, 0
		for _, name := range pages {
			source, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			wanted, err := os.ReadFile(filepath.Join(filepath.Dir(name), "expected.html"))
			if err != nil {
				b.Fatal(err)
			}
			doc, err := x.File(b.Context(), extracttest.Input("page.html", source))
			got := ""
			if err == nil {
				for _, p := range doc.Pages {
					got += p.Text + "\n"
				}
			}
			f, precision := wordMeasures(got, html.UnescapeString(FlatHTML(string(wanted))))
			if sum += f; precision < .5 {
				low++
			}
		}
	}
	b.ReportMetric(sum/float64(len(pages)), "F1")
	b.ReportMetric(float64(low), "pages-with-precision-below-half")
	b.ReportMetric(float64(len(pages)), "pages")
}

// wordMeasures compares two texts as bags of words.
func wordMeasures(got, want string) (f1, precision float64) {
	left := map[string]int{}
	wanted := strings.Fields(want)
	for _, w := range wanted {
		left[w]++
	}
	words, common := strings.Fields(got), 0
	for _, w := range words {
		if left[w] > 0 {
			left[w]--
			common++
		}
	}
	if len(words)+len(wanted) == 0 {
		return 1, 1
	}
	return 2 * float64(common) / float64(len(words)+len(wanted)), float64(common) / float64(max(len(words), 1))
}
