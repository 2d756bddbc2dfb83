package ingest

import (
	"bytes"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// Recognition says whether the text on pictures of pages is recognised. A run does not recognise it itself, because that
// takes seconds for each page: it stores the other text of a file, and passes the file to Waiting. When the file is read
// again, the run uses the recognised text in Pages.
type Recognition struct {
	Pages    *RecognisedPages // nil if text on pictures is left alone
	Speech   *RecognisedPages // the minutes of recordings; nil if recordings are left alone
	MaxPages int              // of one document; a document with more is left alone; 0 means no limit
	Waiting  func(Waiting)    // called from Run's goroutine after the outcome of the file is committed; nil for a survey
}

// Waiting is a file with pages whose text is still to be recognised. Recognition.Pages, or Speech, keeps its original.
type Waiting struct {
	Namespace string // of its row
	Owner     string
	Root      string
	Path      string // below Root
	Name      string // the last part of its name, for its format
	SHA256    string // of its original
	Pages     []int
	Speech    bool // it is a recording
}

// mark identifies, in the generation of a row, the settings with which a run left pages unread.
func (r *Recognition) mark() string {
	if r == nil {
		return "+unread"
	}
	mark := "+unread"
	if r.Pages != nil {
		mark += fmt.Sprintf(":%s:%d", r.Pages.key, r.MaxPages)
	}
	if r.Speech != nil {
		mark += "/" + r.Speech.key
	}
	return mark
}

const waitingMark = "+waiting"

// isCurrent reports whether the file of a row with this generation need not be read again: this version read it, with
// these settings, and none of its pages wait.
func (c *Config) isCurrent(generation string) bool {
	rest, ours := strings.CutPrefix(generation, c.generation)
	if !ours {
		return false
	}
	if transcriber, heard := strings.CutPrefix(rest, heardMark); heard {
		return c.Recognition == nil || c.Recognition.Speech == nil || transcriber == c.Recognition.Speech.key
	}
	if reader, seen := strings.CutPrefix(rest, seenMark); seen {
		return c.Recognition == nil || c.Recognition.Pages == nil || reader == c.Recognition.Pages.key
	}
	return rest == "" || rest == c.Recognition.mark()
}

// heardMark precedes the key of the transcriber in the generation of a recording's row. The recording is read again only
// when another transcriber is configured.
const heardMark = "+heard:"

// seenMark does the same for a file with recognised pages.
const seenMark = "+seen:"

// takes reports whether the pages of a document are recognised.
func (r *Recognition) takes(pages int) bool {
	return r != nil && (r.MaxPages <= 0 || pages <= r.MaxPages)
}

// await marks the row of a file with pages that could not be read, and keeps its original if they are to be recognised.
// It returns what to tell people about these pages.
func (r *run) await(res *result, o original, f *os.File, format string, unread []int, request *extract.Request) (note string) {
	c, about := res.from, r.cfg.Recognition
	speech := format == recording
	switch {
	case about != nil && about.Waiting == nil:
		return ""
	case speech && len(unread) == 0 && about != nil && about.Speech != nil:
		res.file.Generation += heardMark + about.Speech.key
		return ""
	case len(unread) == 0 && len(request.Seen) > 0 && about != nil && about.Pages != nil:
		res.file.Generation += seenMark + about.Pages.key
		return ""
	case len(unread) == 0:
		return ""
	case speech && (about == nil || about.Speech == nil):
		res.file.Generation += about.mark()
		return "no model transcribes recordings (ingest.transcriber)"
	case speech && c.page != nil:
		res.file.Generation += about.mark()
		return "recordings of web sites are not transcribed"
	case speech:
		return r.wait(res, o, f, about.Speech, unread, "it is being transcribed")
	case about == nil || about.Pages == nil:
		res.file.Generation += about.mark()
		return "the recognition of text on pictures is switched off (ingest.ocr)"
	case c.page != nil:
		res.file.Generation += about.mark()
		return "text on pictures in files of web sites is not recognised"
	case len(request.Passwords) > 0:
		res.file.Generation += about.mark()
		return "text on pictures in files that need a password is not recognised"
	case !about.takes(len(unread)):
		res.file.Generation += about.mark()
		return fmt.Sprintf("text on pictures is recognised for at most %d pages of a document, and %d would need it (ingest.ocr_pages, or ingest.ocr: always)",
			about.MaxPages, len(unread))
	}
	return r.wait(res, o, f, about.Pages, unread, "their text is being recognised")
}

// recording is the format of files that are transcribed.
const recording = "recording"

// wait keeps an original until its pages are known. It returns note, or "" if keeping fails.
func (r *run) wait(res *result, o original, f *os.File, in *RecognisedPages, unread []int, note string) string {
	c := res.from
	if err := in.Keep(o.sha, f); err != nil {
		r.cfg.Logger.Warn("keep an original for the recognition of its text", "error", err)
		res.file.Generation += r.cfg.Recognition.mark()
		return ""
	}
	res.file.Generation += waitingMark
	res.waiting = &Waiting{
		Namespace: r.cfg.Namespace, Owner: r.cfg.Owner, Root: c.target.root.Path, Path: c.key,
		Name: filepath.Base(c.fileName()), SHA256: o.sha, Pages: unread, Speech: in == r.cfg.Recognition.Speech,
	}
	return note
}

// seen returns the recognised pages of an original, by number.
func (c *Config) seen(sha string) map[int]extract.Seen {
	if c.Recognition == nil {
		return nil
	}
	if pages := c.Recognition.Speech.Of(sha); len(pages) > 0 {
		return pages
	}
	return c.Recognition.Pages.Of(sha)
}

// RecognisedPages keeps the text that was recognised on pages, and the originals that wait for it, in a folder. It
// can be made again, which takes long. It is safe for concurrent use.
type RecognisedPages struct {
	dir string
	key string
}

// OpenRecognised returns the pages below a folder that were recognised with certain settings, such as the
// languages, which key identifies.
func OpenRecognised(dir, key string) *RecognisedPages {
	h := fnv.New64a()
	h.Write([]byte(key))
	short := hex.EncodeToString(h.Sum(nil))
	return &RecognisedPages{dir: filepath.Join(dir, short), key: short}
}

const (
	keptOriginal = "original"
	pageSuffix   = ".page"
)

func (p *RecognisedPages) folder(sha string) string { return filepath.Join(p.dir, filepath.Base(sha)) }

// Of returns the recognised pages of an original, by number. p may be nil.
func (p *RecognisedPages) Of(sha string) map[int]extract.Seen {
	if p == nil {
		return nil
	}
	entries, err := os.ReadDir(p.folder(sha))
	if err != nil {
		return nil
	}
	pages := map[int]extract.Seen{}
	for _, e := range entries {
		name, found := strings.CutSuffix(e.Name(), pageSuffix)
		number, err := strconv.Atoi(name)
		if !found || err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.folder(sha), e.Name()))
		if err != nil {
			continue
		}
		var seen extract.Seen
		if gob.NewDecoder(bytes.NewReader(data)).Decode(&seen) == nil {
			pages[number] = seen
		}
	}
	return pages
}

