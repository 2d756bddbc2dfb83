package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"parley/internal/access"
	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/source"
	"parley/internal/documents/upload"
	"parley/internal/retrieval"
)

// Reindex is the kind of jobs that read a document again.
const Reindex = "reindex"

// reindexRequest is the Request of such a job. It names the row of the document's file.
type reindexRequest struct {
	Root string `json:"root"`
	Path string `json:"path"`

	Namespace string `json:"namespace,omitempty"` // of the row; "" for that of the job
}

// ErrSite says that a document is a web page, which is only read together with its site.
var ErrSite = errors.New("a web page is read with its site")

// Reindex adds a job that reads the file of a document again. The error is ErrNotFound if the document has no
// file, and ErrSite if it is a web page.
func (s *Service) Reindex(ctx context.Context, who access.Principal, doc retrieval.Document) (job.Job, error) {
	rows, err := s.cfg.Store.FilesOf(ctx, doc.Namespace, doc.ID)
	if err != nil {
		return job.Job{}, err
	}
	if len(rows) == 0 {
		return job.Job{}, ErrNotFound
	}
	if isSite(rows[0].Root) {
		return job.Job{}, ErrSite
	}
	j := job.Job{
		ID: job.NewID(), Kind: Reindex, Namespace: doc.Namespace, Owner: who.Subject,
		Files: []job.File{{Name: doc.Name, State: job.FileQueued}},
	}
	if j.Request, err = json.Marshal(reindexRequest{rows[0].Root, rows[0].Path, rows[0].Namespace}); err != nil {
		return job.Job{}, fmt.Errorf("write the request of a job: %w", err)
	}
	return s.add(ctx, j)
}

// isSite reports whether a root is a web site.
func isSite(root string) bool {
	return strings.HasPrefix(root, "http://") || strings.HasPrefix(root, "https://")
}

// readAnew reads a file as if it had changed, together with the files that contain it.
func (s *Service) readAnew(ctx context.Context, t *job.Task) error {
	j := t.Job()
	var request reindexRequest
	if err := json.Unmarshal(j.Request, &request); err != nil {
		return fmt.Errorf("read the request of the job: %w", err)
	}
	namespace := cmp.Or(request.Namespace, j.Namespace)
	told := false
	outcome := func(o ingest.Outcome) {
		if o.Path != request.Path && (request.Path != "." || told) {
			return
		}
		told = true
		f := job.File{Name: j.Files[0].Name, State: stateOf(o.Reason), Reason: string(o.Reason), Detail: o.Detail, Partly: partly(o), DocumentID: o.DocumentID}
		t.Update(func(j *job.Job) {
			j.Files[0] = f
			j.Counts.Chunks, j.Counts.Tokens = o.Chunks, o.Tokens
		})
	}
	const reading = "Reading the file."
	t.Doing(reading)
	err := s.readFileAgain(ctx, namespace, request, outcome, waiter(ctx, t, reading))
	if bad, ok := errors.AsType[*ingest.PathError](err); ok {
		return &job.FailureError{Msg: "The file cannot be read: " + bad.Reason + ".", Err: err}
	}
	if err == nil && !told {
		gone := job.File{Name: j.Files[0].Name, State: job.FileFailed, Reason: string(ingest.Deleted), Detail: "The file no longer exists."}
		t.Update(func(j *job.Job) { j.Files[0] = gone })
	}
	return err
}

// readFileAgain reads a file as if it had changed, together with the files that contain it.
func (s *Service) readFileAgain(ctx context.Context, namespace string, request reindexRequest, outcome func(ingest.Outcome), wait func() error) error {
	outermost, err := s.lookAgain(ctx, namespace, request)
	if err != nil {
		return s.full(err)
	}
	if owner, uploaded := ingest.UploadsOwner(request.Root); uploaded {
		return s.follow(ctx, upload.Scope{Namespace: namespace, Owner: owner}, 1, outcome, wait)
	}
	if a, err := source.Parse(request.Root); err == nil {
		return s.readRemoteAgain(ctx, namespace, a, outcome, wait)
	}
	file := filepath.Join(request.Root, filepath.FromSlash(outermost))
	return s.read(ctx, Work{Scope: upload.Scope{Namespace: namespace}, Path: file, Outcome: outcome}, wait)
}

// lookAgain marks a file and the files that contain it, so that the next run reads them again. It
// returns the path of the outermost one, which is on the disk.
func (s *Service) lookAgain(ctx context.Context, namespace string, request reindexRequest) (outermost string, err error) {
	rows, err := s.cfg.Store.Files(ctx, namespace, request.Root)
	if err != nil {
		return "", fmt.Errorf("look for the rows of a file: %w", err)
	}
	outermost = request.Path
	b := retrieval.Batch{Namespace: namespace}
	for _, f := range rows {
		if isOf(request.Path, f.Path) {
			b.PutFiles = append(b.PutFiles, ingest.LookAgain(f))
			if len(f.Path) < len(outermost) {
				outermost = f.Path
			}
		}
	}
	if len(b.PutFiles) == 0 {
		return "", &job.FailureError{Msg: "The document no longer exists."}
	}
	if err := s.cfg.Corpus.Apply(ctx, b); err != nil {
		return "", fmt.Errorf("mark a file to be read again: %w", err)
	}
	return outermost, nil
}
