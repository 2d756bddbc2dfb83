package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

// taggedTable is a page with a table whose tags tell rows and cells, all of the type TD.
func taggedTable(rows [][]string) []byte {
	const first = 7 // object of the first row
	var content, kids, parents strings.Builder
	var objects []string
	cell := first + len(rows)
	id := 0
	var cells []string
	for i, row := range rows {
		of := ""
		for j, text := range row {
			if text == "" {
				continue
			}
			fmt.Fprintf(&content, "/TD <</MCID %d>> BDC\n%sEMC\n", id, extracttest.Set("R", 11, 72+90*float64(j), 700-20*float64(i), text))
			cells = append(cells, fmt.Sprintf("<< /Type /StructElem /S /TD /P %d 0 R /Pg 4 0 R /K [%d] >>", first+i, id))
			of += fmt.Sprintf(" %d 0 R", cell)
			fmt.Fprintf(&parents, " %d 0 R", cell)
			cell, id = cell+1, id+1
		}
		objects = append(objects, fmt.Sprintf("<< /Type /StructElem /S /TR /P 6 0 R /Pg 4 0 R /K [%s ] >>", of))
		fmt.Fprintf(&kids, " %d 0 R", first+i)
	}
	objects = append(objects, cells...)
	return extracttest.PDFObjects("", append([]string{
		"<< /Type /Catalog /Pages 2 0 R /StructTreeRoot 6 0 R /MarkInfo << /Marked true >> >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /StructParents 0 /Resources << /Font << /R 3 0 R >> >> >>",
		extracttest.PDFStream(content.String()),
		fmt.Sprintf("<< /Type /StructTreeRoot /K [%s ] /ParentTree << /Nums [0 [%s ]] >> >>", kids.String(), parents.String()),
	}, objects...)...)
}

// A program that tags all cells alike leaves it to the words which rows name the columns. Signs in cells of their own belong to figures.
func TestPDF_FindsTheHeadersOfTaggedTables(t *testing.T) {
	for name, c := range map[string]struct {
		rows [][]string
		want string
	}{
		"years": {
			[][]string{{"", "", "December 31,"}, {"", "", "2022", "", "2021"}, {"Assets"}, {"Cash", "$", "143,235", "$", "47,699"}, {"Leases", "", "(37", ")", "118"}, {"Tax", "", "21", "%", "20", "%"}},
			"TH December 31,\nTH 2022 | 2021\nTR Assets\nTR Cash | $ 143,235 | $ 47,699\nTR Leases | (37) | 118\nTR Tax | 21% | 20%\n",
		},
		"names":      {[][]string{{"Region", "Sold", "Left"}, {"North", "120", "7"}, {"South", "95", "-"}}, "TH Region | Sold | Left\nTR North | 120 | 7\nTR South | 95 | -\n"},
		"no names":   {[][]string{{"North", "120", "7"}, {"South", "95", "11"}}, "TR North | 120 | 7\nTR South | 95 | 11\n"},
		"no figures": {[][]string{{"Name", "Title", "Date"}, {"Ann", "Director", "June 1"}, {"Bob", "Clerk", "May 2"}}, "TR Name | Title | Date\nTR Ann | Director | June 1\nTR Bob | Clerk | May 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff("page 1\n"+c.want, extracttest.Outline(extracttest.Read(t, "a.pdf", taggedTable(c.rows)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
