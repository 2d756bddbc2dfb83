// Package intake brings what people hand in over the network into the corpus: uploaded files, and
// addresses of pages. What takes time is a job, durable before anybody is told of it, which a Service
// carries out with the same ingestion that reads folders, the jobs of one owner one after another.
//
//	s := documents.New(documents.Config{Jobs: db.Jobs(), Files: upload.New(dir), …})
//	go s.Run(ctx)
//	batch := s.Begin(upload.Scope{Namespace: "default"}, documents.Upload)
//	err := batch.Add(ctx, "report.pdf", body)
//	j, err := batch.Commit(ctx) // or batch.Discard()
package documents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// The kinds of jobs.
const (
	Upload = "upload" // files that were sent
	PDF    = "pdf"    // the same, by another route
)

// The errors that callers tell apart. A *upload.NameError, *QuotaError, *job.QueueError, job.ErrNotFound and
// job.ErrState are others.
var (
	ErrNotFound = errors.New("no such document")
	ErrFull     = errors.New("no room left on the disk")
	ErrTooMany  = errors.New("too many files")
	ErrTwice    = errors.New("two files of one name")
)

// Store is what a Service reads of the corpus's store.
type Store interface {
	Namespaces(ctx context.Context) ([]string, error)
	Roots(ctx context.Context, namespace string) ([]retrieval.Root, error)
	Files(ctx context.Context, namespace, root string) ([]retrieval.File, error)
	// FilesOf returns the rows of the files that gave a document.
	FilesOf(ctx context.Context, namespace, documentID string) ([]retrieval.File, error)
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	// DocumentsAt returns the documents that have one of these addresses.
	DocumentsAt(ctx context.Context, f retrieval.Filter, urls []string) ([]retrieval.Document, error)
}

// Corpus takes changes.
type Corpus interface {
	Apply(ctx context.Context, b retrieval.Batch) error
}

// Run is an ingestion of a scope's folder of uploads.
type Run struct {
	upload.Scope
	Folder  string
	Files   int // about how many there are to read
	Outcome func(ingest.Outcome)
}

// Estimate is what indexing something would take.
type Estimate struct {
	Documents, Chunks int
	Tokens            int     // of the chunks
	Cost              float64 // US dollars for embedding what is new; 0 without an embedding model
	CostKnown         bool
	Refused           []ingest.FileResult // what would give no document
}

// Config is what a Service works with. All but Lock, Quota, Retention and Logger is required.
type Config struct {
	Jobs   job.Store
	Lock   func() (unlock func(), err error) // see job.Options
	Files  *upload.Store
	Store  Store
	Corpus Corpus
	// Ingest makes the corpus follow a folder of uploads. A *ingest.LockedError says that another
	// ingestion is at work.
	Ingest func(ctx context.Context, r Run) (ingest.Report, error)
	// IngestFile brings one file of an ingested folder up to date.
	IngestFile func(ctx context.Context, f File) (ingest.Report, error)
	// Survey says what indexing the file at a path would take, and changes nothing.
	Survey func(ctx context.Context, namespace, path string) (Estimate, error)
	// Crawl reads a web site, SurveySites says what reading some would take, and Forget deletes the
	// documents of an address and returns how many.
	Crawl       func(ctx context.Context, c Crawl) (ingest.Report, error)
	SurveySites func(ctx context.Context, namespace string, sites []ingest.Site) (Estimate, error)
	Forget      func(ctx context.Context, namespace, url string) (int, error)
	// IsFull reports whether an error says that there is no room left on the disk.
	IsFull    func(error) bool
	Quota     Quota         // of uploads
	Retention time.Duration // how long jobs are kept after their end; 0 for ever
	Logger    *slog.Logger  // nil discards
}

// Service takes in files and addresses. Its methods may be called concurrently.
type Service struct {
	cfg    Config
	runner *job.Runner

	admission sync.Mutex   // held while an upload that was received becomes a job
	forgotten forgotten    // pages that a run may bring back that was at work when they were deleted
	deletions atomic.Int64 // so far, so that a job knows when one came between
}

// New returns a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{cfg: cfg}
	s.runner = job.NewRunner(job.Options{Store: cfg.Jobs, Execute: s.execute, Lock: cfg.Lock, Logger: cfg.Logger})
	return s
}

// Jobs returns what carries out the jobs.
func (s *Service) Jobs() *job.Runner { return s.runner }

// Run carries out jobs until ctx ends.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { s.keepForgotten(ctx) })
	s.runner.Run(ctx)
}

// sweep removes what a crash has left of uploads that never became jobs.
func (s *Service) sweep(ctx context.Context) error {
	ids, err := s.cfg.Jobs.IDs(ctx)
	if err != nil {
		return err
	}
	return s.cfg.Files.Sweep(ids, time.Now().Add(-longestUpload))
}

// longestUpload is more than any upload takes to come in.
const longestUpload = 24 * time.Hour

// purgeBatch is how many jobs are deleted in one go.
const purgeBatch = 100

// Purge deletes the jobs that ended longer ago than the retention, and what was staged for them or
// for uploads that never became jobs. It returns how many jobs there were.
func (s *Service) Purge(ctx context.Context) (n int, err error) {
	if err := s.sweep(ctx); err != nil {
		return 0, err
	}
	for s.cfg.Retention > 0 {
		gone, err := s.cfg.Jobs.Purge(ctx, time.Now().Add(-s.cfg.Retention), purgeBatch)
		if err != nil {
			return n, err
		}
		for _, j := range gone {
			if err := s.cfg.Files.Discard(j.ID); err != nil {
				return n, err
			}
		}
		if n += len(gone); len(gone) < purgeBatch {
			break
		}
	}
	return n, nil
}

// add makes a job durable, which then waits for its turn.
func (s *Service) add(ctx context.Context, j job.Job) (job.Job, error) {
	j, err := s.runner.Add(ctx, j)
	return j, s.full(err)
}

// full marks an error that says that the disk is full.
func (s *Service) full(err error) error {
	if err != nil && s.cfg.IsFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// stateOf maps a reason for which a file gave no document.
func stateOf(reason extract.Reason) job.FileState {
	switch {
	case reason == "":
		return job.FileIndexed
	case ingest.Refuses(reason):
		return job.FileSkipped
	}
	return job.FileFailed
}
