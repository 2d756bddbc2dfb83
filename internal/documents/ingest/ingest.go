// Package ingest keeps a corpus in step with files and web pages: it finds them, has them extracted, cuts
// them into chunks, and commits these in batches.
//
// A run never commits half a document. A run that was cut short continues where it stopped, and a file that
// has not changed costs a stat. A document whose access rights cannot be read is not indexed.
//
//	in := ingest.New(ingest.Config{Corpus: corpus, Store: db.Corpus(), Blobs: db.Blobs(),
//		Extractor: pool, Namespace: "default", DataDir: "parley-data"})
//	report, err := in.Run(ctx, []string{"./docs"}, nil)
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/access"
	"parley/internal/documents/crawl"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// Corpus accepts the batches. It sets revisions and segments itself.
type Corpus interface {
	Apply(ctx context.Context, b retrieval.Batch) error
}

// Store is the part of the corpus's store that a run reads.
type Store interface {
	// Roots returns the ingested roots of a namespace in the order in which they were added.
	Roots(ctx context.Context, namespace string) ([]retrieval.Root, error)
	// Files returns the stored rows of the files below a root, sorted by path.
	Files(ctx context.Context, namespace, root string) ([]retrieval.File, error)
	// AllDocuments returns up to limit documents with names after the given one, sorted by name.
	AllDocuments(ctx context.Context, namespace, after string, limit int) ([]retrieval.Document, error)
	// FilesOf returns the rows of the files from which a document of a namespace was made.
	FilesOf(ctx context.Context, namespace, documentID string) ([]retrieval.File, error)
}

// Blobs stores the originals. They are durable when Put returns.
type Blobs interface {
	Put(ctx context.Context, r io.Reader) (sha256 string, size int64, err error)
	// Open returns a file whose Name is its path.
	Open(sha256 string) (*os.File, error)
}

// Extractor reads one file. It is called concurrently. If the result has no Post, the document is cut into
// chunks in this process. The error is an *extract.Error, ctx's error, or one that does not concern the file
// and ends the run.
type Extractor interface {
	Extract(ctx context.Context, r extract.Request) (*extract.Result, error)
}

// Config configures an Ingester. The first five fields are required.
type Config struct {
	Corpus    Corpus
	Store     Store
	Blobs     Blobs
	Extractor Extractor
	Namespace string

	DataDir string                                 // Locks.Dir; never ingested
	Shared  func(string) (func(), bool, error)     // Locks.Shared
	Sweep   func(ctx context.Context) (int, error) // removes originals without a document; optional
	// Supports reports whether a file is worth reading, by its name and, once they are known, its first
	// bytes. Nil means all files.
	Supports func(name string, head []byte) bool
	Owner    string // Document.Owner
	Workers  int    // number of files read at the same time; 0 means one for each processor
	MaxBytes int64  // of one file; 0 means MaxFile
	// MaxParts and MaxPartsBytes limit the files nested inside one file; 0 means 10,000 and 1 GiB.
	MaxParts      int
	MaxPartsBytes int64
	Split         SplitOptions   // how documents are cut into chunks
	Crawler       *crawl.Crawler // reads web sites; may be nil if there are none
	ConfigFile    string         // the program's own, which is not the parley.yaml of a folder; "" for none
	Logger        *slog.Logger   // nil discards
	// MayName reports whether metadata may put a document into a namespace other than Namespace. Nil
	// means that it may not.
	MayName func(namespace string) bool

	Recognition *Recognition // nil leaves pages without text alone

	// Uploads is the one folder inside DataDir that may be ingested: the files that Owner has uploaded.
	// Its root is named UploadsRoot(Owner), wherever it is. "" means none.
	Uploads string
	Access  access.List   // who may see the documents, regardless of their metadata; zero means that the metadata decides
	Outcome func(Outcome) // called from Run's goroutine for each file after its outcome is committed; optional
	Reading func(Reading) // called after each file was read, concurrently; optional
	// Passwords are tried on every file, after those that its metadata gives.
	Passwords []string

	generation string                                     // of Split
	pause      func(context.Context, time.Duration) error // waits before a retry of a file for which the machine had no time; nil waits for real
}

// Ingester ingests into one namespace of a corpus, except files that name another namespace, which go there. It is
// safe for concurrent use. Over one data folder, a run of folders and runs of different owners' uploads may go
// on at the same time.
type Ingester struct {
	cfg Config
}

// MaxFile is the size in bytes of the largest file that is read, unless Config says otherwise.
const MaxFile = 200 << 20

