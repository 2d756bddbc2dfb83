package ocrtest

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/math/fixed"
)

// Page is a picture of a page at 300 dots an inch whose text is known.
type Page struct {
	Name    string
	Picture *image.Gray
	Text    string // its words in reading order, with spaces between them
}

// style is the typography of a page.
type style struct {
	name    string
	font    []byte
	size    float64 // points
	columns int
	table   bool
	degrees float64 // rotation of the paper
	noise   float64 // share of pixels that are made darker or lighter
	ink     uint8   // 0 is black
}

var styles = []style{
	{name: "plain", font: goregular.TTF, size: 11, columns: 1},
	{name: "small", font: goregular.TTF, size: 7, columns: 1, noise: .02},
	{name: "italic", font: goitalic.TTF, size: 10, columns: 1, noise: .05},
	{name: "bold", font: gobold.TTF, size: 12, columns: 1, noise: .05},
	{name: "mono", font: gomono.TTF, size: 9, columns: 1, noise: .05},
	{name: "columns", font: goregular.TTF, size: 9, columns: 2, noise: .02},
	{name: "askew", font: gomedium.TTF, size: 11, columns: 1, degrees: .8, noise: .02},
	{name: "askew columns", font: goregular.TTF, size: 10, columns: 2, degrees: -.6},
	{name: "noisy", font: goregular.TTF, size: 10, columns: 1, noise: .4, ink: 90},
	{name: "table", font: goregular.TTF, size: 10, columns: 1, table: true, noise: .02},
}

// charsOfPage is the approximate number of characters on a page.
const charsOfPage = 1100

// Pages sets a text on pages in several styles, one after the other. At the end of the text, it starts again from its beginning.
func Pages(t testing.TB, text string, n int) (pages []Page) {
	t.Helper()
	words := strings.Fields(text)
	r := rand.New(rand.NewPCG(3, 4))
	for i, at := 0, 0; i < n; i++ {
		var part []string
		for chars := 0; chars < charsOfPage; at++ {
			part = append(part, words[at%len(words)])
			chars += len(words[at%len(words)]) + 1
		}
		pages = append(pages, styles[i%len(styles)].set(t, r, part))
	}
	return pages
}

const (
	pageWidth  = 2000
	pageMargin = 130
)

func (s style) set(t testing.TB, r *rand.Rand, words []string) Page {
	t.Helper()
	parsed, err := opentype.Parse(s.font)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: s.size, DPI: 300, Hinting: font.HintingNone})
	if err != nil {
		t.Fatal(err)
	}
	step := int(s.size * 300 / 72 * 1.35)
	lines, text := s.lines(r, face, words)
	perColumn := (len(lines) + s.columns - 1) / s.columns
	img := image.NewGray(image.Rect(0, 0, pageWidth, perColumn*step+2*pageMargin))
	draw.Draw(img, img.Rect, image.White, image.Point{}, draw.Src)
	d := font.Drawer{Dst: img, Src: image.NewUniform(color.Gray{s.ink}), Face: face}
	for i, cells := range lines {
		x, y := pageMargin+i/perColumn*(pageWidth/s.columns), pageMargin+i%perColumn*step
		for j, cell := range cells {
			d.Dot = fixed.P(x+j*(pageWidth-2*pageMargin)/len(cells), y)
			d.DrawString(cell)
		}
	}
	img = turned(img, s.degrees)
	for range int(s.noise * float64(len(img.Pix))) {
		i := r.IntN(len(img.Pix))
		img.Pix[i] = uint8(min(255, max(0, int(img.Pix[i])+r.IntN(161)-80)))
	}
	return Page{s.name, img, text}
}

// lines breaks words into the lines of the page's columns, or makes the rows of a table. Each line is a list of cells.
func (s style) lines(r *rand.Rand, face font.Face, words []string) (lines [][]string, text string) {
	if s.table {
		const widest = 18 // characters that have room in a cell
		for i := 0; i+1 < len(words); i += 2 {
			if label := words[i] + " " + words[i+1]; len(label) <= widest {
				lines = append(lines, []string{label, fmt.Sprintf("%d.%02d", r.IntN(9000), r.IntN(100)), fmt.Sprintf("%d%%", r.IntN(100)),
					fmt.Sprintf("20%02d-%02d-%02d", r.IntN(30), 1+r.IntN(12), 1+r.IntN(28))})
			}
		}
	} else {
		widest := fixed.I(pageWidth/s.columns - pageMargin*3/2)
		line := ""
		for _, w := range words {
			if line != "" && font.MeasureString(face, line+" "+w) > widest {
				lines, line = append(lines, []string{line}), ""
			}
			line = strings.TrimPrefix(line+" "+w, " ")
		}
		lines = append(lines, []string{line})
	}
	all := make([]string, len(lines))
	for i, cells := range lines {
		all[i] = strings.Join(cells, " ")
	}
	return lines, strings.Join(all, " ")
}

// turned turns a picture about its middle.
func turned(img *image.Gray, degrees float64) *image.Gray {
	if degrees == 0 {
		return img
	}
	out := image.NewGray(img.Rect)
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	x, y := float64(img.Rect.Dx())/2, float64(img.Rect.Dy())/2
	draw.BiLinear.Transform(out, f64.Aff3{cos, -sin, x - cos*x + sin*y, sin, cos, y - sin*x - cos*y}, img, img.Rect, draw.Over, nil)
	return out
}
