package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/metadata"
	"parley/internal/documents/upload"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
)

// MaxFiles is the largest number of files in one upload.
const MaxFiles = 1000

// Batch is an upload that is being received. It is not safe for concurrent use.
type Batch struct {
	service *Service
	at      upload.Scope
	kind    string
	id      string // of the future job
	files   []job.File

	bytes   int64 // of the files
	freed   int64 // bytes of the files that they replace
	counted bool  // left and over are set
	left    int64 // maximum number of bytes, if over is set
	over    *QuotaError
}

// Begin starts an upload. The caller must end it with Commit or Discard.
func (s *Service) Begin(at upload.Scope, kind string) *Batch {
	return &Batch{service: s, at: at, kind: kind, id: job.NewID()}
}

// Add stores a file under the name that upload.Clean makes of the client's. The file is not visible
// before Commit.
func (b *Batch) Add(ctx context.Context, name string, r io.Reader) error {
	name, err := upload.Clean(name)
	if err != nil {
		return err
	}
	if len(b.files) == MaxFiles {
		return ErrTooMany
	}
	// A file system may ignore case.
	if slices.ContainsFunc(b.files, func(f job.File) bool { return strings.EqualFold(f.Name, name) }) {
		return fmt.Errorf("%w: %s", ErrTwice, name)
	}
	if r, err = b.within(ctx, name, r); err != nil {
		return err
	}
	n, err := b.service.files.Stage(ctx, b.id, name, r)
	if err != nil {
		return b.service.full(err)
	}
	b.bytes += n
	b.freed += b.service.files.Size(b.at, name)
	b.files = append(b.files, job.File{Name: name, State: job.FileQueued})
	return nil
}

// Settle sets the scope and the file name of a batch of one file, and its limits: the headings of
// sections to leave out, and the maximum number of chunks unless maxChunks is 0.
func (b *Batch) Settle(at upload.Scope, name string, skipSections []string, maxChunks int) error {
	name, err := upload.Clean(name)
	if err != nil {
		return err
	}
	files := b.service.files
	if name != b.files[0].Name {
		err = files.Rename(b.id, b.files[0].Name, name)
	}
	if err == nil && (len(skipSections) > 0 || maxChunks > 0) {
		err = files.Describe(b.id, name, metadata.Sidecar(metadata.Limits{SkipSections: skipSections, MaxChunks: maxChunks}))
	}
	if err != nil {
		return b.service.full(err)
	}
	b.at, b.files[0].Name = at, name
	return nil
}

// ID returns the id of the job that Commit adds.
func (b *Batch) ID() string { return b.id }

// Len returns the number of files so far.
func (b *Batch) Len() int { return len(b.files) }

// Estimate estimates the cost of indexing the first file. Paths in it begin with the name of the file.
func (b *Batch) Estimate(ctx context.Context) (Estimate, error) {
	name := b.files[0].Name
	file, err := b.service.files.Staged(ctx, b.id, name)
	if err != nil {
		return Estimate{}, b.service.full(err)
	}
	e, err := b.service.reader.Survey(ctx, Work{Scope: upload.Scope{Namespace: b.at.Namespace}, Path: file})
	for i := range e.Refused {
		// Callers must not learn where the server keeps the file.
		path := filepath.ToSlash(e.Refused[i].Path)
		_, inside, _ := strings.Cut(path, "/"+strings.ToLower(b.id)+"/"+name)
		e.Refused[i].Path = name + inside
	}
	return e, b.service.full(err)
}

// Commit turns the files into a job, which is durable when Commit returns without an error.
func (b *Batch) Commit(ctx context.Context) (job.Job, error) {
	s := b.service
	if err := s.files.Seal(b.id); err != nil {
		return job.Job{}, s.full(err)
	}
	s.admission.Lock()
	defer s.admission.Unlock()
	if err := b.admit(ctx); err != nil {
		return job.Job{}, err
	}
	return s.add(ctx, job.Job{
		ID: b.id, Kind: b.kind, Namespace: b.at.Namespace, Owner: b.at.Owner, Request: []byte("{}"), Files: b.files,
	})
}

// Discard deletes the upload.
func (b *Batch) Discard() {
	if err := b.service.files.Discard(b.id); err != nil {
		b.service.cfg.Logger.Warn("remove an upload that was not completed", "error", err)
	}
}