// New returns an Ingester.
func New(cfg Config) *Ingester {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = MaxFile
	}
	if cfg.Supports == nil {
		cfg.Supports = func(string, []byte) bool { return true }
	}
	if cfg.MaxParts <= 0 {
		cfg.MaxParts = defaultParts
	}
	if cfg.MaxPartsBytes <= 0 {
		cfg.MaxPartsBytes = defaultPartsBytes
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.generation = cfg.Split.Generation()
	return &Ingester{cfg: cfg}
}

// Run brings the corpus up to date with the files and folders at paths: it indexes new and changed files, and
// deletes the documents of files that are gone from a folder. Roots of earlier runs that are not named stay as
// they are. Progress, which may be nil, is called from Run's goroutine at most ten times a second.
//
// A path that does not exist or cannot be opened is a *PathError, before anything changes. Files that cannot
// be indexed are not an error: the report lists them. Run returns ctx's error soon after ctx has ended, and
// another error if the corpus or the blobs fail; the report then covers what was committed. A *LockedError says
// that another run is in progress.
func (in *Ingester) Run(ctx context.Context, paths []string, progress func(Progress)) (Report, error) {
	resolved, err := resolve(paths, in.cfg)
	if err != nil {
		return Report{}, err
	}
	key := "folders" // one folder may be inside another
	if in.cfg.Uploads != "" {
		key = UploadsRoot(in.cfg.Owner) + "\x00" + in.cfg.Namespace
	}
	return in.locked(key, func(spools string) (Report, error) {
		return in.run(ctx, (*run).choose, resolved, spools, progress)
	})
}

func (in *Ingester) locks() Locks { return Locks{Dir: in.cfg.DataDir, Shared: in.cfg.Shared} }

// locked runs f with the lock of the data folder, see Locks.share, and a folder for nested files.
// Concurrent runs have different roots, and assign different names.
func (in *Ingester) locked(key string, f func(spools string) (Report, error)) (Report, error) {
	unlock, first, err := in.locks().share("ingest.lock", "ingesting into", key)
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	spools, err := makeSpools(in.cfg.DataDir, "spool", first)
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(spools)
	return f(spools)
}

// makeSpools creates a folder for nested files, in the data folder if there is one. The first run
// removes what a killed run left there.
func makeSpools(dataDir, name string, first bool) (string, error) {
	if dataDir == "" {
		dir, err := os.MkdirTemp("", "parley-spool-")
		if err != nil {
			return "", fmt.Errorf("make a temporary folder: %w", err)
		}
		return dir, nil
	}
	if first {
		entries, err := os.ReadDir(dataDir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), name) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dataDir, e.Name())))
			}
		}
		if err != nil {
			return "", fmt.Errorf("remove the files inside files of an earlier run: %w", err)
		}
	}
	dir, err := os.MkdirTemp(dataDir, name+"-")
	if err != nil {
		return "", fmt.Errorf("make the folder for files inside files: %w", err)
	}
	return dir, nil
}

// run brings the corpus up to date with the targets that choose finds for paths. Nested files are stored
// below spools while they are read.
func (in *Ingester) run(
	ctx context.Context, choose func(*run, context.Context, []string) error, paths []string, spools string, progress func(Progress),
) (report Report, err error) {
	began := time.Now()
	r := newRun(in.cfg, progress, began, spools)
	r.claims = claim(in.cfg.DataDir)
	defer r.close()
	if err = choose(r, ctx, paths); err == nil {
		err = r.all(ctx)
	}
	r.report.Duration = time.Since(began)
	if err == nil {
		r.meter.finish()
	}
	r.report.sort()
	return r.report, err
}

func newRun(cfg Config, progress func(Progress), began time.Time, spools string) *run {
	r := &run{cfg: cfg, meter: newMeter(progress, began), spools: spools}
	r.cfg.Extractor = newPatient(cfg, r.meter)
	return r
}

// run is the state of one Run.
type run struct {
	cfg     Config
	meter   *meter
	targets []*target
	names   *catalogs
	claims  *claims
	pending []*candidate // files to read, in order
	report  Report
	spools  string       // the folder that contains the spools
	spooled atomic.Int64 // number of spools so far
}

func (r *run) close() {
	for _, t := range r.targets {
		if t.dir != nil {
			t.dir.Close()
		}
	}
	r.claims.end()
}

// all brings the corpus up to date with the targets.
func (r *run) all(ctx context.Context) error {
	r.meter.phase(Scanning)
	gone, err := r.survey(ctx)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, gone); err != nil {
		return err
	}
	r.meter.phase(Indexing)
	if err := r.index(ctx); err != nil {
		return err
	}
	if err := r.dropAdopted(ctx); err != nil {
		return err
	}
	if r.cfg.Sweep == nil || len(r.pending) == 0 && r.report.Deleted == 0 {
		return nil
	}
	r.meter.phase(Sweeping)
	n, err := r.cfg.Sweep(ctx)
	if err != nil {
		return fmt.Errorf("remove originals without a document: %w", err)
	}
	r.cfg.Logger.Debug("removed originals without a document", "blobs", n)
	return nil
}

