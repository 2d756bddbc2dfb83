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

	"github.com/oklog/ulid/v2"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// result is what became of one candidate.
type result struct {
	from  *candidate
	file  retrieval.File // the row to write
	put   *retrieval.Put // the document's new revision; nil when there is none
	same  bool           // the content is what it was: only the row changes
	leave bool           // nothing is known of the file: neither row nor document change
	error error          // ends the run
}

// failed makes the result of a file that gives no document.
func (r result) failed(reason extract.Reason, detail string) result {
	r.file.DocumentID, r.file.Reason, r.file.Detail = "", string(reason), detail
	r.put = nil
	return r
}

// read takes one file as far as it can go without the corpus.
func (r *run) read(ctx context.Context, c *candidate) result {
	res := result{from: c, file: retrieval.File{
		FileKey: retrieval.FileKey{Root: c.target.root.Path, Path: c.key},
		Size:    c.size, ModTime: c.modTime, Generation: Generation,
	}}
	// Again, because it may have come or changed since the walk.
	side, sideHash, err := readSidecar(c.target.dir, c.path)
	if sideHash != "" {
		res.file.SHA256 = "+" + sideHash
	}
	switch {
	case err != nil && sideHash == "":
		return res.failed(extract.Unreadable, err.Error())
	case err != nil:
		return res.failed(BadMetadata, err.Error())
	case !r.cfg.Supports(c.path):
		return res.failed(extract.Unsupported, unsupported(c.path))
	case c.size > r.cfg.MaxBytes:
		return res.failed(extract.TooLarge, fmt.Sprintf("it has more than %d MiB", r.cfg.MaxBytes>>20))
	}

	original, err := r.snapshot(ctx, c)
	if err != nil {
		return r.unread(ctx, res, err)
	}
	res.file.Size, res.file.ModTime = original.size, original.modTime
	res.file.SHA256 = original.sha + res.file.SHA256
	if k := c.known; k.SHA256 == res.file.SHA256 && k.Generation == Generation && !k.adopted &&
		!passing(extract.Reason(k.Reason)) {
		res.same = true
		res.file.DocumentID, res.file.Reason, res.file.Detail = k.DocumentID, k.Reason, k.Detail
		return res
	}

	doc, chunks, mediaType, err := r.extract(ctx, c, original)
	var reason *extract.Error
	switch {
	case errors.As(err, &reason):
		return res.failed(reason.Reason, reason.Detail)
	case err != nil:
		res.error = err
		return res
	}
	about, err := describe(doc, side, path.Base(c.path))
	if err != nil {
		return res.failed(BadMetadata, err.Error())
	}
	res.file.DocumentID = c.known.DocumentID
	if res.file.DocumentID == "" {
		res.file.DocumentID = ulid.Make().String()
	}
	res.put = &retrieval.Put{
		Document: retrieval.Document{
			ID: res.file.DocumentID, Namespace: r.cfg.Namespace, Name: c.name,
			Title: about.title, URL: about.url, Category: about.category, Access: about.access,
			MediaType: mediaType, Owner: r.cfg.Owner, SHA256: original.sha, Size: original.bytes,
			Chunks: len(chunks), Generation: Generation, IndexedAt: time.Now().UTC().Truncate(time.Microsecond),
		},
		Chunks: chunks,
	}
	for _, p := range doc.Pages {
		if p.Number > 0 {
			res.put.Document.Pages++
		}
		res.put.Pages = append(res.put.Pages, retrieval.Page{Number: p.Number, Text: p.Text, Map: EncodeRuns(p.Chars)})
	}
	return res
}

// unread makes the result of a file of which no snapshot could be taken.
func (r *run) unread(ctx context.Context, res result, err error) result {
	var source *sourceError
	switch {
	case ctx.Err() != nil:
		res.error = ctx.Err()
	case !errors.As(err, &source):
		res.error = fmt.Errorf("keep the original of %s: %w", res.from.display(), err)
	case errors.Is(err, errTooLarge):
		return res.failed(extract.TooLarge, fmt.Sprintf("it has more than %d MiB", r.cfg.MaxBytes>>20))
	default:
		// A disk or network that fails says nothing about the document that is there.
		res.leave = !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist)
		return res.failed(extract.Unreadable, cause(source.err))
	}
	return res
}

