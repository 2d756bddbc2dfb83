package extract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	epubContainer  = `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`
	epubPackageXML = `<package><metadata xmlns:dc="dc"><dc:title>The  Book</dc:title><dc:title>Subtitle</dc:title></metadata>
<manifest><item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/><item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/><item id="pic" href="p.png" media-type="image/png"/></manifest>
<spine><itemref idref="one"/><itemref idref="pic"/><itemref idref="two"/><itemref idref="gone"/></spine></package>`
)

func TestEPUB_ReadsChaptersInReadingOrder(t *testing.T) {
	doc := read(t, "a.epub", makeZIP(t,
		"mimetype", "application/epub+zip", "META-INF/container.xml", epubContainer, "OEBPS/book.opf", epubPackageXML,
		"OEBPS/text/two b.xhtml", `<html><body><h1>Two</h1><p>Last&nbsp;words.</p></body></html>`,
		"OEBPS/one.xhtml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>One</h1><p>It was<br/>dark.</p><p hidden="">No</p></body></html>`))
	want := "H1 One\nP It was⏎dark.\nH1 Two\nP Last words.\n"
	if diff := cmp.Diff(want, outline(doc)); diff != "" {
		t.Error(diff)
	}
	if doc.Title != "The Book" || len(doc.Notes) != 1 {
		t.Errorf("title %q, notes %q", doc.Title, doc.Notes)
	}
}

func TestEPUB_RefusesWithAReason(t *testing.T) {
	chapter := []string{"META-INF/container.xml", epubContainer, "OEBPS/book.opf", epubPackageXML, "OEBPS/one.xhtml", "<p>x"}
	locked := `<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/one.xhtml"/></CipherData></EncryptedData></encryption>`
	wantReason(t, "a.epub", makeZIP(t, append(chapter, "META-INF/encryption.xml", locked)...), Limits{}, Encrypted)
	fonts := `<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/font.otf"/></CipherData></EncryptedData></encryption>`
	read(t, "a.epub", makeZIP(t, append(chapter, "META-INF/encryption.xml", fonts)...))
	wantReason(t, "a.epub", makeZIP(t, "META-INF/container.xml", epubContainer), Limits{}, Damaged)
	wantReason(t, "a.epub", makeZIP(t, "META-INF/container.xml", epubContainer, "OEBPS/book.opf", epubPackageXML), Limits{}, Damaged)
}
