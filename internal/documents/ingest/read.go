package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/format"
	"parley/internal/ident"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// result is the result for one candidate.
type result struct {
	from   *candidate
	format string            // as extract names it; "" if unknown
	file   retrieval.File    // the row to write
	put    *retrieval.Put    // the document's new revision; nil if there is none
	same   bool              // the content has not changed: only the row is written
	doc    *extract.Document // what was read, if Config.Reading wants it
	leave  bool              // the file could not be examined: neither row nor document changes
	gone   bool              // the enclosing file no longer contains the file: row and document are deleted
	first  bool              // the page is the URL of a site
	error  error             // ends the run

	waiting *Waiting // pages of the file wait for the recognition of their text

	sidecar   metadata.Fields // the fields of its own sidecar
	budget    *budget         // for nested files
	namespace string          // the namespace of its document
}

// partly reports whether only a part of the file was read.
func (r result) partly() bool { return r.file.Reason == "" && r.file.Detail != "" }

// failed returns the result of a file that gives no document.
func (r result) failed(reason extract.Reason, detail string) result {
	r.file.DocumentID, r.file.PutIn, r.file.Reason, r.file.Detail = "", "", string(reason), detail
	r.put = nil
	return r
}

// read processes a file as far as possible without the corpus. The caller must close the spool, which
// contains the nested files.
func (r *run) read(ctx context.Context, c *candidate) (result, *spool) {
	s := &spool{dir: r.spoolDir()}
	res := result{from: c, file: retrieval.File{
		FileKey: retrieval.FileKey{Root: c.target.root.Path, Path: c.key}, Namespace: r.cfg.Namespace,
		Size: c.size, ModTime: c.modTime, Generation: r.cfg.generation,
	}}
	switch {
	case c.page != nil:
		res.first, res.file.State = c.page.first, c.page.state
	case c.object != nil:
		res.file.State = c.object.state(metadata.Limits{})
	}
	said, err := r.describe(c, &res)
	if err != nil {
		if errors.As(err, new(*metadata.UnreadError)) {
			res.leave = c.object != nil // the next run may succeed
			return res.failed(extract.Unreadable, err.Error()), s
		}
		return res.failed(BadMetadata, err.Error()), s
	}
	original, err := r.snapshot(ctx, c)
	if err != nil {
		return r.unread(ctx, res, err), s
	}
	res.file.Size, res.file.ModTime = original.size, original.modTime
	res.file.SHA256 = original.seen + res.file.SHA256
	if k := c.known; k.SHA256 == res.file.SHA256 && r.cfg.isCurrent(k.Generation) && r.cfg.allCurrent(c.inside) && !k.anew && !c.mayPass() {
		res.file.Generation = k.Generation
		res.same = true
		res.file.DocumentID, res.file.PutIn, res.file.Reason, res.file.Detail = k.DocumentID, k.PutIn, k.Reason, k.Detail
		return res, s
	}
	return r.makeDocument(ctx, res, original, said, s), s
}

// describe reads the metadata of a file and enters its hash into the row. For a file on disk it reads
// the metadata again, because it may have changed since the walk.
func (r *run) describe(c *candidate, res *result) (metadata.Said, error) {
	if c.page != nil {
		res.file.SHA256 = c.page.suffix()
		return c.page.about(), nil
	}
	var t metadata.Tree = rootTree{c.target.dir}
	if c.target.remote != nil {
		t = c.target.remote
	}
	name, around := c.path, []string(nil)
	if p := c.part; p != nil {
		t, name, around = p.spool, "", p.around
		if p.inFolder {
			name = p.name
		}
	}
	said, hash, err := metadata.Read(c.rules, t, c.path, around, name)
	if hash != "" && hash != metadata.Unreadable {
		res.file.SHA256 = "+" + hash
	}
	res.sidecar = said.Sidecar
	if err != nil {
		return said, err
	}
	if c.object != nil {
		res.file.State = c.object.state(c.limits(said))
		return said, nil
	}
	res.file.State, err = c.limits(said).Encode()
	return said, err
}

