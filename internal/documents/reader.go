package documents

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/format"
	"parley/internal/retrieval"
)

// Reader reads documents into the corpus. A Service has its own; tests may replace it.
type Reader interface {
	// Read brings the corpus up to date with w. A *ingest.LockedError means that another ingestion is
	// running.
	Read(ctx context.Context, w Work) (ingest.Report, error)
	// Survey estimates the cost of reading a path or sites, and changes nothing.
	Survey(ctx context.Context, w Work) (Estimate, error)
	// Forget deletes the documents of an address and returns how many there were.
	Forget(ctx context.Context, namespace, url string) (int, error)
}

// Work names the sources to read: the folder of a scope's uploads, a file of an ingested folder, or web
// sites.
type Work struct {
	upload.Scope
	Uploads string // the folder of the scope's uploads
	Files   int    // approximate number of its files to read
	Path    string // a file
	Sites   []ingest.Site
	Outcome func(ingest.Outcome) // called for each file and page; may be nil
}

// Estimate is the cost of indexing something.
type Estimate struct {
	Documents, Chunks int
	Tokens            int                 // of the chunks
	ToEmbed           int                 // tokens of the chunks that have no vector yet; 0 without an embedding model
	Refused           []ingest.FileResult // files that would give no document
}

// reader is the Reader of a Service.
type reader struct {
	cfg         Config
	recognised  *ingest.RecognisedPages // nil if text on pictures is left alone
	transcribed *ingest.RecognisedPages // nil if recordings are
	waiting     func(ingest.Waiting)
}

// ingester returns an Ingester for a namespace that uses the processes of a pool.
func (r *reader) ingester(namespace string, pool *sandbox.Pool) *ingest.Ingester {
	return ingest.New(r.config(namespace, pool))
}

func (r *reader) config(namespace string, pool *sandbox.Pool) ingest.Config {
	crawler := r.cfg.Crawl
	crawler.Accept = ingest.AcceptsPage
	return ingest.Config{
		Corpus: r.cfg.Corpus, Store: r.cfg.Store, Blobs: r.cfg.Blobs, Extractor: pool,
		Namespace: namespace, DataDir: r.cfg.Data, Shared: r.cfg.Locks, Supports: r.supports,
		Sweep:   func(ctx context.Context) (int, error) { return r.cfg.Disk.SweepBlobs(ctx, blobAge) },
		Workers: r.workers(), ConfigFile: r.cfg.ConfigFile, Logger: r.cfg.Logger,
		Crawler: crawl.New(r.cfg.Web, crawler), MayName: r.mayName, Split: r.cfg.Split, Recognition: r.recognition(),
		Reading: r.cfg.Reading, Passwords: r.cfg.Passwords,
	}
}

// ofScope returns the configuration for a scope, whose documents only its owner may see.
func (r *reader) ofScope(w Work, pool *sandbox.Pool) ingest.Config {
	c := r.config(w.Namespace, pool)
	c.Owner, c.Outcome = w.Owner, w.Outcome
	if w.Owner != "" {
		c.Access = access.List{Users: []string{w.Owner}}
	}
	return c
}

// blobAge is the time for which an original without a document is kept: a document that refers to it may be about
// to be committed.
const blobAge = time.Hour

// supports reports whether a file is ingested. Images help only models that read images.
func (r *reader) supports(name string, head []byte) bool {
	return extract.Supports(name, head) && (r.cfg.Images || format.NameOf(name) != "image")
}

// mayName reports whether files may name a namespace other than the one that they are ingested into.
func (r *reader) mayName(namespace string) bool {
	return slices.ContainsFunc(r.cfg.Names, func(pattern string) bool {
		begin, open := strings.CutSuffix(pattern, "*")
		return namespace == pattern || open && strings.HasPrefix(namespace, begin)
	})
}

// mostWorkers is the default maximum number of processes that read files.
const mostWorkers = 4

func (r *reader) workers() int {
	if r.cfg.Workers > 0 {
		return r.cfg.Workers
	}
	return min(runtime.NumCPU(), mostWorkers)
}

// pool returns a pool of processes that read files. ahead starts all of them with the first file.
func (r *reader) pool(workers int, ahead bool) *sandbox.Pool {
	return sandbox.NewPool(sandbox.Options{Workers: workers, Ahead: ahead, CacheDir: r.cache(), Limits: r.cfg.Extract})
}

func (r *reader) cache() string {
	if r.cfg.Cache != "" {
		return r.cfg.Cache
	}
	return filepath.Join(r.cfg.Data, "cache")
}

// temporary makes a folder for files that are only read; the caller removes it. A server empties the folder around it at its start.
func (r *reader) temporary(name string) (string, error) {
	around := r.cfg.Scratch
	if err := os.MkdirAll(cmp.Or(around, os.TempDir()), 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(around, "parley-"+name+"-")
}

// manyFiles is the number of files from which on all processes are started at once.
const manyFiles = 4

// Read implements Reader.
func (r *reader) Read(ctx context.Context, w Work) (ingest.Report, error) {
	workers := r.workers()
	if w.Path != "" {
		workers = 1
	}
	pool := r.pool(workers, w.Files >= manyFiles)
	defer pool.Close()
	c := r.ofScope(w, pool)
	switch {
	case w.Uploads != "":
		c.Uploads = w.Uploads
		c.MayName = nil // an upload goes into the namespace of its request
		return ingest.New(c).Run(ctx, []string{w.Uploads}, nil)
	case w.Path != "":
		return ingest.New(c).Run(ctx, []string{w.Path}, nil)
	}
	return ingest.New(c).RunSites(ctx, w.Sites, nil)
}

// Survey implements Reader.
func (r *reader) Survey(ctx context.Context, w Work) (e Estimate, err error) {
	planner, err := retrieval.NewPlanner(ctx, r.cfg.Vectors, r.cfg.Embedding, r.cfg.EmbeddingDimensions)
	if err != nil {
		return e, err
	}
	pool := r.pool(r.workers(), false)
	defer pool.Close()
	c := r.ofScope(w, pool)
	c.DataDir = ""  // it contains staged uploads
	c.MayName = nil // as in Read
	add := func(put retrieval.Put) error {
		e.Documents++
		e.Chunks += len(put.Chunks)
		for _, chunk := range put.Chunks {
			e.Tokens += chunk.Tokens
		}
		return planner.AddDocument(ctx, put.Document.Title, put.Chunks)
	}
	var report ingest.Report
	if w.Path != "" {
		report, err = ingest.New(c).Survey(ctx, []string{w.Path}, add, nil)
	} else {
		report, err = ingest.New(c).SurveySites(ctx, w.Sites, add, nil)
	}
	if err != nil {
		return e, err
	}
	e.Refused = append(report.Failed, report.Skipped...)
	if r.cfg.Embedding != "" {
		e.ToEmbed = planner.Plan().Tokens
	}
	return e, nil
}

// Forget implements Reader.
func (r *reader) Forget(ctx context.Context, namespace, url string) (int, error) {
	return r.ingester(namespace, nil).Forget(ctx, url)
}
