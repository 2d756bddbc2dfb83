package ooxml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestPPTX_ReadsSlidesInTheirOrder(t *testing.T) {
	table := `<p:graphicFrame><a:graphic><a:graphicData><a:tbl>` +
		`<a:tr><a:tc><a:txBody>` + extracttest.Ap("Plan") + `</a:txBody></a:tc><a:tc><a:txBody>` + extracttest.Ap("Price") + `</a:txBody></a:tc></a:tr>` +
		`<a:tr><a:tc><a:txBody>` + extracttest.Ap("Plus") + `</a:txBody></a:tc><a:tc><a:txBody>` + extracttest.Ap("$5") + extracttest.Ap("a month") + `</a:txBody></a:tc></a:tr>` +
		`</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
	first := extracttest.Slide(
		extracttest.Sp("body", extracttest.Ap("One"), extracttest.Ap("Two"), extracttest.ApWith(`<a:buAutoNum type="arabicPeriod"/>`, "Counted"), extracttest.ApWith(`<a:buNone/>`, "Plain")),
		`<p:grpSp>`+extracttest.Sp("-", extracttest.Ap("In a group"))+`</p:grpSp>`,
		`<mc:AlternateContent><mc:Choice>`+extracttest.Sp("-", extracttest.Ap("Boxed"))+`</mc:Choice><mc:Fallback>`+extracttest.Sp("-", extracttest.Ap("Boxed"))+`</mc:Fallback></mc:AlternateContent>`,
		extracttest.Sp("title", extracttest.Ap("Benefits"), extracttest.Ap("of 2024")), extracttest.Sp("sldNum", extracttest.Ap("7")), table)
	data := extracttest.MakePPTX(t, []string{first, extracttest.Slide(), extracttest.Slide(extracttest.Sp("-", extracttest.Ap("The end")))},
		"ppt/slides/_rels/slide3.xml.rels", extracttest.RelsStart+extracttest.Rel("a", "notesSlide", "../notesSlides/n.xml")+extracttest.Rel("b", "chart", "../charts/c.xml")+
			extracttest.Rel("c", "diagramData", "../diagrams/d.xml")+extracttest.Rel("c2", "diagramData", "../diagrams/d.xml")+extracttest.Rel("d", "comments", "../comments/k.xml")+extracttest.RelsEnd,
		"ppt/notesSlides/n.xml", extracttest.Slide(extracttest.Sp("sldImg", extracttest.Ap("picture")), extracttest.Sp("body", extracttest.Ap("Say hello"))),
		"ppt/charts/c.xml", extracttest.ChartXML,
		"ppt/diagrams/d.xml", `<d xmlns:a="`+drawingNamespace+`">`+extracttest.Ap("Step one")+extracttest.Ap(" ")+`</d>`,
		"ppt/comments/k.xml", `<p:cmLst xmlns:p="p"><p:cm><p:text>Too long</p:text></p:cm></p:cmLst>`,
		"docProps/core.xml", `<c xmlns:dc="dc"><dc:title>PowerPoint Presentation</dc:title></c>`)
	doc := extracttest.Read(t, "a.pptx", data)
	want := `page 1
H1 Benefits of 2024
L • One
L • Two
L 1. Counted
P Plain
P In a group
P Boxed
TH Plan | Price
TR Plan: Plus; Price: $5 a month
P Chart: Sales
TH Category | North
TR Category: Q1; North: 4.3
TR Category: Q2; North: 2.5
L • Step one
H2 Notes
P Say hello
P Comment: Too long
page 3
P The end
`
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Benefits of 2024" || doc.Format != "PowerPoint" {
		t.Errorf("title %q, format %q", doc.Title, doc.Format)
	}
}

func TestPPTX_ReadsASlideUpToItsDamage(t *testing.T) {
	whole := extracttest.Slide(extracttest.Sp("-", extracttest.Ap("Before")), extracttest.Sp("-", extracttest.Ap("After")))
	data := extracttest.MakePPTX(t, []string{whole[:strings.Index(whole, "After")], extracttest.Slide(extracttest.Sp("-", extracttest.Ap("Whole")))})
	doc := extracttest.Read(t, "a.pptx", data)
	if got := extracttest.Outline(doc); got != "page 1\nP Before\npage 2\nP Whole\n" || len(doc.Notes) != 1 {
		t.Errorf("got %q, notes %q", got, doc.Notes)
	}
	extracttest.WantReason(t, "a.pptx", extracttest.MakePPTX(t, nil), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.pptx", extracttest.MakeZIP(t, "ppt/other.xml", "<x/>"), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.pptx", extracttest.MakePPTX(t, []string{"<broken"}), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.pptx", extracttest.MakePPTX(t, []string{extracttest.Slide()}), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.pptx", extracttest.MakePPTX(t, []string{extracttest.Slide(), extracttest.Slide()}), extract.Limits{Pages: 1}, extract.TooLarge)
	extracttest.WantReason(t, "a.pptx", extracttest.MakePPTX(t, []string{whole}), extract.Limits{TextBytes: 8}, extract.TooLarge)
}

func TestPPTX_ReadsWhatALayoutSaysWhereASlideSaysNothing(t *testing.T) {
	const layout, master = "../slideLayouts/l.xml", "../slideMasters/m.xml"
	slide := func(of string) string {
		return extracttest.RelsStart + extracttest.Rel("a", "slideLayout", of) + extracttest.RelsEnd
	}
	data := extracttest.MakePPTX(t, []string{extracttest.Slide(), extracttest.Slide(), extracttest.Slide(extracttest.Sp("-", extracttest.Ap("Own"))), extracttest.Slide()},
		"ppt/slides/_rels/slide1.xml.rels", slide(layout), "ppt/slides/_rels/slide2.xml.rels", slide(layout), "ppt/slides/_rels/slide3.xml.rels", slide(layout),
		"ppt/slides/_rels/slide4.xml.rels", slide("../slideLayouts/empty.xml"),
		"ppt/slideLayouts/l.xml", extracttest.Slide(extracttest.Sp("title", extracttest.Ap("Click to edit")), extracttest.Sp("-", extracttest.Ap("Thank you!"))),
		"ppt/slideLayouts/empty.xml", extracttest.Slide(extracttest.Sp("body", extracttest.Ap("Click to edit"))),
		"ppt/slideLayouts/_rels/empty.xml.rels", extracttest.RelsStart+extracttest.Rel("a", "slideMaster", master)+extracttest.RelsEnd,
		"ppt/slideMasters/m.xml", extracttest.Slide(extracttest.Sp("-", extracttest.Ap("Northwind"))))
	if got, want := extracttest.Outline(extracttest.Read(t, "a.pptx", data)), "page 1\nP Northwind\npage 2\nP Thank you!\npage 3\nP Own\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
