package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wordFile returns a Word document of paragraphs; one that begins with # is a heading.
func wordFile(t *testing.T, paragraphs ...string) []byte {
	t.Helper()
	var body strings.Builder
	for _, p := range paragraphs {
		text := strings.TrimLeft(p, "# ")
		style := ""
		if level := strings.Count(p, "#"); level > 0 {
			style = fmt.Sprintf(`<w:pPr><w:outlineLvl w:val="%d"/></w:pPr>`, level-1)
		}
		fmt.Fprintf(&body, `<w:p>%s<w:r><w:t>%s</w:t></w:r></w:p>`, style, text)
	}
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
		"word/document.xml":   `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` + body.String() + `</w:body></w:document>`,
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// Headings of short sections, which are together in one chunk, are headings on the page too.
func TestPages_HaveTheHeadingsOfHTMLAndWord(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	for name, data := range map[string][]byte{
		"a.html": []byte("<title>A</title><h1>Harbour</h1><p>It is old.</p><h2>Dues &amp; fees</h2><p>They are low.</p><h3>Boats</h3><p>Many.</p>"),
		"b.docx": wordFile(t, "# Harbour", "It is old.", "## Dues", "They are low.", "### Boats", "Many."),
	} {
		if err := os.WriteFile(filepath.Join(docs, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := serveIngested(t, nil, docs)
	read := func(path string, into any) {
		t.Helper()
		r, err := http.Get("http://" + p.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	var list struct{ Documents []struct{ ID, Name string } }
	read("/api/documents", &list)
	want := map[string]string{"a.html": "1 Harbour, 2 Dues & fees, 3 Boats", "b.docx": "1 Harbour, 2 Dues, 3 Boats"}
	for _, d := range list.Documents {
		var page struct {
			Text   string
			Blocks []struct {
				Kind              string
				Level, Start, End int
			}
		}
		var got []string
		for range 60 { // a page does not wait long for them
			read("/api/documents/"+d.ID+"/pages/0", &page)
			got = nil
			for _, b := range page.Blocks {
				if b.Kind == "heading" {
					got = append(got, fmt.Sprint(b.Level, " ", page.Text[b.Start:b.End]))
				}
			}
			if len(got) > 1 {
				break
			}
		}
		if all := strings.Join(got, ", "); all != want[d.Name] {
			t.Errorf("%s has the headings %q, want %q", d.Name, all, want[d.Name])
		}
	}
	if len(list.Documents) != len(want) {
		t.Errorf("%d documents", len(list.Documents))
	}
}
