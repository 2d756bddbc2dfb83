package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/zipxml"
)

var _ = extract.Register("iWork", extract.Reader{Read: readIWork})

// previews are the names of the previews that iWork stores in a document, the best one first. The picture shows only the first page.
// Smaller pictures beside it are not legible.
var previews = []string{"preview.pdf", "preview.jpg"}

// readIWork extracts the preview of a document of Pages, Numbers or Keynote, whose own format is not documented. Programs until
// 2013 saved all pages as a PDF document if the user wanted it; later ones save a picture.
func readIWork(ctx context.Context, f *extract.File) (*extract.Document, error) {
	if !bytes.HasPrefix(f.Head, []byte("PK")) { // other programs give the same extensions to keys and lists of pages
		return nil, &extract.Error{Reason: extract.Unsupported, Detail: "it is not a document of Pages, Numbers or Keynote"}
	}
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	for _, preview := range previews {
		at := slices.IndexFunc(archive.File, func(e *zip.File) bool { return strings.EqualFold(path.Base(e.Name), preview) })
		if at >= 0 {
			return &extract.Document{}, addEntry(ctx, f, archive, archive.File[at], preview)
		}
	}
	return nil, &extract.Error{Reason: extract.Unsupported, Detail: "it has no preview that could be read: save it as PDF, or with Pages, Numbers or Keynote as a Word, Excel or PowerPoint file"}
}
