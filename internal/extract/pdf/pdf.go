// Package pdf reads PDF documents with PDFium, which runs as WebAssembly in this process.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var _ = extract.Register("PDF", extract.Reader{Read: readPDF, Load: loadPDF, Render: renderPDF, Measure: measurePDF, Draw: drawPDF})

// loadPDF loads PDFium.
func loadPDF(cacheDir string, l extract.Limits) (io.Closer, error) {
	p, err := newPDFium(cacheDir, moduleMemory(l))
	if err != nil {
		return nil, err // not p, which would be a nil pointer in an interface
	}
	return p, nil
}

// readPDF reads a PDF document page by page. PDFium gives the characters, and pdfReader makes lines of them. When all pages
// have been read, repeated headers, the size of the body type and the document's vocabulary are known, and pdfLayout makes
// blocks of the lines.
func readPDF(ctx context.Context, f *extract.File) (*extract.Document, error) {
	d, err := openPDF(f)
	if err != nil {
		return nil, err
	}
	defer d.close()

	pages, unread, notes, err := readPDFPages(ctx, d, f)
	if d.mended && isTextless(err) {
		return nil, extract.Damagedf("the document is cut off before any text that can be read")
	}
	if err != nil && !isTextless(err) {
		return nil, err
	}
	if err := d.attachments(ctx, f.Spool); err != nil {
		return nil, err
	}
	if err != nil { // a portfolio may have only the files in it
		if len(f.Spool.Parts) == 0 {
			return nil, err
		}
		return &extract.Document{Notes: []string{err.Error()}}, nil
	}
	if d.mended {
		notes = append(notes, "the document is cut off, and was read as far as its pages could be found")
	}
	doc := &extract.Document{Notes: notes, Unread: unread}
	d.describe(doc)
	set := slices.DeleteFunc(slices.Clone(pages), func(p *pdfPage) bool { return len(p.lines) == 0 })
	dropRunningLines(set)
	dropPageNumbers(set)
	layout := newPDFLayout(set)
	budget := compose.NewBudget(f.Limits)
	for _, p := range pages {
		out := compose.Builder{Budget: budget}
		if len(p.lines) > 0 {
			if err := layout.page(p, &out); err != nil {
				return nil, err
			}
		}
		for _, comment := range p.comments {
			if err := out.Add(extract.Paragraph, 0, comment); err != nil {
				return nil, err
			}
		}
		doc.Pages = append(doc.Pages, out.Page(p.number, true))
	}
	return doc, nil
}

// isTextless reports whether the pages of a document can be read and have no text.
func isTextless(err error) bool {
	var refused *extract.Error
	return errors.As(err, &refused) && (refused.Reason == extract.Empty || refused.Reason == extract.ScanOnly)
}

// moduleMemory returns the part of a worker's memory that PDFium's module may use. Growing the module's memory takes a copy
// that is a quarter larger, before the old memory is freed.
func moduleMemory(l extract.Limits) int64 { return (l.MemoryBytes - extract.MinMemory/2) * 2 / 5 }

// pdfPage is a page as lines.
type pdfPage struct {
	number    int
	lines     []pdfLine
	comments  []string
	low, high float32 // its lower and upper edge
}

// readPDFPages returns the pages that have text, the numbers of the pages that show text only as pictures, and notes about
// the pages that cannot be read.
func readPDFPages(ctx context.Context, d *pdfDocument, f *extract.File) (pages []*pdfPage, unread []int, notes []string, err error) {
	limits, count := f.Limits, d.int("FPDF_GetPageCount", d.handle)
	if count > limits.Pages {
		return nil, nil, nil, extract.TooLargef("the document has %d pages, and at most %d are read", count, limits.Pages)
	}
	var scanned, garbled, broken []int
	left := limits.TextBytes
	for i := range count {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		r := pdfReader{doc: d}
		state := r.read(i)
		if len(r.comments) > 0 && state != pageBroken {
			if state != pageRead {
				r.lines = nil
			}
			state = pageRead
		}
		if d.err != nil {
			return nil, nil, nil, d.failure()
		}
		switch state {
		case pageRead:
			pages = append(pages, &pdfPage{i + 1, r.lines, r.comments, r.low, r.high})
		case pageScanned:
			scanned = append(scanned, i+1)
		case pageGarbled:
			garbled = append(garbled, i+1)
		case pageBroken:
			broken = append(broken, i+1)
		}
		for _, line := range r.lines {
			left -= int64(len(line.Text))
		}
		if left < 0 {
			return nil, nil, nil, limits.TextExceeded()
		}
	}
	unread = slices.Sorted(slices.Values(slices.Concat(scanned, garbled)))
	if len(pages) == 0 {
		refused := noPDFText(count, len(scanned), len(garbled), len(broken))
		refused.Unread = unread
		return nil, nil, nil, refused
	}
	seen := func(page int) bool {
		_, ok := f.Seen[page]
		return ok
	}
	return pages, unread, pageNotes(count, slices.DeleteFunc(scanned, seen), slices.DeleteFunc(garbled, seen), broken), nil
}

// noPDFText returns the error for a document without a page whose text can be read.
func noPDFText(count, scanned, garbled, broken int) *extract.Error {
	switch {
	case garbled > 0:
		return &extract.Error{Reason: extract.ScanOnly, Detail: "the fonts of the document do not say which characters they show, so its text can only be seen"}
	case scanned > 0:
		return &extract.Error{Reason: extract.ScanOnly, Detail: fmt.Sprintf("none of its %d pages has a text layer", count)}
	case broken > 0 || count == 0:
		return extract.Damagedf("none of its pages can be read")
	}
	return &extract.Error{Reason: extract.Empty, Detail: "its pages are blank"}
}

// pageNotes says which of a document's pages are missing, why, and what can be done.
func pageNotes(count int, scanned, garbled, broken []int) []string {
	var notes []string
	for _, n := range []struct {
		pages     []int
		one, many string
		advice    string
	}{
		{scanned, "has", "have", "no text layer; OCR makes them searchable"},
		{garbled, "uses", "use", "fonts that do not say which characters they show; OCR makes them searchable"},
		{broken, "is", "are", "damaged and cannot be read; get another copy of the file"},
	} {
		if len(n.pages) == 0 {
			continue
		}
		verb := n.many
		if len(n.pages) == 1 {
			verb = n.one
		}
		notes = append(notes, fmt.Sprintf("%d of %d pages (%s) %s %s", len(n.pages), count, compose.PageList(n.pages), verb, n.advice))
	}
	return notes
}