// Uploaded returns the names of a scope's files, both ingested and waiting, sorted.
func (s *Service) Uploaded(ctx context.Context, at upload.Scope) ([]string, error) {
	names, err := s.files.List(at)
	if err != nil {
		return nil, err
	}
	waiting, err := s.waiting(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, j := range waiting {
		for _, f := range j.Files {
			if f.State == job.FileQueued {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// waiting returns the jobs with uploads of a scope that have not ended.
func (s *Service) waiting(ctx context.Context, at upload.Scope) ([]job.Job, error) {
	all, err := s.cfg.Jobs.Unfinished(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the jobs that wait: %w", err)
	}
	var whole []job.Job
	for _, j := range all {
		if scopeOf(j) != at || j.Kind != Upload && j.Kind != PDF {
			continue
		}
		j, err := s.cfg.Jobs.Job(ctx, j.Owner, j.ID)
		if errors.Is(err, job.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a job that waits: %w", err)
		}
		whole = append(whole, j)
	}
	return whole, nil
}

func scopeOf(j job.Job) upload.Scope { return upload.Scope{Namespace: j.Namespace, Owner: j.Owner} }

// DeleteUpload removes an uploaded file with its documents, even if it is still waiting. The error is
// ErrNotFound if there is no file of that name.
func (s *Service) DeleteUpload(ctx context.Context, at upload.Scope, name string) error {
	name, err := upload.Clean(name)
	if err != nil {
		return ErrNotFound
	}
	found, err := s.unstage(ctx, at, name)
	if err != nil {
		return err
	}
	gone, err := s.files.Remove(at, name)
	if err != nil {
		return err
	}
	// A running job may have read the file already: this makes it look again.
	s.deletions.Add(1)
	n, err := s.dropFile(ctx, at.Namespace, retrieval.FileKey{Root: ingest.UploadsRoot(at.Owner), Path: name})
	if err != nil {
		return s.full(err)
	}
	if !found && !gone && n == 0 {
		return ErrNotFound
	}
	return nil
}

// unstage removes the files of a name that are staged for the jobs of a scope, including ended jobs that could
// be retried, and reports whether there were any.
func (s *Service) unstage(ctx context.Context, at upload.Scope, name string) (found bool, err error) {
	ids, err := s.files.StagedJobs()
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		j, err := s.cfg.Jobs.Job(ctx, at.Owner, id)
		if errors.Is(err, job.ErrNotFound) || err == nil && scopeOf(j) != at {
			continue
		}
		if err != nil {
			return found, fmt.Errorf("look for the owner of an upload: %w", err)
		}
		gone, err := s.files.Unstage(id, name)
		if err != nil {
			return found, err
		}
		found = found || gone
	}
	return found, nil
}

// dropFile deletes the documents and rows of a file and of the files nested inside it, and returns the
// number of rows.
func (s *Service) dropFile(ctx context.Context, namespace string, key retrieval.FileKey) (int, error) {
	rows, err := s.cfg.Store.Files(ctx, namespace, key.Root)
	if err != nil {
		return 0, fmt.Errorf("look for the documents of a file: %w", err)
	}
	b := retrieval.Batch{Namespace: namespace}
	for _, f := range rows {
		if !isOf(f.Path, key.Path) {
			continue
		}
		b.DropFiles = append(b.DropFiles, f.FileKey)
		if f.DocumentID != "" {
			b.Delete = append(b.Delete, f.DocumentID)
		}
	}
	if len(b.DropFiles) == 0 {
		return 0, nil
	}
	if err := s.cfg.Corpus.Apply(ctx, b); err != nil {
		return 0, fmt.Errorf("delete the documents of a file: %w", err)
	}
	return len(b.DropFiles), nil
}

// isOf reports whether a path is a file or nested inside it.
func isOf(path, file string) bool {
	rest, ok := strings.CutPrefix(path, file)
	return ok && (rest == "" || rest[0] == '/')
}

// refreshUploads brings the folders of uploads of a namespace up to date.
func (s *Service) refreshUploads(ctx context.Context, namespace string) error {
	roots, err := s.cfg.Store.Roots(ctx, namespace)
	if err != nil {
		return fmt.Errorf("read the ingested roots: %w", err)
	}
	for _, root := range roots {
		owner, ok := ingest.UploadsOwner(root.Path)
		if !ok {
			continue
		}
		at := upload.Scope{Namespace: namespace, Owner: owner}
		if err := s.follow(ctx, at, 0, nil, func() error { return interrupt.Sleep(ctx, lockInterval) }); err != nil {
			return err
		}
	}
	return nil
}

// follow ingests the folder of a scope, and repeats that if something was deleted from it meanwhile.
// While another ingestion is running it calls wait, whose error ends it.
func (s *Service) follow(ctx context.Context, at upload.Scope, files int, outcome func(ingest.Outcome), wait func() error) error {
	for {
		before := s.deletions.Load()
		folder, err := s.files.Local(ctx, at)
		if err != nil {
			return s.full(err)
		}
		there, err := s.files.List(at)
		if err != nil {
			return err
		}
		if err := s.read(ctx, Work{Scope: at, Uploads: folder, Files: files, Outcome: outcome}, wait); err != nil {
			return err
		}
		left, err := s.files.List(at) // another server may have deleted some
		if err != nil {
			return err
		}
		gone := slices.ContainsFunc(there, func(name string) bool { _, found := slices.BinarySearch(left, name); return !found })
		if s.deletions.Load() == before && !gone {
			return nil
		}
	}
}

// read reads w. While another ingestion is running it calls wait, whose error ends it.
func (s *Service) read(ctx context.Context, w Work, wait func() error) error {
	for {
		_, err := s.reader.Read(ctx, w)
		if _, locked := errors.AsType[*ingest.LockedError](err); !locked {
			return s.full(err)
		}
		if err := wait(); err != nil {
			return err
		}
	}
}
