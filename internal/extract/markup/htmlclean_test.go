package markup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract/extracttest"
)

func TestHTML_KeepsHeadingsWhateverTheyAreCalled(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("The committee reviewed the sluices, which had been deferred. ", 8))
	page := `<html><head><title>Sluices</title></head><body><nav>Home</nav><article><h1>Sluices</h1><p>` + long + `</p>
<h2 id="contact" class="share comments">Contact</h2><p>` + long + `</p>
<h2 class="accordion-header"><button>Is it open?</button></h2><p>` + long + `</p></article></body></html>`
	want := "H1 Sluices\nP " + long + "\nH2 Contact\nP " + long + "\nH2 Is it open?\nP " + long + "\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.html", []byte(page)))); diff != "" {
		t.Error(diff)
	}
}

func TestHTML_LeavesOutWhatOnlyShowsTheWay(t *testing.T) {
	page := `<html><body><div id="toc" class="toc"><ul><li>History</li></ul></div><nav role="doc-toc"><a href="#h">History</a></nav>
<h2 id="h">History<span class="mw-editsection">[<a href="/e">edit</a>]</span><a href="#h">#</a></h2>
<p>It is old.<sup class="reference"><a href="#r1">[1]</a></sup><a href="#n" role="doc-noteref">2</a> See <a href="#x">below</a>.</p>
<div class="navbox">Rivers of Europe</div></body></html>`
	want := "H2 History\nP It is old. See below.\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.html", []byte(page)))); diff != "" {
		t.Error(diff)
	}
}

func TestHTML_KeepsCellsUnderTheirNames(t *testing.T) {
	page := `<html><body><table><thead><tr><td>Year</td><td>Name</td><td>City</td></tr></thead>
<tr><td rowspan="2">1990</td><td>Ann</td><td>Bonn</td></tr><tr><td>Bob</td><td>Ulm</td></tr><tr><td colspan="2">none</td><td rowspan="999999">Rom</td></tr></table>
<p>The area <math><mrow><msup><mi>a</mi><mn>2</mn></msup><mo>+</mo><mi>b</mi></mrow><annotation>a^2</annotation></math> is large.</p></body></html>`
	want := "TH Year | Name | City\nTR Year: 1990; Name: Ann; City: Bonn\nTR Year: 1990; Name: Bob; City: Ulm\nTR Year: none; City: Rom\nP The area $a^{2}+b$ is large.\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.html", []byte(page)))); diff != "" {
		t.Error(diff)
	}
}

func TestEPUB_LeavesTheTableOfContentsOut(t *testing.T) {
	book := strings.Replace(extracttest.EpubPackageXML, `<item id="one"`, `<item id="nav" properties="nav" href="nav.xhtml" media-type="application/xhtml+xml"/><item id="one"`, 1)
	book = strings.Replace(book, `<itemref idref="one"/>`, `<itemref idref="nav"/><itemref idref="one"/>`, 1)
	doc := extracttest.Read(t, "a.epub", extracttest.MakeZIP(t, "META-INF/container.xml", extracttest.EpubContainer, "OEBPS/book.opf", book,
		"OEBPS/nav.xhtml", `<html><body><nav><ol><li>One</li></ol></nav></body></html>`,
		"OEBPS/one.xhtml", `<html><body><h1>One</h1><p>Dark<a href="#n1" epub:type="noteref">1</a>.</p></body></html>`))
	if diff := cmp.Diff("H1 One\nP Dark.\n", extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
}

func TestHTML_ReadsTablesInsideEachOtherOnce(t *testing.T) {
	const deep = 60 // a doubling with each level would never end
	page := "<html><body>" + strings.Repeat("<table><tr><td>", deep) + "the one word" + strings.Repeat("</td></tr></table>", deep) + "</body></html>"
	if diff := cmp.Diff("P the one word\n", extracttest.Outline(extracttest.Read(t, "a.html", []byte(page)))); diff != "" {
		t.Error(diff)
	}
}
