package ooxml

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

// The files of testdata were made by other programs: parts by python-docx 1.2, formulas by pandoc 3.6 from Markdown.
func outlineOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return extracttest.Outline(extracttest.Read(t, name, data))
}

func TestDOCX_ReadsCommentsHeadersAndDescriptionsOfPictures(t *testing.T) {
	want := `P Valves are closed before the pump is started.
P Comment by Ann Lee: Is this still true for the new pumps?
P The plan:  Floor plan of the pump house with three exits
TH Pump | Power | Year
TR Pump: A1; Power: 40 kW; Year: 2019
P Comment by Bo: measured in May
P The end.
P Quality manual QM-17, confidential
`
	if diff := cmp.Diff(want, outlineOf(t, "parts.docx")); diff != "" {
		t.Error(diff)
	}
}

func TestDOCX_ReadsChartsDiagramsAndEmbeddedFiles(t *testing.T) {
	const wp = "http://schemas.openxmlformats.org/drawingml/2006/"
	body := `<w:p><w:r><w:t>Before.</w:t></w:r></w:p><w:p><w:r><w:drawing><c:chart xmlns:c="` + wp + `chart" xmlns:r="r" r:id="rId1"/></w:drawing></w:r></w:p>` +
		`<w:p><w:r><w:drawing><dgm:relIds xmlns:dgm="` + wp + `diagram" xmlns:r="r" r:dm="rId2"/></w:drawing></w:r></w:p>` + extracttest.Para("", "After.")
	data := extracttest.MakeZIP(t,
		"word/document.xml", extracttest.DocxStart+body+extracttest.DocxEnd,
		"word/_rels/document.xml.rels", `<Relationships xmlns="r">`+
			extracttest.Rel("rId1", "chart", "charts/chart1.xml")+extracttest.Rel("rId2", "diagramData", "diagrams/data1.xml")+
			extracttest.Rel("rId3", "package", "embeddings/Prices.csv")+extracttest.Rel("rId4", "package", "embeddings/Prices.csv")+`</Relationships>`,
		"word/charts/chart1.xml", `<c:chartSpace xmlns:c="`+wp+`chart"><c:ser><c:tx><c:v>Sales</c:v></c:tx><c:cat><c:pt idx="0"><c:v>Q1</c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>12.5</c:v></c:pt></c:val></c:ser></c:chartSpace>`,
		"word/diagrams/data1.xml", `<dgm:dataModel xmlns:dgm="d" xmlns:a="`+wp+`main"><a:p><a:r><a:t>Plan</a:t></a:r></a:p><a:p><a:r><a:t>Build</a:t></a:r></a:p></dgm:dataModel>`,
		"word/embeddings/Prices.csv", "a,b\n1,2\n")
	doc, parts := extracttest.ReadParts(t, "a.docx", data)
	want := "P Before.\nTH Category | Sales\nTR Category: Q1; Sales: 12.5\nL • Plan\nL • Build\nP After.\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if strings.Count(parts, "Prices.csv") != 1 {
		t.Errorf("the embedded files are %q", parts)
	}
}

func TestDOCX_ReadsDocumentsThatOnlyHaveHeadersOrInsertedFiles(t *testing.T) {
	data := extracttest.MakeZIP(t,
		"word/document.xml", extracttest.DocxStart+`<w:altChunk xmlns:r="r" r:id="rId3"/>`+extracttest.DocxEnd,
		"word/_rels/document.xml.rels", `<Relationships xmlns="r">`+extracttest.Rel("rId1", "header", "header1.xml")+
			extracttest.Rel("rId2", "package", "missing.xlsx")+extracttest.Rel("rId3", "aFChunk", "afchunk.html")+`</Relationships>`,
		"word/header1.xml", `<w:hdr xmlns:w="w">`+extracttest.Para("", "Harbour office, Pier 4")+`</w:hdr>`,
		"word/afchunk.html", "<p>Inserted text.</p>")
	doc, parts := extracttest.ReadParts(t, "a.docx", data)
	if got := extracttest.Outline(doc); got != "P Harbour office, Pier 4\n" {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(parts, "afchunk.html") || !strings.Contains(parts, "Inserted text.") {
		t.Errorf("the files inside are %q", parts)
	}
}

func TestOffice_ReadsFormulasAsLaTeX(t *testing.T) {
	want := `P The limit is $5\times 10^{-6}$ for each litre, and $\frac{a+b}{2}$ is the mean.
P $\bar{x}=\frac{1}{n}\sum_{i=1}^{n} {x_{i}}$
P The root is $\sqrt{a^{2}+b^{2}}$, the cube root $\sqrt[3]{x}$, the area $\int_{0}^{1} {f}(x) dx$, a vector $\vec{v}$, and $[\frac{1}{2},1]$.
P $A=(\begin{matrix}1 & 0 \\ 0 & 1\end{matrix}), \lim_{n\to \infty}a_{n}=(\binom{n}{k})$
TH Term | Value
TR Term: $λ_{0}$; Value: $10^{3}$
`
	if diff := cmp.Diff(want, outlineOf(t, "formulas.docx")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("page 1\n"+want, outlineOf(t, "formulas.pptx")); diff != "" {
		t.Error(diff)
	}
}

// FuzzFormula holds that a formula of any elements ends, in braces that close.
func FuzzFormula(f *testing.F) {
	f.Add(`<m:oMath><m:f><m:num><m:t>a</m:t></m:num><m:den><m:t>b</m:t></m:den></m:f></m:oMath>`)
	f.Add(`<oMath><nary><naryPr><chr val="∑"/></naryPr><sub><t>i</t></sub><sup/><e><m><mr><e><t>1</t></e></mr></m></e></nary></oMath>`)
	f.Fuzz(func(t *testing.T, source string) {
		d := xml.NewDecoder(strings.NewReader(source))
		token, err := d.Token()
		start, ok := token.(xml.StartElement)
		if err != nil || !ok {
			return
		}
		latex, err := readFormula(d, start)
		if err != nil || strings.ContainsAny(source, "{}") {
			return
		}
		if strings.Count(latex, "{") != strings.Count(latex, "}") {
			t.Errorf("%q is %q", source, latex)
		}
	})
}
