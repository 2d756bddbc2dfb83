// Package documents brings files and web pages into the corpus and keeps them up to date. A Service is
// the one door for the rest of the program: commands ingest sources through it, the server follows
// folders and web sites through it, and people upload, index and delete documents through it.
//
// What comes in over the network becomes a job, which is durable before the caller gets an answer. The
// Service runs it with the same ingestion that reads folders, and the jobs of one owner one at a time.
//
//	s := documents.New(documents.Config{Data: dir, Corpus: corpus, Jobs: db.Jobs(), …})
//	report, err := s.Ingest(ctx, documents.Sources{Paths: []string{"./docs"}}, nil)
//
//	go s.Run(ctx) // runs jobs
//	batch := s.Begin(upload.Scope{Namespace: "default"}, documents.Upload)
//	err := batch.Add(ctx, "report.pdf", body)
//	j, err := batch.Commit(ctx) // or batch.Discard()
package documents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/source"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/retrieval"
)

// The kinds of jobs.
const (
	Upload = "upload" // files that were sent
	PDF    = "pdf"    // the same, by another route
)

// The errors that callers tell apart, besides *upload.NameError, *QuotaError, *job.QueueError, job.ErrNotFound
// and job.ErrState.
var (
	ErrNotFound = errors.New("no such document")
	ErrFull     = errors.New("no room left on the disk")
	ErrTooMany  = errors.New("too many files")
	ErrTwice    = errors.New("two files of one name")
)

// Store is the part of the corpus's store that a Service reads.
type Store interface {
	ingest.Store
	// Namespaces returns the namespaces that hold documents.
	Namespaces(ctx context.Context) ([]string, error)
	// RootNamespaces returns the namespaces that have roots; some may hold no documents.
	RootNamespaces(ctx context.Context) ([]string, error)
	// SourceRoots returns the roots of all namespaces that have a Source.
	SourceRoots(ctx context.Context) (map[string][]retrieval.Root, error)
	// SweepReplaced deletes up to limit documents that a rebuild has replaced, and returns how many.
	SweepReplaced(ctx context.Context, limit int) (int, error)
	// Document returns the document of that name that the filter lets through.
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	// FileRevisions returns the revisions of the documents of a root's files in its namespace, by the path of each
	// file.
	FileRevisions(ctx context.Context, namespace, root string) (map[string]int64, error)
	// DocumentsAt returns the documents that have one of these addresses.
	DocumentsAt(ctx context.Context, f retrieval.Filter, urls []string) ([]retrieval.Document, error)
}

// Jobs keeps the jobs.
type Jobs interface {
	job.Store
	// IDs returns the ids of all jobs.
	IDs(ctx context.Context) ([]string, error)
	// Purge deletes up to limit jobs that ended before a time, and returns them without Files.
	Purge(ctx context.Context, before time.Time, limit int) ([]job.Job, error)
}

// Disk is where the database and the originals lie.
type Disk interface {
	// SweepBlobs removes the originals without a document that are older than age, and returns how many.
	SweepBlobs(ctx context.Context, age time.Duration) (int, error)
	// DropBlobs removes originals that no document refers to any more.
	DropBlobs(ctx context.Context, shas []string) error
	// IsFull reports whether an error says that there is no room left.
	IsFull(err error) bool
}

// Config configures a Service. A zero field means the default.
type Config struct {
	Data       string       // data folder, which contains the locks, and is never ingested
	Uploads    upload.Files // uploaded files; by default a folder in Data
	Cache      string       // folder of compiled parsers; by default in Data
	Scratch    string       // folder for files that are only read; by default the system's
	Namespace  string       // namespace into which Ingest puts documents
	ConfigFile string       // the program's own, which is not the parley.yaml of a folder; "" for none

	// Locks takes locks also against other machines; see ingest.Locks. Nil for a store that is a folder.
	Locks func(name string) (unlock func(), ok bool, err error)

	Store   Store
	Corpus  ingest.Aside
	Blobs   ingest.Blobs
	Disk    Disk
	Jobs    Jobs
	Vectors retrieval.UnembeddedChunks // for estimates
	Web     crawl.Getter

	Crawl               crawl.Options
	Extract             extract.Limits
	Workers             int                 // processes that read files; by default one for each CPU, at most four
	Images              bool                // image files are documents
	Recognition         *Recognition        // nil leaves text on pictures alone
	Transcription       *Transcription      // nil leaves recordings alone
	Names               []string            // namespaces that files may name; a final * matches any text
	Split               ingest.SplitOptions // how documents are cut into chunks
	Embedding           string              // model of the vectors; "" for none
	EmbeddingDimensions int                 // of the vectors; 0 means the model's own

	Remotes  []source.Address                             // the remote sources of the configuration
	Accounts func(source.Address) (source.Account, error) // with which a remote source is opened; nil for none
	// Open opens a remote source; by default, Address.Open does.
	Open func(ctx context.Context, a source.Address, o source.Options) (source.Source, error)
	// Said returns what the configuration says of a remote source. Nil: nothing.
	Said func(source.Address) SaidOfSource
	// BegunByPeople reports whether the first run of a remote source waits until somebody starts it. Nil: none waits.
	BegunByPeople func(source.Address) bool
	KeepLost      time.Duration // how long the documents stay if their source cannot be read; 0 means for ever

	Reading   func(ingest.Reading) // called concurrently for each file that was read; optional
	Passwords []string             // tried on every file, after those that its metadata gives

	Quota     Quota         // of uploads
	Retention time.Duration // how long jobs are kept after their end; 0 means for ever
	Logger    *slog.Logger  // nil discards
	Reader    Reader        // reads for jobs instead of the Service; for tests
}

