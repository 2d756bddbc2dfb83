package ooxml

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
	"parley/internal/extract/zipxml"
)

func TestDOCX_ReadsStructure(t *testing.T) {
	body := extracttest.Para(`<w:pStyle w:val="Titel"/>`, "Employee handbook") +
		extracttest.Para(`<w:pStyle w:val="berschrift2"/>`, "Time off") +
		`<w:p><w:r><w:t>You have </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>20</w:t></w:r><w:r><w:t xml:space="preserve"> days</w:t><w:softHyphen/></w:r>` +
		`<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t> off</w:t></w:r></w:ins>` +
		`<w:r><w:instrText>PAGE</w:instrText></w:r><w:hyperlink><w:r><w:t> as agreed</w:t></w:r></w:hyperlink><w:r><w:br/><w:t>or more.</w:t></w:r></w:p>` +
		extracttest.Para(`<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>`, "a bullet") +
		extracttest.Para(`<w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr>`, "one") +
		extracttest.Para(`<w:pStyle w:val="Nummern"/>`, "two") +
		extracttest.Para(`<w:outlineLvl w:val="2"/>`, "By outline level") +
		`<w:tbl><w:tr>` + extracttest.Cell("Plan") + extracttest.Cell("Person") + extracttest.Cell("Family") + `</w:tr>` +
		`<w:tr>` + extracttest.Cell("Plus") + extracttest.Cell("$500") + extracttest.Cell("$1,000") + `</w:tr>` +
		`<w:tr>` + extracttest.Cell("Standard") + `<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + extracttest.Para("", "$2,000") + `</w:tc></w:tr></w:tbl>` +
		`<w:p><w:r><w:t>Before and </w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + extracttest.Para("", "In a box") + `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` + extracttest.Para("", "In a box") + `</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>around the box</w:t></w:r></w:p>` +
		`<w:p><w:r><w:sym w:font="Symbol" w:char="F0B7"/><w:t xml:space="preserve"> by hand</w:t></w:r></w:p>`
	data := extracttest.MakeZIP(t,
		"word/document.xml", extracttest.DocxStart+body+extracttest.DocxEnd,
		"word/styles.xml", `<w:styles xmlns:w="w">
			<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
			<w:style w:styleId="berschrift2"><w:name w:val="Heading 2"/><w:basedOn w:val="berschrift1"/></w:style>
			<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
			<w:style w:styleId="Nummern"><w:name w:val="List Number"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
			</w:styles>`,
		"word/numbering.xml", `<w:numbering xmlns:w="w">
			<w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
			<w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>
			<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num></w:numbering>`,
		"word/footnotes.xml", `<w:footnotes xmlns:w="w"><w:footnote w:type="separator"><w:p/></w:footnote><w:footnote>`+extracttest.Para("", "A footnote.")+`</w:footnote></w:footnotes>`,
		"docProps/core.xml", `<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>The handbook</dc:title><dc:creator>Ada L.</dc:creator>`+
			`<cp:keywords>leave; pay,</cp:keywords><cp:lastModifiedBy>Bob</cp:lastModifiedBy><dcterms:created xmlns:dcterms="t">2026-03-01T10:00:00Z</dcterms:created></cp:coreProperties>`,
	)
	want := `H1 Employee handbook
H2 Time off
P You have 20 days off as agreed⏎or more.
L • a bullet
L 1. one
L 2. two
H3 By outline level
TH Plan | Person | Family
TR Plan: Plus; Person: $500; Family: $1,000
TR Plan: Standard; Person: $2,000
P In a box
P Before and around the box
L • by hand
P A footnote.
`
	doc := extracttest.Read(t, "a.docx", data)
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if got := string(doc.Meta.Attributes); doc.Title != "The handbook" || got != `{"author":"Ada L.","created":"2026-03-01T10:00:00Z","keywords":["leave","pay"]}` {
		t.Errorf("title %q, attributes %s", doc.Title, got)
	}
}

func TestDOCX_ReadsUpToTheDamage(t *testing.T) {
	doc := extracttest.Read(t, "a.docx", extracttest.MakeZIP(t, "word/document.xml", extracttest.DocxStart+extracttest.Para("", "Readable.")+"<w:p><w:r><w:t>cut"))
	if got := extracttest.Outline(doc); got != "P Readable.\n" || len(doc.Notes) != 1 {
		t.Errorf("got %q, notes %q", got, doc.Notes)
	}
	extracttest.WantReason(t, "a.docx", extracttest.MakeZIP(t, "word/document.xml", "<w:document><w:p>"), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.docx", extracttest.MakeZIP(t, "word/other.xml", "<a/>"), extract.Limits{}, extract.Damaged)
}

func TestDOCX_StopsBombs(t *testing.T) {
	bomb := extracttest.BombZIP(t, "word/document.xml", extracttest.DocxStart+"<w:p><w:r><w:t>", "a", 300<<20, "</w:t></w:r></w:p>"+extracttest.DocxEnd)
	extracttest.WantReason(t, "a.docx", bomb, extract.Limits{}, extract.TooLarge)

	var many []string
	for i := range zipxml.MaxEntries {
		many = append(many, fmt.Sprintf("word/%d", i), "")
	}
	extracttest.WantReason(t, "a.docx", extracttest.MakeZIP(t, append(many, "word/document.xml", extracttest.DocxStart+extracttest.DocxEnd)...), extract.Limits{}, extract.TooLarge)

	nested := strings.Repeat("<w:tbl><w:tr><w:tc>", 200_000)
	extracttest.WantReason(t, "a.docx", extracttest.MakeZIP(t, "word/document.xml", extracttest.DocxStart+nested), extract.Limits{}, extract.Damaged)

	entities := `<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><w:document xmlns:w="w"><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:document>`
	extracttest.WantReason(t, "a.docx", extracttest.MakeZIP(t, "word/document.xml", entities), extract.Limits{}, extract.Damaged)
}

// Word writes the numbers of sections, which text refers to, only as a rule.
func TestDOCX_NumbersSectionsAndItemsAsTheirLevelsSay(t *testing.T) {
	item := func(list, level, text string) string {
		return extracttest.Para(`<w:numPr><w:ilvl w:val="`+level+`"/><w:numId w:val="`+list+`"/></w:numPr>`, text)
	}
	heading := extracttest.Para(`<w:outlineLvl w:val="0"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>`, "Scope")
	data := extracttest.MakeZIP(t, "word/document.xml", extracttest.DocxStart+heading+item("1", "1", "two")+item("1", "2", "a")+item("1", "2", "b")+
		item("1", "1", "next")+item("2", "0", "other list of the same")+item("3", "0", "starts anew")+extracttest.DocxEnd,
		"word/numbering.xml", `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="5">
			<w:lvl w:ilvl="0"><w:start w:val="4"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
			<w:lvl w:ilvl="1"><w:numFmt w:val="upperRoman"/><w:isLgl/><w:lvlText w:val="%1.%2"/></w:lvl>
			<w:lvl w:ilvl="2"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>
			<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="5"/></w:num>
			<w:num w:numId="3"><w:abstractNumId w:val="5"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>`)
	const want = "H1 4. Scope\nL 4.1 two\nL (a) a\nL (b) b\nL 4.2 next\nL 5. other list of the same\nL 1. starts anew\n"
	if got := extracttest.Outline(extracttest.Read(t, "a.docx", data)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