// makeDocument extracts the stored original and builds the document to store.
func (r *run) makeDocument(ctx context.Context, res result, o original, said metadata.Said, s *spool) result {
	c := res.from
	if res.budget = newBudget(o.bytes, r.cfg); c.part != nil {
		res.budget = c.part.budget
	}
	x, err := r.extract(ctx, &res, o, said, s)
	res.format = x.format
	var reason *extract.Error
	switch {
	case errors.As(err, &reason):
		res.format = reason.Format
		// If the machine had no time for the file, the existing document stays.
		res.leave = reason.Reason == extract.Busy
		if reason.Spent && res.budget.spent != nil {
			reason = res.budget.spent
		}
		return res.failed(reason.Reason, reason.Detail)
	case err != nil:
		res.error = err
		return res
	}
	if r.cfg.Reading != nil {
		res.doc = x.doc
	}
	if r.decided(c) != nil {
		x.doc.Meta.Unknown = "" // it does not matter what the document says
	}
	m, err := said.Of(x.doc, path.Base(c.fileName()))
	if err != nil {
		return res.failed(BadMetadata, err.Error())
	}
	if res.namespace, err = r.place(c, m.Namespace); err != nil {
		s.parts = nil // the places of nested files are not known either
		return res.failed(BadMetadata, err.Error())
	}
	if cut := x.doc.Cut; cut != nil {
		return res.failed(cut.Reason, cut.Detail) // nested files are still taken as far as they are known
	}
	res.file.Detail = notesOf(x.doc)
	if len(x.doc.Pages) == 0 {
		return res // the nested files are the documents
	}
	return r.putDocument(ctx, res, o, m, x)
}

// putDocument builds the document of a file, with the id and name that it already has in its namespace,
// if any.
func (r *run) putDocument(ctx context.Context, res result, o original, m metadata.Document, x extracted) result {
	c := res.from
	if res.error = r.name(ctx, c, res.namespace); res.error != nil {
		return res
	}
	if decided := r.decided(c); decided != nil {
		m.Access = *decided
	}
	if res.namespace != r.cfg.Namespace {
		res.file.PutIn = res.namespace
	}
	res.file.DocumentID = c.known.DocumentID
	if res.file.DocumentID == "" || c.known.In() != res.namespace {
		res.file.DocumentID = ident.New()
	}
	res.put = &retrieval.Put{
		Document: retrieval.Document{
			ID: res.file.DocumentID, Namespace: res.namespace, Name: c.name,
			Title: m.Title, URL: m.URL, Category: m.Category, Access: m.Access, Attributes: m.Attributes,
			MediaType: x.media, Owner: r.cfg.Owner, SHA256: o.sha, Size: o.bytes,
			Chunks: len(x.chunks), Generation: r.cfg.generation, Notes: res.file.Detail, IndexedAt: time.Now().UTC().Truncate(time.Microsecond),
		},
		Chunks: x.chunks,
	}
	res.put.Pages, res.put.Document.Pages = pagesOf(x.doc)
	return res
}

// decided returns who may see a file's document if the settings or the source decide it; nil if the files do.
func (r *run) decided(c *candidate) *access.List {
	if r.cfg.Access.Restricted() {
		return &r.cfg.Access
	}
	return c.access
}

// notesOf describes in sentences which parts of a document could not be read; "" if it was read
// completely.
func notesOf(doc *extract.Document) string {
	sentences := make([]string, len(doc.Notes))
	for i, n := range doc.Notes {
		first, size := utf8.DecodeRuneInString(n)
		sentences[i] = string(unicode.ToUpper(first)) + n[size:] + "."
	}
	return strings.Join(sentences, " ")
}

// pagesOf returns a document's pages in their stored form, and the number of pages with a page number.
func pagesOf(doc *extract.Document) (pages []retrieval.Page, numbered int) {
	for _, p := range doc.Pages {
		if p.Number > 0 {
			numbered++
		}
		pages = append(pages, retrieval.Page{Number: p.Number, Text: p.Text, Map: encodeMap(p)})
	}
	return pages, numbered
}

// unread returns the result of a file that could not be copied.
func (r *run) unread(ctx context.Context, res result, err error) result {
	var source *sourceError
	switch {
	case ctx.Err() != nil:
		res.error = ctx.Err()
	case errors.As(err, new(*RemoteError)):
		res.error = err
	case !errors.As(err, &source), res.from.part != nil && !errors.Is(err, errTooLarge) && !errors.Is(err, errNoParser):
		res.error = fmt.Errorf("keep the original of %s: %w", res.from.display(), err)
	case errors.Is(err, errNoParser):
		return res.failed(extract.Unsupported, unsupported(res.from.fileName()))
	case errors.Is(err, errTooLarge):
		return res.failed(extract.TooLarge, fmt.Sprintf("it has more than %d MiB", r.cfg.MaxBytes>>20))
	default:
		// After an error of the disk or the network, the existing document stays.
		res.leave = !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist)
		return res.failed(extract.Unreadable, metadata.Cause(source.err))
	}
	return res
}

