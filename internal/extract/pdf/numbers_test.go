package pdf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/test/needs"
)

// A reader of a table goes by its numbers, so no number may be parted, joined with another or lose
// its sign, whatever stands around it. numberPage draws pages for that and knows which numbers it
// drew.
type numberPage struct {
	rng     *rand.Rand
	content strings.Builder
	numbers []string // as they were drawn, in reading order
}

// TestPDF_KeepsTheNumbersOfAnyTable draws pages of tables at random: with leaders of all kinds,
// columns of all widths, notes set as superscripts, wide letter spacing, kerning, glyphs placed one
// by one, and pages turned by quarters.
func TestPDF_KeepsTheNumbersOfAnyTable(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(23, uint64(seed)))
		var pages []string
		var want [][]string
		for range 10 {
			p := numberPage{rng: rng}
			p.draw()
			pages = append(pages, p.content.String())
			want = append(want, p.numbers)
		}
		doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF(pages...))
		for i, p := range doc.Pages {
			if diff := cmp.Diff(want[i], numbersOf(p.Text)); diff != "" {
				t.Errorf("seed %d page %d: numbers drawn (-) and read (+):\n%s\n%s\n%s", seed, i+1, diff, p.Text, pages[i])
			}
		}
	}
}

var numberToken = regexp.MustCompile(`[-(]?[$€]?[0-9.,]*[0-9]%?\)?\^?\d*`)

// numbersOf returns the numbers in a text with their signs, currencies and notes.
func numbersOf(text string) []string {
	var numbers []string
	return append(numbers, numberToken.FindAllString(text, -1)...)
}

func (p *numberPage) draw() {
	turned := p.rng.IntN(6)
	switch turned {
	case 1:
		p.content.WriteString("0 1 -1 0 612 0 cm\n")
	case 2:
		p.content.WriteString("-1 0 0 -1 612 792 cm\n")
	case 3:
		p.content.WriteString("0 -1 1 0 0 792 cm\n")
	}
	size := []float64{6, 8, 9, 10, 12, 16}[p.rng.IntN(6)]
	columns := p.columns(size)
	leader := p.rng.IntN(len(leaderKinds) + 1)
	spacing := []float64{0, 0, 0, .05, .2, .4, .8}[p.rng.IntN(7)] * size
	y := 560.0
	for range 3 + p.rng.IntN(12) {
		if leader < len(leaderKinds) || p.rng.IntN(3) > 0 {
			p.row(size, y, columns, leader, spacing)
		} else {
			p.row(size, y, columns, p.rng.IntN(len(leaderKinds)), 0)
		}
		y -= size * 1.6
	}
	if turned != 1 && turned != 3 { // it would be upside down, which PDFium reads backwards
		p.sideways(size)
	}
}

// sideways draws the labels of a chart, turned from the text of the page and glyph by glyph.
func (p *numberPage) sideways(size float64) {
	direction, x := []string{"0 1 -1 0", "0 -1 1 0"}[p.rng.IntN(2)], 40.0
	for range p.rng.IntN(4) {
		number, y, step := p.number(), 20.0, 1.0
		if direction[2] == '-' {
			y, step = 165, -1
		}
		for i := range len(number) {
			fmt.Fprintf(&p.content, "BT /R %g Tf %s %.2f %.2f Tm (%s) Tj ET\n", size, direction, x, y, escapePDF(number[i:i+1]))
			y += step * (size*helveticaWidth(number[i:i+1]) + .3)
		}
		x += 4 * size
		p.numbers = append(p.numbers, strings.ReplaceAll(number, "\x80", "€"))
	}
}

var leaderKinds = []string{".", ". ", "\x85", "\x85 ", "\xb7", "\xb7 ", "_", " .", "- "}

// columns are the right edges of a table's columns.
func (p *numberPage) columns(size float64) []float64 {
	var edges []float64
	x := 72 + 14*size + 60*p.rng.Float64()
	for range 1 + p.rng.IntN(4) {
		x += size * (6 + .6*float64(p.rng.IntN(8)))
		if x > 560 {
			break
		}
		edges = append(edges, x)
	}
	return edges
}

// row draws a label, its leader and the numbers of one row.
func (p *numberPage) row(size, y float64, columns []float64, leader int, spacing float64) {
	label := p.label()
	x := 72.0
	p.text(size, x, y, 0, label)
	x += size * helveticaWidth(label)
	for _, edge := range columns {
		number := p.number()
		width := size*helveticaWidth(number) + spacing*float64(len(number)-1)
		left := edge - width
		if left < x+.6*size {
			continue // no room for it
		}
		if leader < len(leaderKinds) {
			kind := leaderKinds[leader]
			if n := int((left - x - .6*size) / (size * helveticaWidth(kind))); n > 4 {
				p.text(size, x+.3*size, y, 0, strings.Repeat(kind, n))
			}
		}
		p.figure(size, left, y, spacing, number)
		x = edge
		if last := number[len(number)-1]; p.rng.IntN(8) == 0 && '0' <= last && last <= '9' {
			note := fmt.Sprint(1 + p.rng.IntN(9))
			p.text(size*.6, edge+.02*size, y+.35*size, 0, note)
			number += "^" + note
			x += size * .6 * helveticaWidth(note)
		}
		p.numbers = append(p.numbers, strings.ReplaceAll(number, "\x80", "€"))
	}
}

func (p *numberPage) label() string {
	words := []string{"Net sales", "cost", "Interest income on loans", "Total assets", "(in millions)", "Tier one", "loss"}
	return words[p.rng.IntN(len(words))]
}

