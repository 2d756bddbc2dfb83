package extracttest

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"testing"
)

// ScannedPDF makes a document that shows pictures of 300 dots an inch, one on each page, and has no text.
func ScannedPDF(t testing.TB, pictures ...*image.Gray) []byte {
	t.Helper()
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", ""}
	kids := ""
	for _, p := range pictures {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, p, &jpeg.Options{Quality: 85}); err != nil {
			t.Fatal(err)
		}
		n, w, h := len(objects)+1, float64(p.Rect.Dx())*.24, float64(p.Rect.Dy())*.24
		kids += fmt.Sprintf("%d 0 R ", n)
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R /Resources << /XObject << /I %d 0 R >> >> >>", w, h, n+1, n+2),
			PDFStream(fmt.Sprintf("%.2f 0 0 %.2f 0 0 cm /I Do", w, h)),
			fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode /Length %d >>\nstream\n%s\nendstream",
				p.Rect.Dx(), p.Rect.Dy(), b.Len(), b.String()))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(pictures))
	return PDFObjects("", objects...)
}
