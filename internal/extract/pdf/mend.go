package pdf

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"parley/internal/extract"
	"parley/internal/lazyregexp"
)

// maxMended is the maximum size of a file that is searched for its pages, in memory.
const maxMended = 64 << 20

var (
	pdfObject  = lazyregexp.New(`(?:^|[\r\n\t >])(\d{1,7}) (\d{1,5}) obj\b`)
	pdfCatalog = lazyregexp.New(`/Type\s*/Catalog\b`)
	pdfTree    = lazyregexp.New(`/Type\s*/Pages\b`)
	pdfLeaf    = lazyregexp.New(`/Type\s*/Page\b`)
	pdfRoot    = lazyregexp.New(`/Pages\s+(\d+)\s+\d+\s+R`)
	pdfParent  = lazyregexp.New(`/Parent\s`)
)

// mendPDF adds the objects that lead to the pages of a document whose end is missing: a trailer and, if they are lost too,
// the catalog and the tree of pages. ok is false if no page can be found, or if the document may be encrypted. Pages that
// are not in a tree are in the order of the file.
func mendPDF(f *extract.File) (mended *extract.File, ok bool) {
	if f.Size > maxMended {
		return nil, false
	}
	data, err := extract.ReadStart(f.Content, f.Size)
	if err != nil || bytes.Contains(data, []byte("/Encrypt")) {
		return nil, false
	}
	catalog, root, kids, highest := pdfStructure(data, f.Limits.Pages)
	var tail strings.Builder
	tail.WriteString("\nendobj\n")
	next := highest + 1
	switch {
	case catalog != "":
	case root != "" || len(kids) > 0:
		if root == "" {
			root = fmt.Sprintf("%d 0", next)
			fmt.Fprintf(&tail, "%s obj\n<< /Type /Pages /Count %d /Kids [%s] >>\nendobj\n", root, len(kids), strings.Join(kids, " "))
			next++
		}
		catalog = fmt.Sprintf("%d 0", next)
		fmt.Fprintf(&tail, "%s obj\n<< /Type /Catalog /Pages %s R >>\nendobj\n", catalog, root)
		next++
	default:
		return nil, false
	}
	fmt.Fprintf(&tail, "trailer\n<< /Size %d /Root %s R >>\nstartxref\n0\n%%%%EOF\n", next, catalog)
	return &extract.File{Content: &extended{f.Content, f.Size, tail.String()}, Size: f.Size + int64(tail.Len())}, true
}

// pdfStructure finds the last catalog whose pages are there, the last root of a tree of pages, the
// references to single pages, and the highest number of an object.
func pdfStructure(data []byte, most int) (catalog, root string, kids []string, highest int) {
	const (
		longest    = 4 << 10 // of a dictionary that matters here
		maxObjects = 200_000
	)
	trees := map[string]bool{}
	catalogs := map[string]string{} // the number of the pages of each
	objects := pdfObject.FindAllSubmatchIndex(data, maxObjects)
	for i, m := range objects {
		number := string(data[m[2]:m[3]])
		name := number + " " + string(data[m[4]:m[5]])
		n := 0
		for _, digit := range number {
			n = n*10 + int(digit-'0')
		}
		highest = max(highest, n)
		next := len(data)
		if i+1 < len(objects) {
			next = objects[i+1][0]
		}
		dictionary := data[m[1]:min(next, m[1]+longest)]
		for _, end := range []string{"endobj", "stream"} {
			if i := bytes.Index(dictionary, []byte(end)); i >= 0 {
				dictionary = dictionary[:i]
			}
		}
		switch {
		case pdfCatalog.Match(dictionary):
			if ref := pdfRoot.FindSubmatch(dictionary); ref != nil {
				catalogs[name] = string(ref[1])
				catalog = name
			}
		case pdfTree.Match(dictionary):
			trees[number] = true
			if !pdfParent.Match(dictionary) {
				root = name
			}
		case pdfLeaf.Match(dictionary) && len(kids) <= most:
			kids = append(kids, name+" R")
		}
	}
	if !trees[catalogs[catalog]] {
		catalog = ""
	}
	return catalog, root, kids, highest
}

// extended is a file with a text appended to it.
type extended struct {
	r    io.ReaderAt
	size int64
	tail string
}

func (e *extended) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < e.size {
		var err error
		part := b[:min(int64(len(b)), e.size-off)]
		if n, err = e.r.ReadAt(part, off); n < len(part) {
			return n, err
		}
		off += int64(n)
	}
	m, err := strings.NewReader(e.tail).ReadAt(b[n:], off-e.size)
	if n+m == len(b) {
		err = nil
	}
	return n + m, err
}
