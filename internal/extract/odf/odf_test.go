package odf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestODF_ReadsATextWithItsStructure(t *testing.T) {
	body := `<text:tracked-changes><text:changed-region><text:p>Deleted</text:p></text:changed-region></text:tracked-changes>
<text:h text:outline-level="1">Time  off</text:h>
<text:p>You have<text:s text:c="3"/>20 <text:span>days</text:span><text:line-break/>a year<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Pro rata.</text:p></text:note-body></text:note>.<draw:frame><svg:title>clock</svg:title><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame></text:p>
<text:list text:style-name="N"><text:list-item><text:p>open it</text:p><text:list><text:list-item><text:p>slowly</text:p></text:list-item></text:list></text:list-item></text:list>
<text:p>Wait.</text:p><text:list text:style-name="N" text:continue-numbering="true"><text:list-item><text:p>shut it</text:p></text:list-item></text:list>
<text:list><text:list-item><text:p>one</text:p><text:p>more of one</text:p><text:list><text:list-item><text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list>
<text:p>Look<office:annotation><dc:creator>Ann</dc:creator><text:p>Why?</text:p></office:annotation></text:p>
<table:table table:name="Table1"><table:table-header-rows>` + extracttest.OdfRow("Plan", "Price") + `</table:table-header-rows>` + extracttest.OdfRow("Plus", "$5") + `</table:table>
<table:table>` + extracttest.OdfRow("Name", "Ann") + extracttest.OdfRow("City", "Bonn") + `</table:table>`
	doc := extracttest.Read(t, "a.odt", extracttest.MakeODF(t, "text", body, "meta.xml", `<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Handbook</dc:title><dc:title>Second</dc:title>`+
		`<meta:initial-creator xmlns:meta="m">Ada</meta:initial-creator><meta:keyword xmlns:meta="m">leave</meta:keyword><meta:keyword xmlns:meta="m">pay</meta:keyword><dc:date>2026-03-01T10:00:00</dc:date></m>`,
		"styles.xml", `<s xmlns:text="t" xmlns:style="s"><text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1"/><text:list-level-style-bullet text:level="2"/></text:list-style></s>`))
	want := `H1 Time off
P In a box
P You have 20 days⏎a year.
L 1. open it
L • slowly
P Wait.
L 2. shut it
L • one
L more of one
L • inner
P Comment: Why?
P Look
TH Plan | Price
TR Plan: Plus; Price: $5
TR Name | Ann
TR City | Bonn
P Pro rata.
`
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if got := string(doc.Meta.Attributes); got != `{"author":"Ada","keywords":["leave","pay"],"modified":"2026-03-01T10:00:00"}` {
		t.Errorf("attributes %s", got)
	}
	if doc.Title != "Handbook" || doc.Format != "OpenDocument text" {
		t.Errorf("title %q, format %q", doc.Title, doc.Format)
	}
}

