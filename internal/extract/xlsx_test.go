package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// makeXLSX makes a workbook of sheets, by name and rows in turn.
func makeXLSX(t testing.TB, sheets []string, parts ...string) []byte {
	t.Helper()
	list, rels := "", relsStart
	for i := 0; i+1 < len(sheets); i += 2 {
		n := i/2 + 1
		list += fmt.Sprintf(`<sheet name="%s" sheetId="%d" r:id="r%d"/>`, sheets[i], n, n)
		rels += rel(fmt.Sprintf("r%d", n), "worksheet", fmt.Sprintf("/xl/worksheets/sheet%d.xml", n))
		parts = append(parts, fmt.Sprintf("xl/worksheets/sheet%d.xml", n), `<worksheet><sheetData>`+sheets[i+1]+`</sheetData></worksheet>`)
	}
	return makeZIP(t, append(parts,
		"xl/workbook.xml", `<workbook xmlns:r="`+officeNS+`"><sheets>`+list+`</sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", rels+rel("s", "sharedStrings", "sharedStrings.xml")+relsEnd)...)
}

// xrow is a row of cells given as "A1=text", "A1#3=4.5" with a style, or "A1$2" for a shared string.
func xrow(number int, cells ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<row r="%d">`, number)
	for _, c := range cells {
		if ref, i, ok := strings.Cut(c, "$"); ok {
			fmt.Fprintf(&b, `<c r="%s" t="s"><v>%s</v></c>`, ref, i)
			continue
		}
		ref, value, _ := strings.Cut(c, "=")
		if ref, style, ok := strings.Cut(ref, "#"); ok {
			fmt.Fprintf(&b, `<c r="%s" s="%s"><f>SUM(A1)</f><v>%s</v></c>`, ref, style, value)
			continue
		}
		fmt.Fprintf(&b, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, ref, value)
	}
	return b.String() + "</row>"
}

func TestXLSX_ReadsSheetsAsTables(t *testing.T) {
	prices := xrow(1, "A1=Prices of 2024") +
		xrow(3, "B3$0", "C3=2023", "D3=2024", "F3=When") +
		xrow(4, "B4$1", "C4#1=1234.5", "D4#2=0.125", "F4#3=45356") +
		xrow(5, "B5=Two_x000A_lines", "D5#0=0.30000000000000004") +
		xrow(7, "B7=Late", "C7#0=7") +
		xrow(9, "A9=Staff") +
		xrow(10, "A10=Name", "B10=Room") +
		xrow(11, "A11=Ann", "B11=17") +
		xrow(13, "C13=City", "D13=Country") +
		xrow(14, "C14=Bonn", "D14=Germany")
	data := makeXLSX(t, []string{"Prices", prices, "Empty", "", "Other", xrow(1, "A1=Last")},
		"xl/sharedStrings.xml", `<sst><si><t>Fruit</t><rPh><t>furutsu</t></rPh></si><si><r><t>App</t></r><r><t>le</t></r></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;$&quot;#,##0.00;[Red]\-0"/></numFmts>`+
			`<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
		"xl/worksheets/_rels/sheet3.xml.rels", relsStart+rel("a", "comments", "../comments1.xml")+rel("b", "drawing", "../drawings/d.xml")+relsEnd,
		"xl/comments1.xml", `<comments><commentList><comment ref="A1"><text><r><t>Look</t></r><r><t> here</t></r></text></comment></commentList></comments>`,
		"xl/drawings/d.xml", `<d xmlns:a="`+drawingNamespace+`">`+ap("In a box")+`</d>`,
		"xl/drawings/_rels/d.xml.rels", relsStart+rel("c", "chart", "c.xml")+relsEnd,
		"xl/drawings/c.xml", chartXML)
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
	if diff := cmp.Diff(want, outline(read(t, "a.xlsx", data))); diff != "" {
		t.Error(diff)
	}
}

func TestXLSX_RefusesWithAReason(t *testing.T) {
	row := xrow(1, "A1=a", "B1=b")
	wantReason(t, "a.xlsx", makeXLSX(t, []string{"S", ""}), Limits{}, Empty)
	wantReason(t, "a.xlsx", makeXLSX(t, []string{"S", "<row><c"}), Limits{}, Damaged)
	wantReason(t, "a.xlsx", makeXLSX(t, []string{"S", strings.Repeat(row, 100)}), Limits{TextBytes: 100}, TooLarge)
	wantReason(t, "a.xlsx", makeXLSX(t, []string{"S", row}, "xl/sharedStrings.xml", "<sst><si><t>long text</t></si></sst>"), Limits{TextBytes: 5}, TooLarge)
	// One long string in every cell of one row.
	cells := strings.Repeat(`<c t="s"><v>0</v></c>`, 10_000)
	shared := "<sst><si><t>" + strings.Repeat("long ", 1000) + "</t></si></sst>"
	wantReason(t, "a.xlsx", makeXLSX(t, []string{"S", "<row>" + cells + "</row>"}, "xl/sharedStrings.xml", shared), Limits{}, TooLarge)
}