// original is a file's content as it was at one moment.
type original struct {
	sha     string
	bytes   int64
	size    int64     // as the file system said before it was read
	modTime time.Time // the same; zero when the file must be looked at again
}

// sourceError says that the file is the trouble, not the place where its copy goes.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

var (
	errTooLarge   = errors.New("larger than allowed")
	errNotRegular = errors.New("it is not a regular file any more")
)

// snapshotTries is how often a file that changes while it is read is read again.
const snapshotTries = 3

// snapshot puts the content of a file into the blob store. Everything else is done with that
// copy, so that text and original agree. A file that keeps changing is taken as it is, and
// remembered as one to read again at the next run.
func (r *run) snapshot(ctx context.Context, c *candidate) (original, error) {
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

// lookAgain is a time that no file has.
var lookAgain = time.Unix(0, 1).UTC()

// settled returns t when a later change of the file is sure to show in a later time, else
// lookAgain: clocks of file systems tick every few milliseconds, those of old ones every 2 s.
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

// copy copies a file into the blob store, and reports whether it stayed the same meanwhile.
func (r *run) copy(ctx context.Context, c *candidate) (o original, stable bool, err error) {
	f, err := c.target.dir.OpenFile(filepath.FromSlash(c.path), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return o, false, &sourceError{err}
	}
	defer f.Close()
	before, err := f.Stat()
	if err == nil && !before.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return o, false, &sourceError{err}
	}
	src := &source{r: io.LimitReader(f, r.cfg.MaxBytes+1)}
	o.sha, o.bytes, err = r.cfg.Blobs.Put(ctx, src)
	switch {
	case src.err != nil:
		return o, false, &sourceError{src.err}
	case err != nil:
		return o, false, err
	case o.bytes > r.cfg.MaxBytes:
		return o, false, &sourceError{errTooLarge}
	}
	after, err := f.Stat()
	if err != nil {
		return o, false, &sourceError{err}
	}
	o.size, o.modTime = before.Size(), settled(before.ModTime().UTC())
	return o, o.bytes == o.size && after.Size() == o.size && after.ModTime().Equal(before.ModTime()), nil
}

// source remembers the error with which a reader ended.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// extract reads the stored original and cuts it into chunks.
func (r *run) extract(ctx context.Context, c *candidate, o original) (
	doc *extract.Document, chunks []retrieval.Chunk, media string, err error,
) {
	f, err := r.cfg.Blobs.Open(o.sha)
	if err != nil {
		return nil, nil, "", fmt.Errorf("open the original of %s: %w", c.display(), err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, "", fmt.Errorf("read the original of %s: %w", c.display(), err)
	}
	result, err := r.cfg.Extractor.Extract(ctx, extract.Request{Name: path.Base(c.path), Path: f.Name()})
	if err != nil {
		return nil, nil, "", err
	}
	if chunks, err = r.chunks(result); err != nil {
		return nil, nil, "", err
	}
	return result.Document, chunks, mediaType(c.path, head[:n]), nil
}

// chunks takes the chunks that the extractor's process made, or makes them here. What the text of
// a stranger makes the splitter trip over is a failed file, not a crash.
func (r *run) chunks(result *extract.Result) (chunks []retrieval.Chunk, err error) {
	if result.Post != nil {
		if chunks, err = decodeChunks(result.Post, result.Document.Pages); err != nil {
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
	chunks = Split(result.Document, SplitOptions{})
	if len(chunks) == 0 {
		return nil, &extract.Error{Reason: extract.Empty, Detail: "the file has no text"}
	}
	return chunks, nil
}

// mediaTypes by extension; those of the operating system differ from machine to machine.
var mediaTypes = map[string]string{
	".pdf": "application/pdf", ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml",
	".md": "text/markdown", ".markdown": "text/markdown", ".csv": "text/csv", ".txt": "text/plain",
	".tsv":  "text/tab-separated-values",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}

// mediaType says what a file is: what its first bytes say beyond doubt, else its extension, else
// a guess from its bytes.
func mediaType(name string, head []byte) string {
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return "application/pdf"
	}
	if t, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return t
}

func unsupported(name string) string {
	if ext := path.Ext(name); ext != "" {
		return "there is no parser for " + printable(strings.ToLower(ext)) + " files"
	}
	return "there is no parser for its format"
}
