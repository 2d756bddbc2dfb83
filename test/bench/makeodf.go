package main

import (
	"fmt"
	"html"
	"strings"
)

// odfSpaces declares the OpenDocument namespaces that the files need.
func odfSpaces() string {
	var b strings.Builder
	for _, name := range []string{"office", "text", "table", "presentation"} {
		fmt.Fprintf(&b, ` xmlns:%s="urn:oasis:names:tc:opendocument:xmlns:%[1]s:1.0"`, name)
	}
	return b.String() + ` xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"`
}

// makeODF makes an OpenDocument file of a kind: text, spreadsheet or presentation.
func makeODF(kind, body string) ([]byte, error) {
	return makeZip(
		entry{"mimetype", "application/vnd.oasis.opendocument." + kind},
		entry{"META-INF/manifest.xml", xmlHead + `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>`},
		entry{"content.xml", xmlHead + `<office:document-content` + odfSpaces() + `><office:body><office:` + kind + `>` + body +
			`</office:` + kind + `></office:body></office:document-content>`})
}

func odfParagraphs(passages []string) string {
	var b strings.Builder
	for _, p := range passages {
		fmt.Fprintf(&b, "<text:p>%s</text:p>\n", html.EscapeString(p))
	}
	return b.String()
}

func makeODT(passages []string) ([]byte, error) { return makeODF("text", odfParagraphs(passages)) }

func makeFODT(passages []string) ([]byte, error) {
	return []byte(xmlHead + `<office:document office:mimetype="application/vnd.oasis.opendocument.text"` + odfSpaces() +
		`><office:body><office:text>` + odfParagraphs(passages) + `</office:text></office:body></office:document>`), nil
}

func makeODS(passages []string) ([]byte, error) {
	var b strings.Builder
	row := func(number, text string) {
		fmt.Fprintf(&b, "<table:table-row><table:table-cell><text:p>%s</text:p></table:table-cell>"+
			"<table:table-cell><text:p>%s</text:p></table:table-cell></table:table-row>\n", number, text)
	}
	row("number", "text")
	for i, p := range passages {
		row(fmt.Sprint(i), html.EscapeString(p))
	}
	return makeODF("spreadsheet", `<table:table table:name="Report">`+b.String()+`</table:table>`)
}

func makeODP(passages []string) ([]byte, error) {
	var b strings.Builder
	for i := 0; i < len(passages); i += perPage {
		fmt.Fprintf(&b, "<draw:page><draw:frame><draw:text-box>%s</draw:text-box></draw:frame></draw:page>\n",
			odfParagraphs(passages[i:min(i+perPage, len(passages))]))
	}
	return makeODF("presentation", b.String())
}
