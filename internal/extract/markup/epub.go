package markup

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"parley/internal/attribute"
	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/zipxml"
	"parley/internal/format"
)

var _ = extract.Register("EPUB", extract.Reader{Read: readEPUB})

// readEPUB reads the chapters of an electronic book (EPUB 2 and 3) in reading order. The reading device makes the pages,
// so the document has none.
func readEPUB(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	book, err := readPackage(archive)
	if err != nil {
		return nil, err
	}
	if len(book.chapters) == 0 {
		return nil, extract.Damagedf("the archive holds no book")
	}
	if err := book.checkEncryption(archive); err != nil {
		return nil, err
	}
	doc := &extract.Document{Title: book.title}
	doc.Meta.Attributes = book.values.Encode()
	out := compose.Builder{Budget: compose.NewBudget(f.Limits)}
	missing := 0
	for _, name := range book.chapters {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := addChapter(archive, name, &out)
		if err != nil {
			return nil, err
		}
		if !found {
			missing++
		}
	}
	if missing == len(book.chapters) {
		return nil, extract.Damagedf("the chapters of the book are missing")
	}
	if missing > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%d of its %d chapters are missing or damaged", missing, len(book.chapters)))
	}
	doc.Pages = []extract.Page{out.Page(0, false)}
	return doc, nil
}

// epubPackage is the part of the package document (EPUB 3.3, section 5) that describes a book.
type epubPackage struct {
	title    string
	values   attribute.Values
	chapters []string // names of their parts, in reading order
}

// epubProperties maps elements of Dublin Core to attributes.
var epubProperties = map[string]string{"creator": "author", "date": "date", "language": "language", "publisher": "publisher", "subject": zipxml.Keywords}

func readPackage(archive *zipxml.Archive) (epubPackage, error) {
	main := ""
	err := zipxml.EachElement(archive, "META-INF/container.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "rootfile" && main == "" {
			main = zipxml.Attr(e, "full-path")
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return epubPackage{}, err
	}
	book := epubPackage{values: attribute.Values{}}
	files := map[string]string{} // by the item's id
	err = zipxml.EachElement(archive, main, func(d *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "title":
			if book.title == "" {
				if err := d.DecodeElement(&book.title, &e); err != nil {
					return err
				}
				book.title = compose.OneLine(compose.Clean(book.title))
			}
		case "creator", "date", "language", "publisher", "subject":
			text := ""
			if err := d.DecodeElement(&text, &e); err != nil {
				return err
			}
			zipxml.Describe(book.values, epubProperties[e.Name.Local], text)
		case "item":
			switch zipxml.Attr(e, "media-type") {
			case "application/xhtml+xml", "text/html", "text/x-oeb1-document":
				if slices.Contains(strings.Fields(zipxml.Attr(e, "properties")), "nav") {
					return nil // the table of contents (EPUB 3.3, section 5.3.1)
				}
				files[zipxml.Attr(e, "id")] = resolvePart(main, zipxml.Attr(e, "href"))
			}
		case "itemref":
			if name := files[zipxml.Attr(e, "idref")]; name != "" {
				book.chapters = append(book.chapters, name)
			}
		}
		return nil
	})
	if err != nil && !zipxml.IsSyntaxError(err) {
		return epubPackage{}, err
	}
	if len(book.chapters) == 0 {
		for _, entry := range archive.File {
			if slices.Contains([]string{"xhtml", "html", "htm"}, format.Ext(entry.Name)) {
				book.chapters = append(book.chapters, entry.Name)
			}
		}
		slices.Sort(book.chapters)
	}
	return book, nil
}

// resolvePart returns the name of the part to which a part refers by a relative URL.
func resolvePart(from, href string) string {
	if name, err := url.PathUnescape(href); err == nil {
		href = name
	}
	href, _, _ = strings.Cut(href, "#")
	return path.Join(path.Dir(from), href)
}

// checkEncryption refuses a book whose chapters are encrypted. Only fonts may be encrypted (EPUB 3.3, section 4.3),
// which does not protect the text.
func (p epubPackage) checkEncryption(archive *zipxml.Archive) error {
	return zipxml.IgnoreSyntax(zipxml.EachElement(archive, "META-INF/encryption.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "CipherReference" && slices.Contains(p.chapters, resolvePart("", zipxml.Attr(e, "URI"))) {
			return &extract.Error{Reason: extract.Encrypted, Detail: "the book is protected against copying"}
		}
		return nil
	}))
}

// addChapter appends one chapter, and reports whether it can be read.
func addChapter(archive *zipxml.Archive, name string, out *compose.Builder) (bool, error) {
	part, err := zipxml.OpenPart(archive, name)
	if err != nil || part == nil {
		return false, err
	}
	defer part.Close()
	data, err := io.ReadAll(io.LimitReader(part, MaxHTMLBytes+1))
	if zipxml.IsSyntaxError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(data) > MaxHTMLBytes {
		return false, extract.TooLargef("a chapter has more than %s", extract.Megabytes(MaxHTMLBytes))
	}
	source, err := compose.DecodeText(data, MetaCharset(data))
	if err != nil {
		return false, nil
	}
	return true, AddWholeHTML(out, source)
}
