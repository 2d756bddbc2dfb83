package archive

import (
	"strings"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestIWork_IsReadByItsPreview(t *testing.T) {
	for name, c := range map[string]struct {
		parts []string
		want  string
	}{
		"report.pages":  {[]string{"index.xml", "<x/>", "QuickLook/Thumbnail.jpg", "j", "QuickLook/Preview.pdf", "%PDF-1.4"}, "preview.pdf"},
		"slides.key":    {[]string{"Index/Document.iwa", "i", "preview-micro.jpg", "m", "preview.jpg", "\xff\xd8\xff"}, "preview.jpg"},
		"without-a-dot": {[]string{"Index/Document.iwa", "i", "Data/photo.jpg", "p", "preview.jpg", "\xff\xd8\xff"}, "preview.jpg"},
	} {
		doc, _ := extracttest.ReadParts(t, name, extracttest.MakeZIP(t, c.parts...))
		if len(doc.Parts) != 1 || doc.Parts[0].Name != c.want || doc.Format != "iWork" {
			t.Errorf("%s: %s with %+v", name, doc.Format, doc.Parts)
		}
	}
	refused := extracttest.WantReason(t, "a.numbers", extracttest.MakeZIP(t, "index.xml", "<x/>", "QuickLook/Thumbnail.jpg", "small"), extract.Limits{}, extract.Unsupported)
	if !strings.Contains(refused.Detail, "no preview") {
		t.Errorf("refused with %q", refused.Detail)
	}
	extracttest.WantReason(t, "server.key", []byte("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n"), extract.Limits{}, extract.Unsupported)
}
