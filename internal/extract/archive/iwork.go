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

// previews are the names of the previews that iWork stores in a document, the best one first. The picture shows its first page only;
// the smaller ones beside it cannot be read.
var previews = []string{"preview.pdf", "preview.jpg"}

// readIWork takes the preview out of a document of Pages, Numbers or Keynote, whose own format is not documented. Programs until
// 2013 saved a PDF document of all pages, if the user wanted it; later ones save a picture.
func readIWork(ctx context.Context, f *extract.File) (*extract.Document, error) {
	if !bytes.HasPrefix(f.Head, []byte("PK")) { // other programs give keys and lists of pages such names
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
