package pdf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

// The files of testdata/tables were made by other programs: report by Chromium from a page of HTML as
// companies file them, with a number below the text of each page; columns by reportlab.
func readTables(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/tables/" + name + ".pdf")
	if err != nil {
		t.Fatal(err)
	}
	return extracttest.Outline(extracttest.Read(t, name+".pdf", data))
}

// A table is its header and its rows, with the labels of groups of rows among them, currencies at their
// figures, and labels of several lines in one cell.
func TestPDF_ReadsTheTablesOfReports(t *testing.T) {
	want := `P The table shows revenue and costs by year.
TH Years ended June 30,
TH (In millions) | 2024 | 2023 | 2022
TR Revenue:
TR Product revenue | $ 51,230 | $ 47,815 | $ 43,009
TR Service revenue | 8,204 | 7,650 | (7,101)
TR Total revenue | $ 59,434 | $ 55,465 | $ 50,110
TR Costs:
TR Cost of goods that were sold, freight and customs duties included, net of rebates from suppliers | 31,007 | 29,954 | 28,766
TR Research | 4,100 | 3,950 | 3,800
TR Operating income | $ 24,327 | $ 21,561 | $ 17,544
P The notes are part of this statement.
page 3
`
	got := readTables(t, "report")
	if at := strings.Index(got, want[:40]); at < 0 || !strings.HasPrefix(got[at:], want) {
		t.Errorf("the table is read otherwise:\n%s", got)
	}
}

// What stands side by side is a row where it is figures, and stays as it was drawn where it is prose.
func TestPDF_ReadsTablesThatWereDrawnByColumns(t *testing.T) {
	want := `page 1
P The table was drawn column by column, all labels first, then the years and figures.
TH 2023 | 2024
TR Rent and rates | 12,400 | 12,900
TR Salaries | 88,150 | 91,020
TR Energy | 9,030 | 7,660
TR Insurance | 4,411 | 4,502
TR Travel | (120) | 2,310
TR Total | 113,871 | 118,392
P All amounts are in euros.
page 2
P Acme Limited 1 High Street London
P Buyer GmbH 2 Lange Gasse Wien
P Two columns of prose stand below, and the first one is read to its end.
P The left column tells of the harvest, which was good in the north and poor in the south, where rain had been missing since the end of March and wells fell dry in twelve villages by⏎2019.
P The right column tells of the trade, which fell by a tenth as ships waited for weeks before the harbour and merchants lost their patience with the customs of the city in summer 2020.
`
	if diff := cmp.Diff(want, readTables(t, "columns")); diff != "" {
		t.Error(diff)
	}
}

func TestPDF_ReadsEmptyCellsAndHeadersOfSeveralLines(t *testing.T) {
	at := func(right, y float64, text string) string {
		return extracttest.Set("R", 10, right-10*helveticaWidth(text), y, text)
	}
	page := extracttest.SetLines(72, 740, "What each region sold is shown below, before taxes and after returns.") +
		at(300, 700, "First") + at(300, 688, "half") + at(400, 700, "Second") + at(400, 688, "half") + at(500, 688, "Year") +
		extracttest.Set("R", 10, 72, 670, "North") + at(300, 670, "120") + at(400, 670, "95") + at(500, 670, "215") +
		extracttest.Set("R", 10, 72, 655, "South") + at(400, 655, "88") + at(500, 655, "88") +
		extracttest.Set("R", 10, 72, 640, "West") + at(300, 640, "7") + at(400, 640, "9") + at(500, 640, "16")
	want := "page 1\nP What each region sold is shown below, before taxes and after returns.\n" +
		"TH First half | Second half | Year\nTR North | 120 | 95 | 215\nTR South |  | 88 | 88\nTR West | 7 | 9 | 16\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page)))); diff != "" {
		t.Error(diff)
	}
}

// Items of a list have a gap behind their marks, and are no rows.
func TestPDF_TakesListsForNoTable(t *testing.T) {
	page := ""
	for i, item := range []string{"limit our use of cash", "require us to pay", "restrict what we own"} {
		y := 700 - 14*float64(i)
		page += extracttest.Set("R", 11, 72, y, "\x95") + extracttest.Set("R", 11, 108, y, item)
	}
	want := "page 1\nL • limit our use of cash\nL • require us to pay\nL • restrict what we own\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(page)))); diff != "" {
		t.Error(diff)
	}
}

var bareNumber = regexp.MustCompile(`(?m)^P (?:F-)?\d+$`)