// survey walks all targets, compares the files with their stored rows, and returns the rows of files
// that are gone.
func (r *run) survey(ctx context.Context) ([]retrieval.File, error) {
	var gone []retrieval.File
	for _, t := range r.targets {
		if err := t.scan(ctx, &r.cfg); err != nil {
			return nil, err
		}
		known, err := r.known(ctx, t)
		if err != nil {
			return nil, err
		}
		r.report.Skipped = append(r.report.Skipped, t.skipped...)
		r.report.Failed = append(r.report.Failed, t.failed...)
		r.meter.found(t.candidates, len(t.failed), len(t.skipped))
		if t.remote != nil {
			if err := r.settleRights(ctx, t, known); err != nil {
				return nil, err
			}
			if err := t.remote.describe(ctx, t); err != nil {
				return nil, err
			}
			if err := t.remote.settle(t, known); err != nil {
				return nil, err
			}
		}
		t.attach(known)
		for _, c := range t.candidates {
			if c.unchanged(&r.cfg) {
				r.keep(c)
				continue
			}
			r.pending = append(r.pending, c)
			r.meter.toRead(r.effort(c))
		}
		for _, f := range sortedFiles(known) {
			if !t.unseen(f.Path) {
				gone = append(gone, f.File)
			}
		}
	}
	return gone, nil
}

// attach moves the stored rows of the candidates, and of the files nested inside them, from known to the
// candidates.
func (t *target) attach(known map[string]knownFile) {
	byKey := map[string]*candidate{}
	for _, c := range t.candidates {
		c.known = known[c.key]
		delete(known, c.key)
		byKey[c.key] = c
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		for i := len(key) - 1; i > 0; i-- {
			if key[i] != '/' {
				continue
			}
			if c := byKey[key[:i]]; c != nil {
				f := known[key].File
				f.Path = key // under another root it is another file
				c.inside = append(c.inside, f)
				delete(known, key)
				break
			}
		}
	}
}

// effort returns the bytes of a file if it has to be read. Progress is measured by it.
func (r *run) effort(c *candidate) int64 {
	if c.size > r.cfg.MaxBytes || c.part != nil || c.page != nil || !r.cfg.Supports(c.path, nil) {
		return 0
	}
	return max(c.size, 0)
}

// keep counts a file that has not changed since the last run.
func (r *run) keep(c *candidate) {
	r.meter.inside(len(c.inside))
	for _, f := range append([]retrieval.File{c.known.File}, c.inside...) {
		res := result{from: r.row(c, f), file: f, same: true}
		if f.Path == c.known.Path {
			res.from = c
		}
		r.tally(res)
		r.meter.unchanged()
	}
}

// settle deletes the documents of gone files, which frees their names, records new roots, and assigns
// names to all files that will be read for the first time.
func (r *run) settle(ctx context.Context, gone []retrieval.File) error {
	if err := r.forget(ctx, gone); err != nil {
		return err
	}
	r.names = newCatalogs(r.cfg.Store, r.claims)
	b := retrieval.Batch{Namespace: r.cfg.Namespace}
	for _, t := range r.targets {
		if !t.fresh {
			continue
		}
		names, err := r.names.of(ctx, r.cfg.Namespace)
		if err != nil {
			return err
		}
		t.root.Prefix = names.prefix(t)
		b.PutRoots = append(b.PutRoots, t.root)
	}
	if len(b.PutRoots) > 0 {
		if err := r.cfg.Corpus.Apply(ctx, b); err != nil {
			return fmt.Errorf("record %d roots: %w", len(b.PutRoots), err)
		}
	}
	for _, c := range r.pending {
		if err := r.name(ctx, c, r.expected(c)); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes the documents and rows of files that are gone.
func (r *run) forget(ctx context.Context, gone []retrieval.File) error {
	for len(gone) > 0 {
		part := gone[:min(len(gone), maxBatchDeletes)]
		gone = gone[len(part):]
		deleted := 0
		b := retrieval.Batch{Namespace: r.cfg.Namespace}
		for _, f := range part {
			b.DropFiles = append(b.DropFiles, f.FileKey)
			if f.DocumentID != "" {
				deleted++
				in := b.In(f.In())
				in.Delete = append(in.Delete, f.DocumentID)
			}
		}
		if err := r.cfg.Corpus.Apply(ctx, b); err != nil {
			return fmt.Errorf("delete %d documents: %w", deleted, err)
		}
		r.report.Deleted += deleted
	}
	return nil
}

// maxBatchDeletes limits a transaction that only deletes.
const maxBatchDeletes = 500
