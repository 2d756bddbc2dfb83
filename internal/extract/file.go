package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley/internal/format"
)

// Extractor reads files in this process. The zero Extractor is ready to use; set the fields
// before the first use. Its methods are not safe for concurrent use. Parsers stay loaded until Close.
type Extractor struct {
	Limits   Limits
	CacheDir string // where PDFium's compiled code is kept for the next start; "" compiles each time

	parsers map[string]loaded // by format
	closed  bool
}

// loaded is a parser, or the error of loading it.
type loaded struct {
	parser io.Closer
	err    error
}

// Input is a file to read.
type Input struct {
	Name      string // for its extension
	Content   io.ReaderAt
	Size      int64
	Spool     string   // folder for the files inside it, made when there are any; "" leaves them out
	Passwords []string // tried in this order

	Seen map[int]Seen // the text of pages that was recognised on their pictures
}

// ReadFile reads one file with an Extractor of its own, and leaves out the files inside it.
func ReadFile(ctx context.Context, name string, r io.ReaderAt, size int64, limits Limits) (*Document, error) {
	x := Extractor{Limits: limits}
	defer x.Close()
	return x.File(ctx, Input{Name: name, Content: r, Size: size})
}

// File reads one file. Its content decides the format before its extension does. The error is an
// *Error, or ctx's error. Parsers look at ctx only between pages and parts: use a sandbox.Pool where
// hostile input must end in time. A parser that panics is reported as Crashed.
func (x *Extractor) File(ctx context.Context, in Input) (*Document, error) {
	o, err := x.Open(in)
	if err != nil {
		return nil, err
	}
	return o.Read(ctx)
}

// Opened is a file whose format is known and whose parser is loaded.
type Opened struct {
	file   *File
	format *format.Format
}

// Open recognises the format of a file and loads its parser, which may take seconds for the first PDF
// document. The error is an *Error, or says that the parser cannot be loaded.
func (x *Extractor) Open(in Input) (o *Opened, err error) {
	defer rescue(&err)
	limits := x.Limits.WithDefaults()
	f := newFile(in.Name, in.Content, in.Size)
	f.Limits, f.Passwords, f.Seen = limits, in.Passwords, in.Seen
	f.Spool = &Spool{dir: in.Spool, limits: limits, packed: in.Size}
	if f.Size > limits.FileBytes {
		return nil, TooLargef("the file has %s, and at most %s are read", Megabytes(f.Size), Megabytes(limits.FileBytes))
	}
	if f.Size == 0 {
		return nil, &Error{Reason: Empty, Detail: "the file has no bytes"}
	}
	if f.Head, err = ReadStart(f.Content, min(f.Size, headBytes)); err != nil {
		return nil, &Error{Reason: Unreadable, Detail: "the file cannot be read to its end"}
	}
	for _, known := range format.Table {
		if unlock := readers[known.Name].Unlock; unlock != nil {
			if err := unlock(f); err != nil {
				return nil, err
			}
		}
	}
	known, err := recognise(f)
	if err != nil {
		return nil, err
	}
	if readers[known.Name].Read == nil {
		return nil, fmt.Errorf("read a %s file: no reader is linked in; import parley/internal/extract/formats", known.Name)
	}
	if f.Parser, err = x.load(known.Name); err != nil {
		return nil, err
	}
	return &Opened{f, known}, nil
}

// load returns the parser of a format, nil if the format needs none.
func (x *Extractor) load(name string) (io.Closer, error) {
	load := readers[name].Load
	if load == nil {
		return nil, nil
	}
	if x.closed {
		return nil, errors.New("the extractor is closed")
	}
	l, ok := x.parsers[name]
	if !ok {
		if x.parsers == nil {
			x.parsers = map[string]loaded{}
		}
		l.parser, l.err = load(x.CacheDir, x.Limits.WithDefaults())
		x.parsers[name] = l
	}
	return l.parser, l.err
}

// Read returns the document, as Extractor.File does.
func (o *Opened) Read(ctx context.Context) (doc *Document, err error) {
	defer func() {
		if refused := (*Error)(nil); errors.As(err, &refused) {
			refused.Format = o.format.Name
		}
	}()
	defer rescue(&err)
	doc, err = o.file.withSeen(readers[o.format.Name].Read(ctx, o.file))
	if err != nil {
		return nil, err
	}
	doc.Format = o.format.Name
	doc.Pages = WithText(doc.Pages)
	doc.Parts = o.file.Spool.Parts
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

// rescue turns a panic into an error. It must be deferred.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = &Error{Reason: Crashed, Detail: fmt.Sprintf("the parser panicked: %.200v", p)}
	}
}