func TestODF_ReadsSheetsAndSlides(t *testing.T) {
	sheet := `<table:table table:name="Staff">` + extracttest.OdfRow("Name", "Room") +
		`<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row>` +
		`<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>` + `</table:table><table:table table:name="None"/>`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.ods", extracttest.MakeODF(t, "spreadsheet", sheet))), "H1 Staff\nTH Name | Room\nTR Name: x; Room: x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	slides := `<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Benefits</text:p></draw:text-box></draw:frame>
<draw:frame><draw:text-box><text:list><text:list-item><text:p>One</text:p></text:list-item></text:list></draw:text-box></draw:frame>
<presentation:notes><draw:frame><draw:text-box><text:p>Say hello</text:p></draw:text-box></draw:frame></presentation:notes></draw:page><draw:page/>`
	if got, want := extracttest.Outline(extracttest.Read(t, "a.odp", extracttest.MakeODF(t, "presentation", slides))), "page 1\nH1 Benefits\nL • One\nP Say hello\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	flat := `<?xml version="1.0"?>` + extracttest.OdfStart + `<office:text><text:p>Flat</text:p></office:text>` + extracttest.OdfEnd
	if got, want := extracttest.Outline(extracttest.Read(t, "a.fodt", []byte(flat))), "P Flat\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A document whose media type is lost is still one, not a folder of its parts.
func TestODF_IsReadByItsExtensionWithoutAMediaType(t *testing.T) {
	content := `<?xml version="1.0"?>` + extracttest.OdfStart + `<office:text><text:p>Still here</text:p></office:text>` + extracttest.OdfEnd
	if got, want := extracttest.Outline(extracttest.Read(t, "a.odt", extracttest.MakeZIP(t, "mimetype", "?", "content.xml", content))), "P Still here\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestODF_RefusesWithAReason(t *testing.T) {
	extracttest.WantReason(t, "a.odt", extracttest.MakeODF(t, "text", ""), extract.Limits{}, extract.Empty)
	extracttest.WantReason(t, "a.odt", extracttest.MakeZIP(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "<a/>"), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.odt", extracttest.MakeODF(t, "text", "<text:p>", "META-INF/manifest.xml", "<m><file-entry><encryption-data/></file-entry></m>"), extract.Limits{}, extract.Encrypted)
	extracttest.WantReason(t, "a.odt", extracttest.MakeODF(t, "text", strings.Repeat("<text:list>", 1000)), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.odp", extracttest.MakeODF(t, "presentation", "<draw:page/><draw:page/>"), extract.Limits{Pages: 1}, extract.TooLarge)
	extracttest.WantReason(t, "a.odt", extracttest.MakeODF(t, "text", "<text:p>"+strings.Repeat("text ", 100)), extract.Limits{TextBytes: 50}, extract.TooLarge)
	// A word in every cell of a million rows.
	cell := `<table:table-cell table:number-columns-repeated="16384"><text:p>word</text:p></table:table-cell>`
	bomb := `<table:table><table:table-row table:number-rows-repeated="1048576">` + cell + `</table:table-row></table:table>`
	extracttest.WantReason(t, "a.ods", extracttest.MakeODF(t, "spreadsheet", bomb), extract.Limits{TextBytes: 1 << 20}, extract.TooLarge)
	doc := extracttest.Read(t, "a.odt", extracttest.MakeODF(t, "text", "<text:p>Before</text:p><text:p>After</wrong>"))
	if got := extracttest.Outline(doc); got != "P Before\n" || len(doc.Notes) != 1 {
		t.Errorf("got %q, notes %q", got, doc.Notes)
	}
}

func TestODF_ReadsWhatLibreOfficeKeepsBesideTheText(t *testing.T) {
	for name, want := range map[string]string{
		"chart.odp": `page 1
H1 Sales
P Chart: Sales by region
TH Category | Q1 | Q2
TR Category: East; Q1: 19.2; Q2: 20
TR Category: West; Q1: 21.4; Q2: 22
P Speaker says hi
`,
		"comment.ods": `H1 Data
TH Region | Sales | Date | Share
TR Region: East (Comment: check this); Sales: 1,200.50 €; Date: 2024-03-01; Share: 25.0%
TR Region: West; Sales: 800.00 €; Date: 2024-04-01; Share: 75.0%
`,
		"signs.odt": `H1 Signs and lists
P The angle is 90°, the spread σ is ≤ 5, done ✓
P In the font: ab (brackets stay).
L 1. first
L 2. second
P between
L 3. third
L • a bullet
`,
	} {
		if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, name, extracttest.LibreOffice(t, name)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestODF_ReadsHeadersAndFootersOfTexts(t *testing.T) {
	styles := extracttest.OdfStart + `<office:master-styles xmlns:style="s"><style:master-page><style:header><text:p>Harbour <text:span>office</text:span>,<text:s/>Pier 4</text:p></style:header>` +
		`<style:header-left><text:p>Harbour office, Pier 4</text:p></style:header-left><style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>` +
		`<style:footer-first><text:p>Tax number</text:p><text:p>47/11</text:p></style:footer-first><style:header-style>no text</style:header-style></style:master-page></office:master-styles>` + extracttest.OdfEnd
	const margins = "P Harbour office, Pier 4\nP Tax number 47/11\n"
	for body, want := range map[string]string{"<text:p>Text.</text:p>": "P Text.\n" + margins, "": margins} {
		if got := extracttest.Outline(extracttest.Read(t, "a.odt", extracttest.MakeODF(t, "text", body, "styles.xml", styles))); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
