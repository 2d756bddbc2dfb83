package pdf

import (
	"os"
	"testing"

	"parley/internal/extract/extracttest"
)

// bold.pdf was written byte by byte with a script that has nothing to do with this program: a grey shadow under a heading, a line printed
// twice, words printed twice within a line, a word printed four times around its place, and letters printed twice one by one.
//
// chromium.pdf was printed by Chromium 156 from a page with a heading that has two shadows, a paragraph whose letters have an outline
// (-webkit-text-stroke), which it prints again in a font of outlines, and one with full-width letters and digits. poppler's pdftotext reads
// "Stroked" twice there, and like this program no full-width X, for which the machine had no font.
func TestPDF_ReadsOverprintedTextOnce(t *testing.T) {
	for name, want := range map[string]string{
		"bold.pdf": "page 1\nH1 Safety at Work\n" +
			"P Wear a helmet on the site at all times. The maximum load is 400 kg for 22 people. Emergency⏎All doors\n",
		"chromium.pdf": "page 1\nH1 Annual report 2024\nP Stroked text here.\nP Model Ｙ－９００ is sold as １２３ＡＢＣ.\n",
	} {
		data, err := os.ReadFile("testdata/overprint/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := extracttest.Outline(extracttest.Read(t, name, data)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestPrinted_KnowsCopiesOnly(t *testing.T) {
	p := printed{}
	for _, c := range []struct {
		char rune
		x, y float32
		want bool
	}{
		{'l', 100, 700, false}, {'l', 100.3, 700.3, true}, {'l', 102.4, 700, false}, {'i', 100, 700, false}, {'l', 100, 688, false},
		{'l', 99.9, 699.9, true}, {'l', 1e30, 1e30, false}, {'l', 1e30, 1e30, false},
	} {
		if got := p.again(c.char, pdfOrigin{c.x, c.y}, 12); got != c.want {
			t.Errorf("%c at %v, %v: %v", c.char, c.x, c.y, got)
		}
	}
	if p.again('l', pdfOrigin{100, 700}, 0) || p.again('l', pdfOrigin{100, 700}, 1000) {
		t.Error("glyphs without a height, or of the height of a page, have copies")
	}
}
