package pdf

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/extract/extracttest"
)

// hebrewPDF is a page whose letters a to z show those of Hebrew, as they stand on the page from left to right.
func hebrewPDF(content string) []byte {
	unicodes := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def 1 begincodespacerange <00> <FF> endcodespacerange\n" +
		"2 beginbfrange <20> <60> <0020> <61> <7A> <05D0> endbfrange endcmap end end"
	return extracttest.PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		extracttest.PDFStream(content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>",
		extracttest.PDFStream(unicodes))
}

// hebrew returns what a text of the letters a to z shows, in the order of reading.
func hebrew(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'א' + r - 'a'
		}
		return r
	}, s)
}

// A table that is read from right to left has its columns in the order of reading: years stand above their values, also in a row
// without letters.
func TestPDF_ReadsTablesFromRightToLeft(t *testing.T) {
	backward := func(s string) string {
		out := []byte(s)
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
		return string(out)
	}
	rows := [][]string{{"", "2021", "2022", "2023"}, {"abcde", "1,100", "1,200", "1,300"}, {"fghi", "5,000", "6,000", "7,000"}, {"klm nop", "5,011", "1,401", "2,300"}}
	for name, ruled := range map[string]bool{"without lines": false, "with lines": true} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(extracttest.Set("F1", 12, 200, 740, backward("qrst abcd efgh ijkl mnop qrst")))
			for i, row := range rows {
				y := 700 - 20*float64(i)
				for j, cell := range row {
					x := 450 - 90*float64(j)
					if j == 0 {
						cell = backward(cell)
					}
					b.WriteString(extracttest.Set("F1", 12, x, y, cell))
				}
			}
			if ruled {
				for i := range 5 {
					fmt.Fprintf(&b, "100 %d m 540 %d l S\n", 715-20*i, 715-20*i)
				}
				for _, x := range []int{100, 260, 350, 440, 540} {
					fmt.Fprintf(&b, "%d 715 m %d 635 l S\n", x, x)
				}
			}
			doc := extracttest.Read(t, "a.pdf", hebrewPDF(b.String()))
			text := doc.Pages[0].Text
			want := []string{"2021 | 2022 | 2023\n"}
			for _, row := range rows[1:] {
				want = append(want, hebrew(row[0])+" | "+strings.Join(row[1:], " | "))
			}
			for _, w := range want {
				if !strings.Contains(text+"\n", w) {
					t.Errorf("missing %q in\n%s", w, text)
				}
			}
		})
	}
}
