// Package picture reads the descriptions that images contain, and draws images for the recognition of their text.
package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"path"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var _ = extract.Register("image", extract.Reader{
	Read: readImage, Draw: drawImage, Render: renderImage, Measure: measureImage,
	Looks: func(f *extract.File) bool { return isWebP(f.Head) },
})

// readImage reads the text that an image has as data: the name of its file, and the descriptions in a PNG's text chunks
// (W3C PNG, 11.3.3) or a JPEG's comments (ITU-T T.81, B.2.4.5). It marks the pages of the image as unread.
func readImage(_ context.Context, f *extract.File) (*extract.Document, error) {
	data, err := f.All(f.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	var said []string
	pages := 1
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		said = pngTexts(data[8:])
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		said = jpegComments(data[2:])
	case bytes.HasPrefix(data, []byte("GIF8")), isWebP(data):
	case isTIFF(data):
		pages = len(pageOffsets(data))
	default:
		return nil, &extract.Error{Reason: extract.Unsupported, Detail: "only PNG, JPEG, GIF, WebP and TIFF images are read"}
	}
	if pages < 1 || pages > maxPages {
		return nil, extract.Damagedf("the picture has no pages, or too many")
	}
	name := compose.Clean(path.Base(strings.ReplaceAll(f.Name, `\`, "/")))
	title := strings.Join(strings.Fields(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(strings.TrimSuffix(name, path.Ext(name)))), " ")
	b := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	for _, text := range append([]string{title}, said...) {
		if text = strings.Join(strings.Fields(compose.Clean(text)), " "); text == "" {
			continue
		}
		if err := b.Add(extract.Paragraph, 0, text); err != nil {
			return nil, err
		}
	}
	doc := &extract.Document{Title: title}
	number := 0
	if pages > 1 {
		number = 1
	}
	doc.Pages = []extract.Page{b.Page(number, false)}
	for i := range pages {
		doc.Unread = append(doc.Unread, i+1)
	}
	return doc, nil
}

func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// maxImageTexts is the maximum number of descriptions of an image that are read.
const maxImageTexts = 10

// pngTexts returns the texts of the chunks tEXt, and of uncompressed chunks iTXt, whose keyword says that they describe the
// image.
func pngTexts(chunks []byte) []string {
	var out []string
	for len(chunks) >= 12 && len(out) < maxImageTexts {
		n := binary.BigEndian.Uint32(chunks)
		if uint64(n) > uint64(len(chunks)-12) {
			break
		}
		kind, body := string(chunks[4:8]), chunks[8:8+n]
		chunks = chunks[12+n:]
		keyword, text, ok := bytes.Cut(body, []byte{0})
		if !ok || kind != "tEXt" && kind != "iTXt" {
			continue
		}
		switch string(keyword) {
		case "Title", "Description", "Comment":
		default:
			continue
		}
		if kind == "iTXt" {
			if len(text) < 2 || text[0] != 0 {
				continue
			}
			// The method of compression, the language and the translated keyword precede the text.
			parts := bytes.SplitN(text[2:], []byte{0}, 3)
			text = parts[len(parts)-1]
		}
		out = append(out, latinOrUTF8(text))
	}
	return out
}

// jpegComments returns the comments before the picture itself.
func jpegComments(segments []byte) []string {
	var out []string
	for len(segments) >= 4 && segments[0] == 0xff && len(out) < maxImageTexts {
		marker, n := segments[1], int(binary.BigEndian.Uint16(segments[2:]))
		if marker == 0xda || n < 2 || n+2 > len(segments) {
			break
		}
		if marker == 0xfe {
			out = append(out, latinOrUTF8(segments[4:n+2]))
		}
		segments = segments[n+2:]
	}
	return out
}

// latinOrUTF8 reads bytes as UTF-8 if they are valid UTF-8, else as Latin-1.
func latinOrUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}
