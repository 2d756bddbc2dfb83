package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/internal/documents/crawl"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// siteRun brings the corpus up to date with one site.
type siteRun struct {
	*run
	site    Site
	target  *target
	rows    map[string]retrieval.File   // of the pages, by address
	inside  map[string][]retrieval.File // nested files of a page, by its address
	memory  map[string]crawl.Remembered
	partial bool // only one page of another site is read; the site's other pages stay
	before  int  // number of addresses of the previous sites
}

// site walks over a site and commits the results as it goes.
func (r *run) site(ctx context.Context, s Site) error {
	address, err := crawl.Normalise(s.URL)
	if err != nil {
		return &SiteError{s.URL, err.Error()}
	}
	s.URL = address
	run := &siteRun{run: r, site: s, before: r.meter.total(), memory: map[string]crawl.Remembered{},
		rows: map[string]retrieval.File{}, inside: map[string][]retrieval.File{}}
	run.target = &target{path: address, site: &run.site, ids: map[string]bool{}, prefixes: map[string]bool{}}
	if err := run.load(ctx); err != nil {
		return err
	}
	if err := run.record(ctx); err != nil {
		return err
	}
	r.names = newCatalogs(r.cfg.Store, r.claims) // of the corpus as it is now
	return r.work(ctx, r.cfg.Workers, run.produce)
}

// load reads the stored rows of the site, and finds which of its pages belong to another site.
func (s *siteRun) load(ctx context.Context) error {
	roots, err := (&Ingester{cfg: s.cfg}).siteRoots(ctx)
	if err != nil {
		return err
	}
	s.target.root = retrieval.Root{Path: s.site.URL}
	mine := slices.IndexFunc(roots, func(r retrieval.Root) bool { return r.Path == s.site.URL })
	if mine >= 0 {
		s.target.root = roots[mine]
	}
	files := make([][]retrieval.File, len(roots))
	for i, root := range roots {
		if files[i], err = s.cfg.Store.Files(ctx, s.cfg.Namespace, root.Path); err != nil {
			return fmt.Errorf("read what is known of %s: %w", root.Path, err)
		}
		if mine < 0 && s.site.Depth == 0 && slices.ContainsFunc(files[i], s.isFirst) {
			mine, s.target.root, s.partial = i, root, true
		}
	}
	for i := range roots {
		if i == mine {
			s.remember(files[i])
		} else {
			s.leave(files[i])
		}
	}
	return nil
}

func (s *siteRun) isFirst(f retrieval.File) bool {
	return f.Path == s.site.URL && (f.DocumentID != "" || f.Reason == string(removed))
}

// remember uses the rows of the site itself.
func (s *siteRun) remember(files []retrieval.File) {
	for _, f := range files {
		if f.DocumentID != "" {
			s.target.ids[f.DocumentID] = true
		}
		if page, inside := pageOf(f.Path); inside {
			s.inside[page] = append(s.inside[page], f)
		} else {
			s.rows[f.Path] = f
		}
	}
	for address, f := range s.rows {
		if s.partial && address != s.site.URL && f.Reason != string(siteFile) {
			continue
		}
		s.memory[address] = s.remembered(f, s.inside[address])
	}
}

func (s *siteRun) remembered(f retrieval.File, inside []retrieval.File) crawl.Remembered {
	sha, _, _ := strings.Cut(f.SHA256, "+")
	m := crawl.Remembered{State: decodePageState(f.State).State, SHA256: sha}
	if f.Reason != "" { // without a reason, Detail says what could not be read
		m.Detail = f.Detail
	}
	if f.Reason == string(siteFile) {
		return m
	}
	m.Live = f.DocumentID != "" || len(inside) > 0
	m.Skip = f.Reason == string(removed) && (f.Path != s.site.URL || s.site.Again) && !s.site.Force
	m.Stale = s.site.Force || f.Generation != s.cfg.generation || passing(extract.Reason(f.Reason)) ||
		f.Reason == string(removed) || m.Live && !strings.HasSuffix(f.SHA256, sha+s.site.suffix())
	return m
}

// leave uses the rows of another site, whose pages are in the corpus already.
func (s *siteRun) leave(files []retrieval.File) {
	for _, f := range files {
		_, inside := pageOf(f.Path)
		if _, mine := s.memory[f.Path]; inside || mine || f.DocumentID == "" || f.Path == s.site.URL {
			continue
		}
		sha, _, _ := strings.Cut(f.SHA256, "+")
		s.memory[f.Path] = crawl.Remembered{State: decodePageState(f.State).State, SHA256: sha, Skip: true}
	}
}