// original is the content of a file at one moment.
type original struct {
	sha     string
	seen    string // hash of the bytes that were read, before any conversion to UTF-8
	bytes   int64
	size    int64     // as the file system reported it before reading
	modTime time.Time // likewise; zero if the file must be read again
}

// sourceError is an error of the file itself, not of its copy.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

var (
	errTooLarge   = errors.New("larger than allowed")
	errNotRegular = errors.New("it is not a regular file any more")
	errNoParser   = errors.New("there is no parser for it")
)

// snapshotTries is the number of attempts to read a file that changes while it is read.
const snapshotTries = 3

// snapshot copies the content of a file into the blob store. All later steps use the copy, so that text
// and original agree. If a file keeps changing, it is used as it is and marked to be read again at the
// next run.
func (r *run) snapshot(ctx context.Context, c *candidate) (original, error) {
	switch {
	case c.page != nil:
		return r.keepPage(ctx, c)
	case c.object != nil:
		return r.keepObject(ctx, c)
	}
	var o original
	for range snapshotTries {
		var stable bool
		var err error
		if o, stable, err = r.copy(ctx, c); err != nil || stable {
			return o, err
		}
	}
	o.modTime = lookAgain
	return o, nil
}

// lookAgain is a modification time that no file has, so that the file will be read again.
var lookAgain = time.Unix(0, 1).UTC()

// settled returns t if any later change of the file is certain to get a later time, and lookAgain
// otherwise. Clocks of file systems tick every few milliseconds, those of old ones every 2 s.
func settled(t time.Time) time.Time {
	tick := 50 * time.Millisecond
	if t.Nanosecond() == 0 {
		tick = 2 * time.Second
	}
	if age := time.Since(t); age >= 0 && age < tick {
		return lookAgain
	}
	return t
}

// copy copies a file into the blob store, and reports whether it did not change meanwhile.
func (r *run) copy(ctx context.Context, c *candidate) (o original, stable bool, err error) {
	if !r.cfg.Supports(c.path, nil) {
		return o, false, &sourceError{errNoParser}
	}
	if c.size > r.cfg.MaxBytes {
		return o, false, &sourceError{errTooLarge}
	}
	f, err := c.open()
	if err != nil {
		return o, false, &sourceError{err}
	}
	defer f.Close()
	before, err := f.Stat()
	if err == nil && !before.Mode().IsRegular() {
		err = errNotRegular
	}
	if err == nil {
		err = r.checkHead(c, f)
	}
	if err != nil {
		return o, false, &sourceError{err}
	}
	if o, err = r.store(ctx, f); err != nil {
		return o, false, err
	}
	if c.part != nil {
		o.size, o.modTime = o.bytes, c.modTime
		return o, true, nil
	}
	after, err := f.Stat()
	if err != nil {
		return o, false, &sourceError{err}
	}
	o.size, o.modTime = before.Size(), settled(before.ModTime().UTC())
	return o, o.bytes == o.size && after.Size() == o.size && after.ModTime().Equal(before.ModTime()), nil
}

// store copies what a reader has into the blob store.
func (r *run) store(ctx context.Context, from io.Reader) (o original, err error) {
	src := &watched{r: io.LimitReader(from, r.cfg.MaxBytes+1)}
	o.sha, o.bytes, err = r.cfg.Blobs.Put(ctx, src)
	o.seen = o.sha
	switch {
	case src.err != nil:
		return o, &sourceError{src.err}
	case err == nil && o.bytes > r.cfg.MaxBytes:
		return o, &sourceError{errTooLarge}
	}
	return o, err
}

// open opens a file in its folder or spool.
func (c *candidate) open() (*os.File, error) {
	if c.part != nil {
		return c.part.spool.openPart(c.part.index)
	}
	return c.target.dir.OpenFile(filepath.FromSlash(c.path), os.O_RDONLY|nonblock, 0)
}

