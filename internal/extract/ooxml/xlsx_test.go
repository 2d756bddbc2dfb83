package ooxml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestXLSX_ReadsSheetsAsTables(t *testing.T) {
	prices := extracttest.Xrow(1, "A1=Prices of 2024") +
		extracttest.Xrow(3, "B3$0", "C3=2023", "D3=2024", "F3=When") +
		extracttest.Xrow(4, "B4$1", "C4#1=1234.5", "D4#2=0.125", "F4#3=45356") +
		extracttest.Xrow(5, "B5=Two_x000A_lines", "D5#0=0.30000000000000004") +
		extracttest.Xrow(7, "B7=Late", "C7#0=7") +
		extracttest.Xrow(9, "A9=Staff") +
		extracttest.Xrow(10, "A10=Name", "B10=Room") +
		extracttest.Xrow(11, "A11=Ann", "B11=17") +
		extracttest.Xrow(13, "C13=City", "D13=Country") +
		extracttest.Xrow(14, "C14=Bonn", "D14=Germany")
	data := extracttest.MakeXLSX(t, []string{"Prices", prices, "Empty", "", "Other", extracttest.Xrow(1, "A1=Last")},
		"xl/sharedStrings.xml", `<sst><si><t>Fruit</t><rPh><t>furutsu</t></rPh></si><si><r><t>App</t></r><r><t>le</t></r></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;$&quot;#,##0.00;[Red]\-0"/></numFmts>`+
			`<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
		"xl/worksheets/_rels/sheet3.xml.rels", extracttest.RelsStart+extracttest.Rel("a", "comments", "../comments1.xml")+extracttest.Rel("b", "drawing", "../drawings/d.xml")+extracttest.RelsEnd,
		"xl/comments1.xml", `<comments><commentList><comment ref="A1"><text><r><t>Look</t></r><r><t> here</t></r></text></comment></commentList></comments>`,
		"xl/drawings/d.xml", `<d xmlns:a="`+drawingNamespace+`">`+extracttest.Ap("In a box")+`</d>`,
		"xl/drawings/_rels/d.xml.rels", extracttest.RelsStart+extracttest.Rel("c", "chart", "c.xml")+extracttest.RelsEnd,
		"xl/drawings/c.xml", extracttest.ChartXML)
	want := `H1 Prices
P Prices of 2024
TH Fruit | 2023 | 2024 | When
TR Fruit: Apple; 2023: $1,234.50; 2024: 12.50%; When: 2024-03-05
TR Fruit: Two lines; 2024: 0.3
TR Fruit: Late; 2023: 7
P Staff
TH Name | Room
TR Name: Ann; Room: 17
TH City | Country
TR City: Bonn; Country: Germany
H1 Other
P Last
P Comment on A1: Look here
P In a box
P Chart: Sales
TH Category | North
TR Category: Q1; North: 4.3
TR Category: Q2; North: 2.5
`
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.xlsx", data))); diff != "" {
		t.Error(diff)
	}
}

func TestXLSX_RefusesWithAReason(t *testing.T) {
	row := extracttest.Xrow(1, "A1=a", "B1=b")
	extracttest.WantReason(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", ""}), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", "<row><c"}), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", strings.Repeat(row, 100)}), extract.Limits{TextBytes: 100}, extract.TooLarge)
	extracttest.WantReason(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", row}, "xl/sharedStrings.xml", "<sst><si><t>long text</t></si></sst>"), extract.Limits{TextBytes: 5}, extract.TooLarge)
	// One long string in every cell of one row.
	cells := strings.Repeat(`<c t="s"><v>0</v></c>`, 10_000)
	shared := "<sst><si><t>" + strings.Repeat("long ", 1000) + "</t></si></sst>"
	extracttest.WantReason(t, "a.xlsx", extracttest.MakeXLSX(t, []string{"S", "<row>" + cells + "</row>"}, "xl/sharedStrings.xml", shared), extract.Limits{}, extract.TooLarge)
}
