package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/text"
)

// readCmd shows what an ingestion would take from files.
type readCmd struct {
	Files    []string `arg:"" name:"file" help:"Files, folders, and the addresses of web pages."`
	Password []string `help:"A password to try on encrypted files, besides those of sidecar files and of parley.yaml. Repeat it for several." sep:"none" placeholder:"PASSWORD"`
	JSON     bool     `name:"json" help:"Print one JSON object for each file, one a line."`
}

// Run ingests the files into a data folder of its own, which it removes, and prints what was read. It returns errPartial
// if a file that the user named has no text, or a file in a folder or archive failed.
func (c readCmd) Run(ctx context.Context, p *program) error {
	d := newDisplay(p.stderr, time.Now)
	level := p.config.LogLevel
	if level == "info" {
		level = "warn" // people want to see the text only
	}
	p.log = newLogger(d, level)
	from, err := siteFlags{MaxPages: 1}.from(p, c.Files)
	if err != nil {
		return err
	}
	if len(from.Remotes) > 0 {
		return usagef("parley read takes files, folders and web pages; parley ingest reads %s", printable(from.Remotes[0].String()))
	}
	all := &readings{at: map[string]int{}}
	if err := c.ingest(ctx, p, from, all, d); err != nil {
		return interruptedReading(err)
	}
	all.call(c.Files)
	if err := all.print(p.stdout, c.JSON); err != nil {
		return err
	}
	if slices.ContainsFunc(all.files, func(r ingest.Reading) bool {
		return r.Reason != "" && (slices.Contains(c.Files, r.Path) || !ingest.Refuses(r.Reason))
	}) {
		return errPartial
	}
	return nil
}

