package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"parley/internal/format"
)

// Extractor reads files in this process. The zero Extractor is ready to use; set the fields
// before the first use. Its methods are not safe for concurrent use. PDFium stays loaded between
// files until Close.
type Extractor struct {
	Limits   Limits
	CacheDir string // where PDFium's compiled code is kept for the next start; "" compiles each time

	waits      waits // of the process that reads files one after the other
	loadPDFium sync.Once
	pdfium     *pdfium
	pdfiumErr  error
}

// Input is a file to read.
type Input struct {
	Name      string // says its extension
	Content   io.ReaderAt
	Size      int64
	Spool     string   // folder for the files inside it, made when there are any; "" leaves them out
	Passwords []string // to try on it
}

// File reads one file with a throwaway Extractor, and leaves out the files inside it.
func File(ctx context.Context, name string, r io.ReaderAt, size int64, limits Limits) (*Document, error) {
	x := Extractor{Limits: limits}
	defer x.Close()
	return x.File(ctx, Input{Name: name, Content: r, Size: size})
}

// File reads one file. The name only says its extension, and the content has the last word on
// the format. The error is an *Error, or ctx's error: ctx is looked at between pages and parts,
// so what must end in time on hostile input belongs in a Pool. A parser that panics is reported
// as Crashed.
func (x *Extractor) File(ctx context.Context, in Input) (*Document, error) {
	o, err := x.open(in)
	if err != nil {
		return nil, err
	}
	return o.read(ctx)
}

// opened is a file whose format is known and whose parser is loaded.
type opened struct {
	file   *file
	format *format.Format
}

// open recognises a file and loads its parser, which for the first PDF document takes seconds. The
// error is an *Error, or that the parser cannot be loaded.
func (x *Extractor) open(in Input) (o *opened, err error) {
	defer rescue(&err)
	limits := x.Limits.withDefaults()
	f := newFile(in.Name, in.Content, in.Size)
	f.limits, f.passwords = limits, in.Passwords
	f.spool = &spool{dir: in.Spool, limits: limits, packed: in.Size}
	if f.size > limits.FileBytes {
		return nil, tooLarge("the file has %s, and at most %s are read", megabytes(f.size), megabytes(limits.FileBytes))
	}
	if f.size == 0 {
		return nil, &Error{Reason: Empty, Detail: "the file has no bytes"}
	}
	if f.head, err = readStart(f.r, min(f.size, headBytes)); err != nil {
		return nil, &Error{Reason: Unreadable, Detail: "the file cannot be read to its end"}
	}
	if err := unlockOffice(f); err != nil {
		return nil, err
	}
	known, err := recognise(f)
	if err != nil {
		return nil, err
	}
	if load := readers[known.Name].load; load != nil {
		if err := load(x, f); err != nil {
			return nil, err
		}
	}
	return &opened{f, known}, nil
}

// read makes a document of the file, as Extractor.File has it.
func (o *opened) read(ctx context.Context) (doc *Document, err error) {
	defer func() {
		if refused := (*Error)(nil); errors.As(err, &refused) {
			refused.Format = o.format.Name
		}
	}()
	defer rescue(&err)
	doc, err = readers[o.format.Name].read(ctx, o.file)
	if err != nil {
		return nil, err
	}
	doc.Format = o.format.Name
	doc.Pages = withText(doc.Pages)
	doc.Parts = o.file.spool.parts
	if len(doc.Pages) == 0 {
		if len(doc.Parts) == 0 {
			return nil, &Error{Reason: Empty, Detail: "the file has no text"}
		}
		return doc, nil
	}
	if doc.Title == "" {
		doc.Title = firstHeading(doc.Pages)
	}
	doc.Title = strings.Join(strings.Fields(doc.Title), " ")
	return doc, nil
}

// rescue is deferred: it makes an error of a panic.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = &Error{Reason: Crashed, Detail: fmt.Sprintf("the parser panicked: %.200v", p)}
	}
}

// Close frees PDFium. The Extractor is not usable afterwards.
func (x *Extractor) Close() error {
	x.loadPDFium.Do(func() { x.pdfiumErr = errors.New("the extractor is closed") })
	if x.pdfium == nil {
		return nil
	}
	err := x.pdfium.close()
	x.pdfium = nil
	x.pdfiumErr = errors.New("the extractor is closed")
	return err
}

// file is one file on its way through a parser.
type file struct {
	name      string
	ext       string         // lower case, without the dot
	kind      *format.Format // that ext stands for; nil unless there is a reader for it
	head      []byte         // its first headBytes bytes
	r         io.ReaderAt
	size      int64
	limits    Limits
	passwords []string
	spool     *spool  // takes the files inside
	pdfium    *pdfium // loaded, if the file is a PDF document
}

func newFile(name string, r io.ReaderAt, size int64) *file {
	f := &file{name: name, ext: format.Ext(name), r: r, size: size}
	if known := format.ByExtension(f.ext); known != nil && !known.Unread {
		f.kind = known
	}
	return f
}

// isMisnamed reports whether the extension of a text is unknown, or that of a binary format.
func (f *file) isMisnamed() bool { return f.kind == nil || f.kind.Binary }

// isUntold reports whether the extension of a text is unknown, or does not tell its format.
func (f *file) isUntold() bool { return f.kind == nil || f.kind.Vague }

// headBytes is how much of a file the recognition of formats looks at.
const headBytes = 4096

// all reads the whole file, which may have at most limit bytes.
func (f *file) all(limit int64) ([]byte, error) {
	if f.size > limit && f.limits.Shared && limit == f.limits.TextBytes {
		return nil, f.limits.textExceeded()
	}
	if f.size > limit {
		return nil, tooLarge("the file has %s, and at most %s of its format are read", megabytes(f.size), megabytes(limit))
	}
	data, err := readStart(f.r, f.size)
	if err != nil {
		return nil, &Error{Reason: Unreadable, Detail: "the file cannot be read to its end"}
	}
	return data, nil
}

func readStart(r io.ReaderAt, n int64) ([]byte, error) {
	b := make([]byte, n)
	if got, err := r.ReadAt(b, 0); int64(got) < n {
		return nil, fmt.Errorf("read %d bytes: %w", n, err)
	}
	return b, nil
}

func withText(pages []Page) []Page {
	kept := pages[:0]
	for _, p := range pages {
		if len(p.Blocks) > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// firstHeading is the first heading of the first page, as long as it can be a title, or all the
// headings of a cover that has nothing else. On pages, whose headings were told by their looks,
// only one of the first level is taken.
func firstHeading(pages []Page) string {
	var headings []string
	p, length := pages[0], 0
	for _, b := range p.Blocks {
		if b.Kind == Heading && b.End-b.Start <= 200 && (b.Level == 1 || p.Number == 0 || len(headings) > 0) {
			headings = append(headings, p.Text[b.Start:b.End])
			length += b.End - b.Start
		}
	}
	switch {
	case len(headings) == 0:
		return ""
	case len(pages) > 1 && len(headings) == len(p.Blocks) && length <= 120:
		return strings.Join(headings, " – ")
	}
	return headings[0]
}

func tooLarge(format string, args ...any) *Error {
	return &Error{Reason: TooLarge, Detail: fmt.Sprintf(format, args...)}
}

// spent is the error of a file that needs more of a shared budget than there is.
func spent(format string, args ...any) *Error {
	err := tooLarge(format, args...)
	err.Spent = true
	return err
}

func damaged(format string, args ...any) *Error {
	return &Error{Reason: Damaged, Detail: fmt.Sprintf(format, args...)}
}

func megabytes(n int64) string {
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
