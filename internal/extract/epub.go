package extract

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"parley/internal/format"
)

var _ = reads("EPUB", reader{read: readEPUB})

// readEPUB reads the chapters of an electronic book (EPUB 2 and 3) in reading order. Its pages are
// made by the reading device, so the document has none.
func readEPUB(ctx context.Context, f *file) (*Document, error) {
	archive, err := openZIP(f)
	if err != nil {
		return nil, err
	}
	book, err := readPackage(archive)
	if err != nil {
		return nil, err
	}
	if len(book.chapters) == 0 {
		return nil, damaged("the archive holds no book")
	}
	if err := book.checkEncryption(archive); err != nil {
		return nil, err
	}
	doc := &Document{Title: book.title}
	out := builder{budget: newBudget(f.limits)}
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
		return nil, damaged("the chapters of the book are missing")
	}
	if missing > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%d of its %d chapters are missing or damaged", missing, len(book.chapters)))
	}
	doc.Pages = []Page{out.page(0, false)}
	return doc, nil
}

// epubPackage is what the package document (EPUB 3.3, section 5) says of a book.
type epubPackage struct {
	title    string
	chapters []string // names of their parts, in reading order
}

func readPackage(archive *container) (epubPackage, error) {
	main := ""
	err := eachElement(archive, "META-INF/container.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "rootfile" && main == "" {
			main = xmlAttr(e, "full-path")
		}
		return nil
	})
	if err != nil && !isSyntaxError(err) {
		return epubPackage{}, err
	}
	var book epubPackage
	files := map[string]string{} // by the item's id
	err = eachElement(archive, main, func(d *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "title":
			if book.title == "" {
				if err := d.DecodeElement(&book.title, &e); err != nil {
					return err
				}
				book.title = oneLine(cleanText(book.title))
			}
		case "item":
			switch xmlAttr(e, "media-type") {
			case "application/xhtml+xml", "text/html", "text/x-oeb1-document":
				if slices.Contains(strings.Fields(xmlAttr(e, "properties")), "nav") {
					return nil // the table of contents (EPUB 3.3, section 5.3.1)
				}
				files[xmlAttr(e, "id")] = resolvePart(main, xmlAttr(e, "href"))
			}
		case "itemref":
			if name := files[xmlAttr(e, "idref")]; name != "" {
				book.chapters = append(book.chapters, name)
			}
		}
		return nil
	})
	if err != nil && !isSyntaxError(err) {
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

// checkEncryption refuses a book whose chapters are encrypted. Only fonts may be, whose scrambling
// (EPUB 3.3, section 4.3) is no protection of the text.
func (p epubPackage) checkEncryption(archive *container) error {
	return ignoreSyntax(eachElement(archive, "META-INF/encryption.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "CipherReference" && slices.Contains(p.chapters, resolvePart("", xmlAttr(e, "URI"))) {
			return &Error{Reason: Encrypted, Detail: "the book is protected against copying"}
		}
		return nil
	}))
}

func ignoreSyntax(err error) error {
	if isSyntaxError(err) {
		return nil
	}
	return err
}

// addChapter appends one chapter, and reports whether it can be read.
func addChapter(archive *container, name string, out *builder) (bool, error) {
	part, err := openPart(archive, name)
	if err != nil || part == nil {
		return false, err
	}
	defer part.Close()
	data, err := io.ReadAll(io.LimitReader(part, htmlBytes+1))
	if isSyntaxError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(data) > htmlBytes {
		return false, tooLarge("a chapter has more than %s", megabytes(htmlBytes))
	}
	source, err := decodeText(data, metaCharset(data))
	if err != nil {
		return false, nil
	}
	return true, addWholeHTML(out, source)
}

// addWholeHTML appends the whole body of a page.
func addWholeHTML(out *builder, source string) error {
	root, err := html.Parse(strings.NewReader(source))
	if err != nil { // nested deeper than the parser allows
		return out.add(Paragraph, 0, flatHTML(source))
	}
	prepareHTML(root)
	removeElements(root, isHidden)
	w := htmlWalker{out: out}
	w.walk(root)
	w.flush()
	return w.err
}