func (p *numberPage) number() string {
	whole := fmt.Sprint(p.rng.IntN([]int{10, 100, 1000, 1000000, 100000000}[p.rng.IntN(5)]))
	if p.rng.IntN(2) == 0 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	switch p.rng.IntN(4) {
	case 0:
		whole += fmt.Sprintf(".%02d", p.rng.IntN(100))
	case 1:
		whole = fmt.Sprintf(".%02d", p.rng.IntN(100))
	}
	switch p.rng.IntN(8) {
	case 0:
		return "(" + whole + ")"
	case 1:
		return "-" + whole
	case 2:
		return "$" + whole
	case 3:
		return whole + "%"
	case 4:
		return "($" + whole + ")"
	case 5:
		return "\x80" + whole // €
	}
	return whole
}

// figure draws a number in one of the ways in which programs do. Spacing wider than what some use
// for a space belongs to a word only if the page says so.
func (p *numberPage) figure(size, x, y, spacing float64, number string) {
	if spacing > .1*size {
		p.text(size, x, y, spacing, number)
		return
	}
	switch p.rng.IntN(4) {
	case 0: // glyph by glyph
		for i := range len(number) {
			p.text(size, x, y, 0, number[i:i+1])
			x += size*helveticaWidth(number[i:i+1]) + spacing
		}
	case 1: // with kerning
		var array strings.Builder
		for i := range len(number) {
			fmt.Fprintf(&array, "(%s) %d ", escapePDF(number[i:i+1]), int(-1000*spacing/size)+p.rng.IntN(41)-20)
		}
		fmt.Fprintf(&p.content, "BT /R %g Tf 1 0 0 1 %.2f %.2f Tm [%s] TJ ET\n", size, x, y, array.String())
	default:
		p.text(size, x, y, spacing, number)
	}
}

func (p *numberPage) text(size, x, y, spacing float64, text string) {
	fmt.Fprintf(&p.content, "BT /R %g Tf %.2f Tc 1 0 0 1 %.2f %.2f Tm (%s) Tj 0 Tc ET\n", size, spacing, x, y, escapePDF(text))
}

func escapePDF(text string) string {
	return strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
}

// helveticaWidth is the width of a text at a size of 1.
func helveticaWidth(text string) float64 {
	total := 0
	for i := range len(text) {
		switch c := text[i]; {
		case strings.IndexByte(".,:;/ \xb7tfI", c) >= 0:
			total += 278
		case strings.IndexByte("-()r", c) >= 0:
			total += 333
		case c == 'i' || c == 'l':
			total += 222
		case c == 's' || c == 'c':
			total += 500
		case c == 'm':
			total += 833
		case c == '%':
			total += 889
		case c == '\x85':
			total += 1000
		case c == 'N' || c == 'T':
			total += 722
		default:
			total += 556
		}
	}
	return float64(total) / 1000
}

var exponent = regexp.MustCompile(`(\d)\^(\d)`)

// TestPDF_AgreesWithPdftotextOnNumbers compares the digits of real reports with those that another
// program reads in them. It joins notes to their numbers, and running lines are not ours.
func TestPDF_AgreesWithPdftotextOnNumbers(t *testing.T) {
	root := extracttest.Shared(t, "data")
	if _, err := exec.LookPath("pdftotext"); err != nil {
		needs.Missing(t, "pdftotext")
	}
	x := &extract.Extractor{CacheDir: extracttest.ParserCache}
	defer x.Close()
	for _, dir := range []string{"northwind", "erc2", "financebench"} {
		paths, err := filepath.Glob(filepath.Join(root, dir, "pdf", "*.pdf"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no PDFs in %s: %v", dir, err)
		}
		for i, path := range paths {
			if i%7 != 0 || (!needs.All() || needs.Race) && i > 0 { // parsers start no goroutines
				continue
			}
			out, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", path, "-").Output()
			if err != nil {
				t.Fatal(err)
			}
			theirs := strings.Split(string(out), "\f")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := x.File(t.Context(), extracttest.Input(path, data))
			if err != nil {
				t.Fatal(err)
			}
			total, strange := 0, 0
			for _, p := range doc.Pages {
				known := map[string]int{}
				for _, run := range digits.FindAllString(theirs[p.Number-1], -1) {
					known[run]++
				}
				for _, run := range digits.FindAllString(exponent.ReplaceAllString(p.Text, "$1$2"), -1) {
					total++
					if known[run]--; known[run] < 0 {
						strange++
					}
				}
			}
			t.Logf("%s: %d of %d numbers are not pdftotext's", filepath.Base(path), strange, total)
			if strange*200 > total+400 {
				t.Errorf("%s: %d of %d numbers are not pdftotext's", filepath.Base(path), strange, total)
			}
		}
	}
}

// A note set as a superscript neither becomes a digit of its number nor ends the row.
func TestPDF_KeepsNotesApartAndRowsWhole(t *testing.T) {
	row := func(y float64, cells ...string) string {
		line := extracttest.Set("R", 11, 72, y, cells[0])
		for i, c := range cells[1:] {
			line += extracttest.Set("R", 11, 250+120*float64(i), y, c)
		}
		return line
	}
	page := extracttest.Set("R", 11, 72, 720, "The fall of 2021") + extracttest.Set("R", 6, 148, 725, "12") + extracttest.Set("R", 11, 158, 720, "was steep.") +
		row(680, "Loans", "470", "869") + extracttest.Set("R", 6.6, 388.6, 684, "2") + row(664, "Bonds", "93", "114") + row(648, "Cash ........................ ", "1,184.20", "96.67")
	want := "page 1\nP The fall of 2021^12 was steep.\nTR Loans | 470 | 869^2\nTR Bonds | 93 | 114\nTR Cash | 1,184.20 | 96.67\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page)))); diff != "" {
		t.Error(diff)
	}
}
