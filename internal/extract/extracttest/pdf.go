package extracttest

import (
	"bytes"
	"fmt"
	"strings"
)

// PDFPageOf makes a document of one page with attributes of its own, such as /Rotate 90. Its face L
// has the ligature fi at code 1.
func PDFPageOf(attributes, content string) string {
	return string(PDFObjects("",
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R "+attributes+
			" /Resources << /Font << /R 5 0 R /B 5 0 R /L 6 0 R >> >> >>",
		PDFStream(content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [1 /fi] >> >>"))
}

// PDFObjects assembles a PDF file of objects numbered from 1. The first is the catalog; trailer
// is added to the trailer dictionary.
func PDFObjects(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, start)
	return b.Bytes()
}

// PDFStream is a stream object with content.
func PDFStream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// MakePDF makes a document of pages with the given content streams, in which /R is a regular and
// /B a bold face.
func MakePDF(contents ...string) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
		"<< /Title (A made up report) >>",
	}
	var kids []string
	for _, c := range contents {
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /R 3 0 R /B 4 0 R >> >> >>", n+1),
			PDFStream(c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	return PDFObjects("/Info 5 0 R", objects...)
}

// Set places one line of text on a page: face R or B, size and place in points.
func Set(face string, size, x, y float64, text string) string {
	escaped := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
	return fmt.Sprintf("BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", face, size, x, y, escaped)
}

// SetLines places lines of body text 14 points apart, from y down.
func SetLines(x, y float64, lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(Set("R", 11, x, y-14*float64(i), line))
	}
	return b.String()
}