// checkHead rejects a file that no parser can read before it is copied.
func (r *run) checkHead(c *candidate, f *os.File) error {
	head := make([]byte, headBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !r.cfg.Supports(c.path, head[:n]) {
		return errNoParser
	}
	return nil
}

// headBytes is the number of bytes at the start of a file that suffice to find its parser.
const headBytes = 4096

// watched remembers the error that ended a reader.
type watched struct {
	r   io.Reader
	err error
}

func (s *watched) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// limits returns the limits for the file, or for the pages of its site.
func (c *candidate) limits(said metadata.Said) metadata.Limits {
	if c.target.site != nil {
		return c.target.site.limits()
	}
	return said.Limits()
}

// extracted is the result of reading a file.
type extracted struct {
	doc    *extract.Document
	chunks []retrieval.Chunk
	format string
	media  string // media type
}

// extract reads the stored original and cuts it into chunks. Nested files go to the spool.
func (r *run) extract(ctx context.Context, res *result, o original, said metadata.Said, s *spool) (x extracted, err error) {
	c := res.from
	f, err := r.cfg.Blobs.Open(o.sha)
	if err != nil {
		return x, fmt.Errorf("open the original of %s: %w", c.display(), err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return x, fmt.Errorf("read the original of %s: %w", c.display(), err)
	}
	request := extract.Request{
		Name: path.Base(c.fileName()), Path: f.Name(), Passwords: append(said.Passwords(), r.cfg.Passwords...), Without: c.limits(said).SkipSections,
		Post: r.cfg.post(), Seen: r.cfg.seen(o.sha),
	}
	res.budget.limit(&request)
	spooling := res.budget.parts > 0 && res.budget.bytes > 0 && (c.part == nil || len(c.part.around) < maxDepth)
	if spooling {
		request.Spool = s.dir
	}
	result, err := r.cfg.Extractor.Extract(ctx, request)
	refused, _ := errors.AsType[*extract.Error](err)
	res.budget.settle(result, refused, c.part != nil)
	if err != nil {
		if refused != nil {
			if note := r.await(res, o, f, refused.Format, refused.Unread, &request); note != "" {
				refused.Detail += "; " + note
			}
		}
		return x, err
	}
	if note := r.await(res, o, f, result.Document.Format, result.Document.Unread, &request); note != "" && len(result.Document.Notes) > 0 {
		result.Document.Notes[0] += "; " + note
	}
	x.doc, x.format, x.media = result.Document, result.Document.Format, mediaType(c.fileName(), head[:n])
	r.noteParts(s, x.doc, spooling)
	if len(x.doc.Pages) > 0 || len(x.doc.Parts) == 0 {
		if x.chunks, err = r.chunks(result); err != nil {
			return x, err
		}
		x.chunks = x.chunks[:c.limits(said).Most(len(x.chunks))]
		err = res.budget.keep(x.chunks)
	}
	return x, err
}

// chunks returns the chunks that the extractor's process made, or cuts the document here. A panic of the
// splitter fails the file, not the process.
func (r *run) chunks(result *extract.Result) (chunks []retrieval.Chunk, err error) {
	if result.Post != nil {
		if chunks, err = decodeChunks(result.Post, result.Document.Pages, r.cfg.Split); err != nil {
			return nil, &extract.Error{Reason: extract.Crashed, Detail: err.Error()}
		}
		return chunks, nil
	}
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Logger.Error("split a document", "panic", p, "stack", string(debug.Stack()))
			err = &extract.Error{Reason: extract.Crashed, Detail: "its text cannot be cut into chunks"}
		}
	}()
	chunks = Split(result.Document, r.cfg.Split)
	if len(chunks) == 0 {
		return nil, &extract.Error{Reason: extract.Empty, Detail: "the file has no text"}
	}
	return chunks, nil
}

// mediaType returns the media type of a file: by its first bytes if they are unambiguous, else by its
// extension, else by a guess from its bytes.
func mediaType(name string, head []byte) string {
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return "application/pdf"
	}
	if t := format.MediaType(format.Ext(name)); t != "" {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return t
}

func unsupported(name string) string {
	if ext := path.Ext(name); ext != "" {
		return "there is no parser for " + text.Printable(strings.ToLower(ext)) + " files"
	}
	return "there is no parser for its format"
}
