package zipxml

import (
	"archive/zip"
	"io"
	"slices"
	"strings"

	"parley/internal/extract"
)

var _ = extract.SniffsZIP(sniffByEntries)

// sniffByEntries tells formats that are ZIP archives apart by the names of their entries. The error says that an archive with
// the extension of a known format cannot be opened.
func sniffByEntries(f *extract.File) (string, error) {
	archive, err := Open(f)
	if err != nil {
		if f.Kind == nil {
			return "ZIP archive", nil
		}
		return "", err
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(archive.File, func(e *zip.File) bool { return strings.HasPrefix(e.Name, prefix) })
	}
	byName := ""
	if f.Kind != nil {
		byName = f.Kind.Name
	}
	isOOXML := slices.Contains([]string{"Word", "Excel", "Excel binary", "PowerPoint"}, byName)
	if isOOXML || has("[Content_Types].xml") {
		switch {
		case has("word/"):
			return "Word", nil
		case has("xl/workbook.bin"):
			return "Excel binary", nil
		case has("xl/"):
			return "Excel", nil
		case has("ppt/"):
			return "PowerPoint", nil
		}
	}
	if byName == "iWork" || has("Index/Document.iwa") || has("index.apxl") {
		return "iWork", nil
	}
	if has("META-INF/container.xml") {
		return "EPUB", nil
	}
	if has("content.xml") {
		if name := openDocumentType(archive); name != "" {
			return name, nil
		}
		if strings.HasPrefix(byName, "OpenDocument ") {
			return byName, nil // its type cannot be read
		}
	}
	if isOOXML {
		return byName, nil
	}
	return "ZIP archive", nil
}

// openDocumentType reads the media type in an archive (OpenDocument 1.3 part 2, section 3.3). Old
// documents name another vendor there.
func openDocumentType(archive *Archive) string {
	part, err := OpenPart(archive, "mimetype")
	if err != nil || part == nil {
		return ""
	}
	defer part.Close()
	media, err := io.ReadAll(io.LimitReader(part, 100))
	if err != nil {
		return ""
	}
	for _, kind := range []struct{ words, name string }{
		{"text writer", "OpenDocument text"},
		{"spreadsheet calc", "OpenDocument spreadsheet"},
		{"presentation graphics impress draw", "OpenDocument presentation"},
	} {
		for word := range strings.FieldsSeq(kind.words) {
			if strings.Contains(string(media), "."+word) {
				return kind.name
			}
		}
	}
	return ""
}