// ingest reads the files with the settings of an ingestion, recognises the text of scanned pages, and adds
// all that it reads to all. It asks no model, which would cost money: recordings are left alone, and Tesseract reads all pages.
func (c readCmd) ingest(ctx context.Context, p *program, from documents.Sources, all *readings, d *display) (err error) {
	temporary, err := os.MkdirTemp("", "parley-read-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	cfg := withBuiltin(p.config)
	parsers := ""
	if exists(cfg.Data) {
		parsers = filepath.Join(cfg.Data, "cache")
	}
	cfg.Data, cfg.Database, cfg.IngestTranscriber, cfg.IngestOCRModel = temporary, "", "", ""
	db, err := store.Open(ctx, cfg.Data, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	corpus, err := retrieval.Open(ctx, db.Corpus(), p.log)
	if err != nil {
		return err
	}
	web := newWebClient(cfg)
	defer web.Close()
	about := p.documentsConfig(cfg, db, corpus, web)
	about.Cache, about.Reading, about.Passwords = parsers, all.add, c.Password
	service := documents.New(about)
	defer d.Finish()
	for {
		report, err := service.Ingest(ctx, from, d.Update)
		bad, isPath := errors.AsType[*ingest.PathError](err)
		switch {
		case isPath: // read the others
			from.Paths = slices.DeleteFunc(from.Paths, func(path string) bool { return path == bad.Path })
			all.add(ingest.Reading{Path: bad.Path, Reason: extract.Unreadable, Detail: bad.Reason})
			continue
		case err != nil:
			return badPath(err)
		}
		all.addRefused(append(report.Failed, report.Skipped...))
		return p.recogniseNow(ctx, service, p.stderr)
	}
}

// interruptedReading replaces the error of a cancelled context with "interrupted".
func interruptedReading(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// readings are the files that were read. The files inside a file follow it.
type readings struct {
	mu    sync.Mutex
	files []ingest.Reading
	at    map[string]int // index of each path
}

// add adds a file. A second reading of the same file, which has the recognised text of its pages, replaces the first.
func (r *readings) add(f ingest.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, known := r.at[f.Path]; known {
		r.files[i] = f
		return
	}
	r.at[f.Path] = len(r.files)
	r.files = append(r.files, f)
}

// addRefused adds the files that were never opened.
func (r *readings) addRefused(files []ingest.FileResult) {
	for _, f := range files {
		if _, known := r.at[f.Path]; !known {
			r.add(ingest.Reading{Path: f.Path, Reason: f.Reason, Detail: f.Detail})
		}
	}
}

// call sorts the files by the arguments that name them, and shortens their paths to the form of the argument.
func (r *readings) call(arguments []string) {
	called := make([][]ingest.Reading, len(arguments)+1)
	for _, f := range r.files {
		at := len(arguments)
		for n, given := range slices.Backward(arguments) {
			if name, below := nameBelow(given, f.Path); below {
				f.Path, at = name, n
				break
			}
		}
		called[at] = append(called[at], f)
	}
	r.files = slices.Concat(called...)
}

// nameBelow returns the path of a file in the form of an argument; below is false if the file is neither the argument nor inside it.
func nameBelow(argument, path string) (string, bool) {
	if argument == path {
		return path, true
	}
	whole, err := filepath.Abs(argument)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		return "", false
	}
	rest, below := strings.CutPrefix(path, text.Printable(whole))
	if !below || rest != "" && !os.IsPathSeparator(rest[0]) && !strings.HasSuffix(whole, string(filepath.Separator)) {
		return "", false
	}
	return text.Printable(strings.TrimSuffix(argument, string(filepath.Separator))) + rest, true
}

func (r *readings) print(w io.Writer, asJSON bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i, f := range r.files {
		switch {
		case asJSON:
			if err := enc.Encode(shownFile(f)); err != nil {
				return err
			}
			continue
		case i > 0:
			fmt.Fprintln(w)
		}
		if err := printFile(w, shownFile(f)); err != nil {
			return err
		}
	}
	return nil
}

// readFile is a file in the output of `parley read --json`; programs rely on its keys.
type readFile struct {
	File   string     `json:"file"`
	Format string     `json:"format,omitempty"`
	Title  string     `json:"title,omitempty"`
	Chunks int        `json:"chunks,omitempty"`
	Reason string     `json:"reason,omitempty"` // why it is not indexed
	Detail string     `json:"detail,omitempty"` // the reason, or the part that could not be read
	Unread []int      `json:"unread,omitempty"` // pages whose text could not be read
	Inside []string   `json:"inside,omitempty"` // files inside it
	Pages  []readPage `json:"pages"`
}

type readPage struct {
	Page   int         `json:"page,omitempty"` // 0 where the format has no pages
	Blocks []readBlock `json:"blocks"`
}

type readBlock struct {
	Kind  string `json:"kind"`
	Level int    `json:"level,omitempty"` // of a heading
	Text  string `json:"text"`
}

// blockKinds are the names of the kinds of blocks.
var blockKinds = map[extract.Kind]string{
	extract.Paragraph: "paragraph", extract.Heading: "heading", extract.ListItem: "item",
	extract.TableHeader: "header", extract.TableRow: "row", extract.Code: "code",
}

// shownFile converts a reading for output.
func shownFile(f ingest.Reading) readFile {
	shown := readFile{File: f.Path, Format: f.Format, Title: f.Title, Chunks: f.Chunks,
		Reason: string(f.Reason), Detail: f.Detail, Pages: []readPage{}}
	if f.Document == nil {
		return shown
	}
	shown.Unread = f.Document.Unread
	for _, part := range f.Document.Parts {
		shown.Inside = append(shown.Inside, text.Printable(part.Name))
	}
	for _, p := range f.Document.Pages {
		page := readPage{Page: p.Number, Blocks: []readBlock{}}
		for _, b := range p.Blocks {
			if b.Start >= 0 && b.Start <= b.End && b.End <= len(p.Text) {
				page.Blocks = append(page.Blocks, readBlock{blockKinds[b.Kind], b.Level, p.Text[b.Start:b.End]})
			}
		}
		shown.Pages = append(shown.Pages, page)
	}
	return shown
}

// kindWidth is the width of the column that shows the kinds of blocks.
const kindWidth = len("paragraph") + 2

// printFile prints a file for people: its name and format, what could not be read, and its pages, block by block.
func printFile(w io.Writer, f readFile) error {
	heads := []struct{ label, text string }{{"File", f.File}, {"Format", f.Format}, {"Title", plain(f.Title)}}
	if f.Chunks > 0 {
		heads = append(heads, struct{ label, text string }{"Size", plural(max(len(f.Pages), 1), "page") + ", " + plural(f.Chunks, "chunk")})
	}
	fault := "Warning"
	if f.Reason != "" {
		fault = "Not indexed (" + f.Reason + ")"
	}
	heads = append(heads, []struct{ label, text string }{{fault, f.Detail}, {"Files inside", strings.Join(f.Inside, ", ")}}...)
	for _, h := range heads {
		if h.text != "" {
			fmt.Fprintf(w, "%s: %s\n", h.label, h.text)
		}
	}
	for _, p := range f.Pages {
		if p.Page > 0 {
			fmt.Fprintf(w, "\n--- page %d ---\n", p.Page)
		}
		fmt.Fprintln(w)
		for _, b := range p.Blocks {
			kind := b.Kind
			if b.Level > 0 {
				kind = fmt.Sprintf("%s %d", kind, b.Level)
			}
			for l := range strings.SplitSeq(b.Text, "\n") {
				if _, err := fmt.Fprintf(w, "%-*s%s\n", kindWidth, kind, plain(l)); err != nil {
					return err
				}
				kind = ""
			}
		}
	}
	return nil
}

// plain replaces control characters, which could take over a terminal.
func plain(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, line)
}