// Render draws a page.
func (o *Opened) Render(ctx context.Context, r Rendering) (img *Image, err error) {
	defer rescue(&err)
	render := readers[o.format.Name].Render
	if render == nil {
		return nil, &Error{Reason: Unsupported, Detail: "only pages of PDF documents can be drawn"}
	}
	return render(ctx, o.file, r)
}

// Measure finds the positions of characters on a page.
func (o *Opened) Measure(ctx context.Context, m Measuring) (g *Geometry, err error) {
	defer rescue(&err)
	measure := readers[o.format.Name].Measure
	if measure == nil {
		return nil, &Error{Reason: Unsupported, Detail: "only pages of PDF documents can be measured"}
	}
	return measure(ctx, o.file, m)
}

// Draw returns the picture of a page on which its text is to be recognised.
func (o *Opened) Draw(ctx context.Context, page int) (d *Drawing, err error) {
	defer rescue(&err)
	draw := readers[o.format.Name].Draw
	if draw == nil {
		return nil, &Error{Reason: Unsupported, Detail: "its pages have no pictures"}
	}
	return draw(ctx, o.file, page)
}

// Close frees the parsers. The Extractor is not usable afterwards.
func (x *Extractor) Close() error {
	var errs []error
	for _, l := range x.parsers {
		if l.parser != nil {
			errs = append(errs, l.parser.Close())
		}
	}
	x.parsers, x.closed = nil, true
	return errors.Join(errs...)
}

// File is a file as its reader sees it.
type File struct {
	Name      string
	Ext       string         // lower case, without the dot
	Kind      *format.Format // the format of Ext; nil if that format is not read
	Head      []byte         // its first headBytes bytes
	Content   io.ReaderAt
	Size      int64
	Limits    Limits
	Passwords []string
	Seen      map[int]Seen // see Input
	Spool     *Spool       // for the files inside
	Parser    io.Closer    // returned by Reader.Load of the format
}

func newFile(name string, r io.ReaderAt, size int64) *File {
	f := &File{Name: name, Ext: format.Ext(name), Content: r, Size: size}
	if known := format.ByExtension(f.Ext); known != nil && !known.Unread {
		f.Kind = known
	}
	return f
}

// IsMisnamed reports whether the extension of a text is unknown, or that of a binary format.
func (f *File) IsMisnamed() bool { return f.Kind == nil || f.Kind.Binary }

// IsUntold reports whether the extension of a text is unknown or says nothing about its format.
func (f *File) IsUntold() bool { return f.Kind == nil || f.Kind.Vague }

// headBytes is the number of bytes from which the format of a file is recognised.
const headBytes = 4096

// All reads the whole file, which may have at most limit bytes.
func (f *File) All(limit int64) ([]byte, error) {
	if f.Size > limit && f.Limits.Shared && limit == f.Limits.TextBytes {
		return nil, f.Limits.TextExceeded()
	}
	if f.Size > limit {
		return nil, TooLargef("the file has %s, and at most %s of its format are read", Megabytes(f.Size), Megabytes(limit))
	}
	data, err := ReadStart(f.Content, f.Size)
	if err != nil {
		return nil, &Error{Reason: Unreadable, Detail: "the file cannot be read to its end"}
	}
	return data, nil
}

// ReadStart reads the first n bytes.
func ReadStart(r io.ReaderAt, n int64) ([]byte, error) {
	b := make([]byte, n)
	if got, err := r.ReadAt(b, 0); int64(got) < n {
		return nil, fmt.Errorf("read %d bytes: %w", n, err)
	}
	return b, nil
}

// WithText removes the pages without blocks, in place.
func WithText(pages []Page) []Page {
	kept := pages[:0]
	for _, p := range pages {
		if len(p.Blocks) > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// firstHeading returns a title: the first heading of the first page if it is short enough, or all
// headings of a cover page that has nothing else. In paged formats, where headings are recognised by
// their looks, only a heading of level 1 counts.
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

// TooLargef returns an *Error with reason TooLarge.
func TooLargef(format string, args ...any) *Error {
	return &Error{Reason: TooLarge, Detail: fmt.Sprintf(format, args...)}
}

// spent is TooLargef for a shared budget that is used up.
func spent(format string, args ...any) *Error {
	err := TooLargef(format, args...)
	err.Spent = true
	return err
}

// Damagedf returns an *Error with reason Damaged.
func Damagedf(format string, args ...any) *Error {
	return &Error{Reason: Damaged, Detail: fmt.Sprintf(format, args...)}
}

// Megabytes writes a number of bytes for messages.
func Megabytes(n int64) string {
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Replace makes data the content of the file.
func (f *File) Replace(data []byte) {
	f.Content, f.Size, f.Head = bytes.NewReader(data), int64(len(data)), data[:min(len(data), headBytes)]
}

// Loaded reports whether the parser of a format is ready.
func (x *Extractor) Loaded(name string) bool { return x.parsers[name].parser != nil }
