package pdf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

// sheet is a page on which a test sets cells: labels from the left, figures to the right.
type sheet struct{ strings.Builder }

func (s *sheet) row(y float64, label string, cells ...string) {
	if label != "" {
		s.WriteString(extracttest.Set("R", 10, 72, y, label))
	}
	for i, cell := range cells {
		if cell != "" {
			s.WriteString(extracttest.Set("R", 10, 300+100*float64(i)-10*helveticaWidth(cell), y, cell))
		}
	}
}

// A table is one table, with one header, whatever labels stand among its rows and in whatever order its program draws it.
func TestPDF_KeepsTablesTogether(t *testing.T) {
	for name, c := range map[string]struct {
		draw func(s *sheet)
		want string
	}{
		"a year names a group of rows": {func(s *sheet) {
			s.row(700, "", "Retail", "Online", "Total")
			s.row(680, "2024")
			s.row(665, "Revenue", "140", "60", "200")
			s.row(650, "Costs", "90", "41", "131")
			s.row(635, "2023")
			s.row(620, "Revenue", "122", "50", "172")
			s.row(605, "Costs", "80", "35", "115")
		}, "TH Retail | Online | Total\nTR 2024\nTR Revenue | 140 | 60 | 200\nTR Costs | 90 | 41 | 131\n" +
			"TR 2023\nTR Revenue | 122 | 50 | 172\nTR Costs | 80 | 35 | 115\n"},
		"a sum without a label": {func(s *sheet) {
			s.row(700, "", "2024", "2023")
			s.row(685, "Loans", "6,100", "5,900")
			s.row(670, "Leases", "1,400", "1,250")
			s.row(655, "", "7,500", "7,150")
			s.row(635, "Current liabilities")
			s.row(620, "Trade payables", "2,210", "2,009")
			s.row(605, "Taxes", "310", "288")
		}, "TH 2024 | 2023\nTR Loans | 6,100 | 5,900\nTR Leases | 1,400 | 1,250\nTR 7,500 | 7,150\n" +
			"TR Current liabilities\nTR Trade payables | 2,210 | 2,009\nTR Taxes | 310 | 288\n"},
		"the header is drawn last": {func(s *sheet) {
			s.row(680, "Balance, open", "$ 30,655", "$ 20,083")
			s.row(665, "Additions", "13,690", "10,793")
			s.row(650, "Balance, end", "$ 44,345", "$ 30,876")
			s.row(700, "", "December 31, 2022", "March 31, 2021")
		}, "TH December 31, 2022 | March 31, 2021\nTR Balance, open | $ 30,655 | $ 20,083\nTR Additions | 13,690 | 10,793\nTR Balance, end | $ 44,345 | $ 30,876\n"},
		"a date of two lines": {func(s *sheet) {
			s.row(700, "", "December", "December")
			s.row(688, "(in millions)", "31, 2024", "31, 2023")
			s.row(670, "Equity", "312,516", "292,332")
			s.row(655, "Less: preferred", "27,404", "27,401")
		}, "TH (in millions) | December 31, 2024 | December 31, 2023\nTR Equity | 312,516 | 292,332\nTR Less: preferred | 27,404 | 27,401\n"},
		"labels stand between header and rows": {func(s *sheet) {
			s.row(700, "", "Notional", "Fair", "Fair")
			s.row(688, "(Millions)", "Amount", "Assets", "Debts")
			s.row(670, "Derivatives designated as")
			s.row(658, "hedging instruments")
			s.row(640, "Forward contracts", "2,277", "74", "12")
			s.row(625, "Interest swaps", "1,403", "19", "17")
		}, "TH (Millions) | Notional Amount | Fair Assets | Fair Debts\nTR Derivatives designated as hedging instruments\nTR Forward contracts | 2,277 | 74 | 12\nTR Interest swaps | 1,403 | 19 | 17\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sheet{}
			s.WriteString(extracttest.SetLines(72, 740, "The table below is followed by a line of prose, and this line stands above it."))
			c.draw(s)
			s.WriteString(extracttest.SetLines(72, 560, "All of these amounts are in thousands of euros, unless it says otherwise."))
			got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(s.String())))
			want := "page 1\nP The table below is followed by a line of prose, and this line stands above it.\n" + c.want +
				"P All of these amounts are in thousands of euros, unless it says otherwise.\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Labels that go on below a table of other columns begin a table of their own.
func TestPDF_PartsTablesOfOtherColumns(t *testing.T) {
	s := &sheet{}
	s.row(700, "", "2024", "2023")
	s.row(685, "Loans", "6,100", "5,900")
	s.row(670, "Leases", "1,400", "1,250")
	s.row(655, "Shares held")
	for i, name := range []string{"Ann", "Bob", "Eve"} {
		y := 640 - 15*float64(i)
		s.WriteString(extracttest.Set("R", 10, 72, y, name) + extracttest.Set("R", 10, 440, y, []string{"37", "95", "60"}[i]))
	}
	got := extracttest.Outline(extracttest.Read(t, "a.pdf", extracttest.MakePDF(s.String())))
	if !strings.Contains(got, "P Shares held\nTR Ann | 37\n") {
		t.Error(got)
	}
}
