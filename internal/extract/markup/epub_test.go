package markup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestEPUB_ReadsChaptersInReadingOrder(t *testing.T) {
	doc := extracttest.Read(t, "a.epub", extracttest.MakeZIP(t,
		"mimetype", "application/epub+zip", "META-INF/container.xml", extracttest.EpubContainer, "OEBPS/book.opf", extracttest.EpubPackageXML,
		"OEBPS/text/two b.xhtml", `<html><body><h1>Two</h1><p>Last&nbsp;words.</p></body></html>`,
		"OEBPS/one.xhtml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>One</h1><p>It was<br/>dark.</p><p hidden="">No</p></body></html>`))
	want := "H1 One\nP It was⏎dark.\nH1 Two\nP Last words.\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	if got := string(doc.Meta.Attributes); got != `{"author":"Ada","keywords":["sea","ships"],"language":"en"}` {
		t.Errorf("attributes %s", got)
	}
	if doc.Title != "The Book" || len(doc.Notes) != 1 {
		t.Errorf("title %q, notes %q", doc.Title, doc.Notes)
	}
}

func TestEPUB_RefusesWithAReason(t *testing.T) {
	chapter := []string{"META-INF/container.xml", extracttest.EpubContainer, "OEBPS/book.opf", extracttest.EpubPackageXML, "OEBPS/one.xhtml", "<p>x"}
	locked := `<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/one.xhtml"/></CipherData></EncryptedData></encryption>`
	extracttest.WantReason(t, "a.epub", extracttest.MakeZIP(t, append(chapter, "META-INF/encryption.xml", locked)...), extract.Limits{}, extract.Encrypted)
	fonts := `<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/font.otf"/></CipherData></EncryptedData></encryption>`
	extracttest.Read(t, "a.epub", extracttest.MakeZIP(t, append(chapter, "META-INF/encryption.xml", fonts)...))
	extracttest.WantReason(t, "a.epub", extracttest.MakeZIP(t, "META-INF/container.xml", extracttest.EpubContainer), extract.Limits{}, extract.Damaged)
	extracttest.WantReason(t, "a.epub", extracttest.MakeZIP(t, "META-INF/container.xml", extracttest.EpubContainer, "OEBPS/book.opf", extracttest.EpubPackageXML), extract.Limits{}, extract.Damaged)
}
