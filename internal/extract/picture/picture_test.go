package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"parley/internal/extract"
)

// pngChunk writes one chunk (W3C PNG, section 5.3).
func pngChunk(kind, body string) string {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, uint32(len(body)))
	b.WriteString(kind + body)
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE([]byte(kind+body)))
	return b.String()
}

const pngHead = "\x89PNG\r\n\x1a\n"

func TestReadImage_ReadsItsNameAndWhatItSaysOfItself(t *testing.T) {
	for name, c := range map[string]struct{ file, content, title, text string }{
		"png": {"Office_floor-plan.png", pngHead + pngChunk("tEXt", "Description\x00Second floor, caf\xe9") + pngChunk("tEXt", "Software\x00GIMP") +
			pngChunk("iTXt", "Title\x00\x00\x00en\x00\x00Étage 2") + pngChunk("iTXt", "Title\x00\x01\x00en\x00\x00packed"), "Office floor plan", "Office floor plan\n\nSecond floor, café\n\nÉtage 2"},
		"jpeg":          {"a.jpeg", "\xff\xd8\xff\xfe\x00\x0fA map of Bonn\xff\xda\x00\x02\xff\xfe\x00\x05no", "a", "a\n\nA map of Bonn"},
		"gif":           {"team photo.gif", "GIF89a", "team photo", "team photo"},
		"webp":          {"logo.webp", "RIFF\x00\x00\x00\x00WEBPVP8 ", "logo", "logo"},
		"another name":  {"picture.txt", pngHead, "picture", "picture"},
		"cut in a text": {"x.png", pngHead + "\x00\x00\xff\xfftEXtDescription\x00never", "x", "x"},
		"cut in a size": {"x.jpg", "\xff\xd8\xff\xfe\xff", "x", "x"},
	} {
		doc, err := extract.ReadFile(t.Context(), c.file, strings.NewReader(c.content), int64(len(c.content)), extract.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc.Title != c.title || len(doc.Pages) != 1 || doc.Pages[0].Number != 0 || doc.Pages[0].Text != c.text {
			t.Errorf("%s: %q %+v", name, doc.Title, doc.Pages)
		}
	}
	_, err := extract.ReadFile(t.Context(), "a.png", strings.NewReader("BM\x00\x00"), 4, extract.Limits{})
	if e, ok := errors.AsType[*extract.Error](err); !ok || e.Reason != extract.Unsupported {
		t.Error(err)
	}
}
