package main

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	pdfColumns = 95 // characters in a line
	pdfLeading = 12 // points between lines
)

// makePDF makes an uncompressed PDF file in Helvetica, with a few passages on each page.
func makePDF(passages []string) ([]byte, error) {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.7\n")
	const first = 4 // object of the first page; each page's content follows it
	pages := (len(passages) + perPage - 1) / perPage
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", first+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), pages)
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i := range pages {
		content := pageContent(passages[i*perPage : min((i+1)*perPage, len(passages))])
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", first+2*i+1)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes(), nil
}

// pageContent sets passages as paragraphs. They must contain no parentheses or backslashes.
func pageContent(passages []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "BT /F1 10 Tf %d TL 50 790 Td\n", pdfLeading)
	for _, p := range passages {
		line := ""
		for _, word := range strings.Fields(p) {
			if len(line)+len(word) >= pdfColumns {
				fmt.Fprintf(&b, "(%s) Tj T*\n", line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		fmt.Fprintf(&b, "(%s) Tj T* T*\n", line)
	}
	b.WriteString("ET")
	return b.String()
}