// A number that counts the pages is no text, wherever on its page it stands; any other is.
func TestPDF_DropsPageNumbersThatFollowTheText(t *testing.T) {
	if got := bareNumber.FindAllString(readTables(t, "report"), -1); got != nil {
		t.Errorf("the page numbers are read: %q", got)
	}
	for seed := range 10 {
		rng := rand.New(rand.NewPCG(6, uint64(seed)))
		prefix := []string{"", "F-", "- "}[rng.IntN(3)]
		var pages, lone []string
		for i := range 6 + rng.IntN(10) {
			page, y := "", 740.0
			for line := range 3 + rng.IntN(30) {
				page += extracttest.Set("R", 11, 72, y, fmt.Sprintf("This is line %d of page %d.", line, i))
				y -= 14
			}
			if rng.IntN(3) == 0 {
				lone = append(lone, fmt.Sprint(1000+rng.IntN(9000)))
				page += extracttest.Set("R", 11, 72, y-20, lone[len(lone)-1])
				y -= 40
			}
			number := prefix + fmt.Sprint(i+40)
			if prefix == "- " {
				number += " -"
			}
			pages = append(pages, page+extracttest.Set("R", 11, 300, y-20, number))
		}
		got := bareNumber.FindAllString(extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(pages...))), -1)
		if len(got) != len(lone) {
			t.Errorf("seed %d, prefix %q: read %q, want %q", seed, prefix, got, lone)
		}
	}
}

// A page that says nothing but its number keeps it: otherwise the document would have no text.
func TestPDF_KeepsTheNumberOfAPageWithoutOtherText(t *testing.T) {
	var pages []string
	for i := range 7 {
		pages = append(pages, extracttest.Set("R", 11, 72, 700-50*float64(i), fmt.Sprintf("Page %d", i+1)))
	}
	if got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(pages...))); !strings.Contains(got, "P Page 7") {
		t.Errorf("the pages are read as:\n%s", got)
	}
}

// FuzzTables holds that each character of a page is in its blocks once, however the lines stand.
func FuzzTables(f *testing.F) {
	f.Add([]byte("\x00\x00\x10Net sales  12\x00\x60\x10\x3112\x02\x00\x10Tax 4\x02\x60\x10\x3117\x04\x00\x10Rest\x04\x60\x10\x31(3)"))
	f.Add([]byte("\x00\x60\x10\x312023\x02\x00\x10\x31Rent\x02\x60\x10\x31$ 4\x04\x00\x10\x31Pay\x04\x60\x10\x31$ 9 %"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, chars := fuzzedLines(data)
		layout := newPDFLayout([]*pdfPage{{lines: lines}})
		seen := make([]int, chars)
		for _, b := range layout.untaggedBlocks(lines, false) {
			text := layout.text(b)
			page := extract.Page{Text: string(text.Text), Chars: text.Runs}
			for _, c := range page.CharIndexes(0, len(page.Text)) {
				seen[c]++
			}
		}
		for _, line := range lines {
			for _, c := range (extract.Page{Text: string(line.Text), Chars: line.Runs}).CharIndexes(0, len(line.Text)) {
				if string(line.Text) != "" && seen[c] != 1 && !isJoint(lines, c) {
					t.Fatalf("character %d is in %d blocks", c, seen[c])
				}
			}
		}
	})
}

// isJoint reports whether a character is a space or a hyphen, which may go where lines are joined.
func isJoint(lines []pdfLine, char int) bool {
	for _, l := range lines {
		if at := l.Offset(char); at < len(l.Text) && slices.Contains([]byte(" -"), l.Text[at]) {
			return true
		}
	}
	return false
}

// fuzzedLines makes lines of bytes: two for a place, one for how words are set, and text up to a control character.
func fuzzedLines(data []byte) (lines []pdfLine, chars int) {
	for len(data) > 3 && len(lines) < 60 {
		line := pdfLine{base: 700 - 7*float32(data[0]), left: 4 * float32(data[1]), size: 10}
		spread, x, n := float32(data[2]), 4*float32(data[1]), 3
		for ; n < len(data) && n < 40 && data[n] >= ' ' && data[n] < 0x7f; n++ {
			if c := rune(data[n]); c == ' ' {
				x += spread
				line.Rune(c, chars)
			} else {
				if text := string(line.Text); strings.HasSuffix(text, " ") && strings.TrimSpace(text) != "" {
					gap := pdfGap{chars, x - spread, x}
					line.words = append(line.words, gap)
					if spread > 15 {
						line.gaps = append(line.gaps, gap)
					}
				}
				line.Rune(c, chars)
				x += 5
			}
			chars++
		}
		line.Mapped, line.right = line.Trim(), x
		if len(line.Text) > 0 {
			lines = append(lines, line)
		}
		data = data[n:]
	}
	return lines, chars
}