// Service brings documents into the corpus. It is safe for concurrent use.
type Service struct {
	cfg     Config
	files   *upload.Store
	runner  *job.Runner
	reading *reader // of sources
	reader  Reader  // for jobs

	recogniser func() recogniser         // for a job; the caller closes it
	tesseract  func() *sandbox.Tesseract // of this machine, looked for once; nil if there is none

	admission sync.Mutex   // held while a received upload becomes a job
	forgotten forgotten    // pages deleted during a run that may store them again
	deletions atomic.Int64 // number of deleted uploads, so that a job notices a deletion

	queue   sync.Mutex       // guards unseen
	unseen  []ingest.Waiting // files that no job recognises yet
	stirred chan struct{}    // has a value when there may be such files
}

// New returns a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Uploads == nil {
		cfg.Uploads = upload.Disk(filepath.Join(cfg.Data, "uploads"))
	}
	s := &Service{cfg: cfg, files: upload.New(cfg.Uploads), reader: cfg.Reader, stirred: make(chan struct{}, 1)}
	s.reading = &reader{cfg: cfg, waiting: s.await, recognised: cfg.Recognition.open(cfg.Data), transcribed: cfg.Transcription.open(cfg.Data)}
	if s.reader == nil {
		s.reader = s.reading
	}
	s.recogniser, s.tesseract = s.newRecogniser, sync.OnceValue(s.findTesseract)
	s.runner = job.NewRunner(job.Options{Store: cfg.Jobs, Execute: s.execute, Lock: ingest.Locks{Dir: cfg.Data, Shared: cfg.Locks}.Jobs, Logger: cfg.Logger,
		Beside: func(kind string) bool { return kind == Recognise }})
	return s
}

// Jobs returns the runner of the jobs.
func (s *Service) Jobs() *job.Runner { return s.runner }

// Run runs jobs until ctx ends.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { s.keepForgotten(ctx) })
	beside.Go(func() { s.keepRecognising(ctx) })
	s.runner.Run(ctx)
}

// sweep removes staged files of uploads that never became jobs, such as after a crash.
func (s *Service) sweep(ctx context.Context) error {
	ids, err := s.cfg.Jobs.IDs(ctx)
	if err != nil {
		return err
	}
	return s.files.Sweep(ids, time.Now().Add(-longestUpload))
}

// longestUpload is longer than any upload takes.
const longestUpload = 24 * time.Hour

// purgeBatch is the number of jobs that one transaction deletes.
const purgeBatch = 100

// Purge deletes the jobs that ended longer ago than the retention, and the staged files of these and of
// uploads that never became jobs. It returns how many jobs it deleted.
func (s *Service) Purge(ctx context.Context) (n int, err error) {
	if err := s.sweep(ctx); err != nil {
		return 0, err
	}
	for _, kept := range []*ingest.RecognisedPages{s.reading.recognised, s.reading.transcribed} {
		if kept == nil {
			continue
		}
		if err := kept.Sweep(s.cfg.Blobs, time.Now().Add(-longestUpload)); err != nil {
			return 0, err
		}
	}
	for s.cfg.Retention > 0 {
		gone, err := s.cfg.Jobs.Purge(ctx, time.Now().Add(-s.cfg.Retention), purgeBatch)
		if err != nil {
			return n, err
		}
		for _, j := range gone {
			if err := s.files.Discard(j.ID); err != nil {
				return n, err
			}
		}
		if n += len(gone); len(gone) < purgeBatch {
			break
		}
	}
	return n, nil
}

// add stores a job, which then waits for its turn.
func (s *Service) add(ctx context.Context, j job.Job) (job.Job, error) {
	j, err := s.runner.Add(ctx, j)
	return j, s.full(err)
}

// full wraps an error in ErrFull if it means that the disk is full.
func (s *Service) full(err error) error {
	if err != nil && s.cfg.Disk.IsFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// stateOf returns the state of a file that gave no document for a reason.
func stateOf(reason extract.Reason) job.FileState {
	switch {
	case reason == "":
		return job.FileIndexed
	case ingest.Refuses(reason):
		return job.FileSkipped
	}
	return job.FileFailed
}