// record stores the site with its options, so that a later run knows it even if this one is interrupted.
// It writes nothing if the options have not changed.
func (s *siteRun) record(ctx context.Context) error {
	if s.partial {
		return nil
	}
	source, err := json.Marshal(s.site)
	if err != nil {
		return fmt.Errorf("write the options of %s: %w", s.site.URL, err)
	}
	if s.target.root.Source == string(source) {
		return nil
	}
	s.target.root.Source = string(source)
	err = s.cfg.Corpus.Apply(ctx, retrieval.Batch{Namespace: s.cfg.Namespace, PutRoots: []retrieval.Root{s.target.root}})
	if err != nil {
		return fmt.Errorf("record the site %s: %w", s.site.URL, err)
	}
	return nil
}

// produce walks over the site.
func (s *siteRun) produce(ctx context.Context, read func(*candidate) bool, done func(result) bool) {
	for v, err := range s.cfg.Crawler.Walk(ctx, s.site.walk(), s.memory) {
		if err != nil {
			done(result{error: err})
			return
		}
		s.meter.add(func(p *Progress) { p.FilesTotal, p.Current = s.before+v.Found, v.URL })
		if !s.visited(ctx, v, read, done) {
			return
		}
	}
}

// visited turns a visit into a candidate to read or a result to write.
func (s *siteRun) visited(ctx context.Context, v crawl.Visit, read func(*candidate) bool, done func(result) bool) bool {
	known, row := s.rows[v.URL], retrieval.File{
		FileKey: retrieval.FileKey{Root: s.target.root.Path, Path: v.URL}, Namespace: s.cfg.Namespace,
		Generation: s.cfg.generation, Reason: string(v.Reason), Detail: v.Detail,
	}
	c := &candidate{target: s.target, path: crawl.Name(v.URL), key: v.URL, known: knownFile{File: known}, inside: s.inside[v.URL]}
	var err error
	if row.State, err = (pageState{State: v.State}).encode(); err != nil {
		return done(result{error: fmt.Errorf("note what is known of %s: %w", v.URL, err)})
	}
	switch v.Outcome {
	case crawl.Fetched:
		return s.fetched(ctx, c, v, read, done)
	case crawl.Unchanged:
		return s.keepAll(c, known, v.First, done)
	case crawl.Noted:
		row.Reason = string(siteFile)
		return row == known || done(result{from: c, file: row})
	case crawl.Failed, crawl.Stopped:
		return done(result{from: c, file: row, leave: true, first: v.First && v.Outcome == crawl.Failed})
	case crawl.Gone:
		if !v.Linked && !v.First {
			return s.dropAll(c, known, done)
		}
	case crawl.Duplicate:
		row.SHA256 = v.SHA256
	}
	if row == known {
		return done(result{from: c, file: known, same: true, leave: true, first: v.First})
	}
	return s.dropInside(c, done) && done(result{from: c, file: row, first: v.First})
}

// fetched passes on a page whose body was read, unless it has not changed.
func (s *siteRun) fetched(ctx context.Context, c *candidate, v crawl.Visit, read func(*candidate) bool, done func(result) bool) bool {
	p, err := newWebPage(v, &s.site)
	if err != nil {
		return done(result{error: fmt.Errorf("note what is known of %s: %w", v.URL, err)})
	}
	known := c.known.File
	given := known.DocumentID != "" || len(c.inside) > 0 || isOfExtraction(extract.Reason(known.Reason))
	if given && known.SHA256 == v.SHA256+s.site.suffix() && known.Generation == s.cfg.generation && !s.site.Force && !c.mayPass() {
		row := known
		row.State = p.state
		return s.keepAll(c, row, v.First, done)
	}
	c.page = p
	c.known.SHA256 = "" // it is read even if it has not changed
	if err := s.name(ctx, c, s.cfg.Namespace); err != nil {
		return done(result{error: err})
	}
	return read(c)
}

// isOfExtraction reports whether a page was fetched but gave no document for this reason.
func isOfExtraction(reason extract.Reason) bool {
	switch reason {
	case extract.Unsupported, extract.Empty, extract.ScanOnly, extract.Encrypted, extract.Damaged, extract.TooLarge,
		extract.Timeout, extract.Crashed, BadMetadata:
		return true
	}
	return false
}

// keepAll counts an unchanged page and its nested files; only the row may change.
func (s *siteRun) keepAll(c *candidate, row retrieval.File, first bool, done func(result) bool) bool {
	for _, f := range c.inside {
		if !done(result{from: s.row(c, f), file: f, same: true, leave: true}) {
			return false
		}
	}
	c.page = &webPage{file: decodePageState(row.State).File}
	s.meter.add(func(p *Progress) { p.Unchanged++ })
	return done(result{from: c, file: row, same: true, leave: row == c.known.File, first: first})
}

// dropAll deletes a page that is gone, with its nested files.
func (s *siteRun) dropAll(c *candidate, known retrieval.File, done func(result) bool) bool {
	return s.dropInside(c, done) && done(result{from: c, file: known, gone: true})
}

func (s *siteRun) dropInside(c *candidate, done func(result) bool) bool {
	for _, f := range c.inside {
		if !done(result{from: s.row(c, f), file: f, gone: true}) {
			return false
		}
	}
	return true
}
