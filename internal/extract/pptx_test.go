package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	relsStart = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	relsEnd   = `</Relationships>`
	officeNS  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// rel is one relation of a part.
func rel(id, kind, target string) string {
	return fmt.Sprintf(`<Relationship Id="%s" Type="%s/%s" Target="%s"/>`, id, officeNS, kind, target)
}

// slide is a slide of shapes.
func slide(shapes ...string) string {
	return `<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="` + drawingNamespace +
		`" xmlns:mc="mc"><p:cSld><p:spTree>` + strings.Join(shapes, "") + `</p:spTree></p:cSld></p:sld>`
}

// sp is a shape that fills a placeholder, or none for "-".
func sp(role string, paragraphs ...string) string {
	ph := ""
	if role != "-" {
		ph = `<p:ph type="` + role + `"/>`
	}
	return `<p:sp><p:nvSpPr><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr><p:txBody><a:bodyPr/>` + strings.Join(paragraphs, "") + `</p:txBody></p:sp>`
}

func ap(text string) string { return `<a:p><a:r><a:t>` + text + `</a:t></a:r></a:p>` }

func apWith(properties, text string) string {
	return `<a:p><a:pPr>` + properties + `</a:pPr><a:r><a:t>` + text + `</a:t></a:r></a:p>`
}

// makePPTX makes a presentation of slides, in this order although their parts have other numbers.
func makePPTX(t testing.TB, slides []string, parts ...string) []byte {
	t.Helper()
	list, rels := "", relsStart
	for i, s := range slides {
		n := len(slides) - i
		list += fmt.Sprintf(`<p:sldId id="%d" r:id="r%d"/>`, 256+i, i)
		rels += rel(fmt.Sprintf("r%d", i), "slide", fmt.Sprintf("slides/slide%d.xml", n))
		parts = append(parts, fmt.Sprintf("ppt/slides/slide%d.xml", n), s)
	}
	return makeZIP(t, append(parts,
		"ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="`+officeNS+`"><p:sldIdLst>`+list+`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", rels+relsEnd)...)
}

const chartXML = `<c:chartSpace xmlns:c="c" xmlns:a="` + drawingNamespace + `"><c:chart>
<c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>
<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx>
<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat>
<c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>4.2999999999999998</c:v></c:pt><c:pt idx="1"><c:v>2.5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>
</c:barChart></c:plotArea></c:chart></c:chartSpace>`

func TestPPTX_ReadsSlidesInTheirOrder(t *testing.T) {
	table := `<p:graphicFrame><a:graphic><a:graphicData><a:tbl>` +
		`<a:tr><a:tc><a:txBody>` + ap("Plan") + `</a:txBody></a:tc><a:tc><a:txBody>` + ap("Price") + `</a:txBody></a:tc></a:tr>` +
		`<a:tr><a:tc><a:txBody>` + ap("Plus") + `</a:txBody></a:tc><a:tc><a:txBody>` + ap("$5") + ap("a month") + `</a:txBody></a:tc></a:tr>` +
		`</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
	first := slide(
		sp("body", ap("One"), ap("Two"), apWith(`<a:buAutoNum type="arabicPeriod"/>`, "Counted"), apWith(`<a:buNone/>`, "Plain")),
		`<p:grpSp>`+sp("-", ap("In a group"))+`</p:grpSp>`,
		`<mc:AlternateContent><mc:Choice>`+sp("-", ap("Boxed"))+`</mc:Choice><mc:Fallback>`+sp("-", ap("Boxed"))+`</mc:Fallback></mc:AlternateContent>`,
		sp("title", ap("Benefits"), ap("of 2024")), sp("sldNum", ap("7")), table)
	data := makePPTX(t, []string{first, slide(), slide(sp("-", ap("The end")))},
		"ppt/slides/_rels/slide3.xml.rels", relsStart+rel("a", "notesSlide", "../notesSlides/n.xml")+rel("b", "chart", "../charts/c.xml")+
			rel("c", "diagramData", "../diagrams/d.xml")+rel("c2", "diagramData", "../diagrams/d.xml")+rel("d", "comments", "../comments/k.xml")+relsEnd,
		"ppt/notesSlides/n.xml", slide(sp("sldImg", ap("picture")), sp("body", ap("Say hello"))),
		"ppt/charts/c.xml", chartXML,
		"ppt/diagrams/d.xml", `<d xmlns:a="`+drawingNamespace+`">`+ap("Step one")+ap(" ")+`</d>`,
		"ppt/comments/k.xml", `<p:cmLst xmlns:p="p"><p:cm><p:text>Too long</p:text></p:cm></p:cmLst>`,
		"docProps/core.xml", `<c xmlns:dc="dc"><dc:title>PowerPoint Presentation</dc:title></c>`)
	doc := read(t, "a.pptx", data)
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
	if diff := cmp.Diff(want, outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "Benefits of 2024" || doc.Format != "PowerPoint" {
		t.Errorf("title %q, format %q", doc.Title, doc.Format)
	}
}

func TestPPTX_ReadsASlideUpToItsDamage(t *testing.T) {
	whole := slide(sp("-", ap("Before")), sp("-", ap("After")))
	data := makePPTX(t, []string{whole[:strings.Index(whole, "After")], slide(sp("-", ap("Whole")))})
	doc := read(t, "a.pptx", data)
	if got := outline(doc); got != "page 1\nP Before\npage 2\nP Whole\n" || len(doc.Notes) != 1 {
		t.Errorf("got %q, notes %q", got, doc.Notes)
	}
	wantReason(t, "a.pptx", makePPTX(t, []string{"<broken"}), Limits{}, Damaged)
	wantReason(t, "a.pptx", makePPTX(t, []string{slide()}), Limits{}, Empty)
	wantReason(t, "a.pptx", makePPTX(t, []string{slide(), slide()}), Limits{Pages: 1}, TooLarge)
	wantReason(t, "a.pptx", makePPTX(t, []string{whole}), Limits{TextBytes: 8}, TooLarge)
}