// Put stores a page of an original.
func (p *RecognisedPages) Put(sha string, page int, seen extract.Seen) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(seen); err != nil {
		return fmt.Errorf("store a recognised page: %w", err)
	}
	return p.write(sha, strconv.Itoa(page)+pageSuffix, &b)
}

// Keep copies an original that waits.
func (p *RecognisedPages) Keep(sha string, f io.ReaderAt) error {
	if _, err := os.Stat(p.Original(sha)); err == nil {
		return nil
	}
	return p.write(sha, keptOriginal, io.NewSectionReader(f, 0, 1<<62))
}

func (p *RecognisedPages) write(sha, name string, content io.Reader) error {
	if err := os.MkdirAll(p.folder(sha), 0o700); err != nil {
		return fmt.Errorf("store a recognised page: %w", err)
	}
	f, err := os.CreateTemp(p.folder(sha), "new-")
	if err != nil {
		return fmt.Errorf("store a recognised page: %w", err)
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(p.folder(sha), name))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("store a recognised page: %w", err)
	}
	return nil
}

// Original returns the path of an original that waits; there is no file once all its pages are recognised.
func (p *RecognisedPages) Original(sha string) string {
	return filepath.Join(p.folder(sha), keptOriginal)
}

// Done removes an original whose pages are recognised.
func (p *RecognisedPages) Done(sha string) error {
	if err := os.Remove(p.Original(sha)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an original whose text is recognised: %w", err)
	}
	return nil
}

// Sweep removes the pages and copies of originals that the blob store no longer has and that were last used before a time.
func (p *RecognisedPages) Sweep(blobs Blobs, before time.Time) error {
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var all error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.ModTime().After(before) {
			continue
		}
		f, err := blobs.Open(e.Name())
		if err == nil {
			f.Close()
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, os.RemoveAll(p.folder(e.Name())))
		}
	}
	return errors.Join(err, all)
}

// allCurrent reports whether none of the files of rows must be read again.
func (c *Config) allCurrent(rows []retrieval.File) bool {
	return !slices.ContainsFunc(rows, func(f retrieval.File) bool { return !c.isCurrent(f.Generation) })
}
