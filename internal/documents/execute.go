package documents

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// execute runs a job.
func (s *Service) execute(ctx context.Context, t *job.Task) error {
	switch kind := t.Job().Kind; kind {
	case Upload, PDF:
		return s.failure(s.readUploads(ctx, t))
	case Reindex:
		return s.failure(s.readAnew(ctx, t))
	case Recognise:
		return s.failure(s.recogniseJob(ctx, t))
	case Index, MediaWiki, PDFPage:
		return s.failure(s.readSites(ctx, t))
	default:
		return &job.FailureError{Msg: fmt.Sprintf("This version of the server does not know jobs of the kind %q.", kind)}
	}
}

// failure adds to an error what the owner of the job can do about it.
func (s *Service) failure(err error) error {
	if errors.Is(err, ErrFull) {
		return &job.FailureError{Msg: "There is no room left on the server's disk. Once there is, retry the job.", Err: err}
	}
	return err
}

// readUploads publishes the staged files of a job and has their folder ingested.
func (s *Service) readUploads(ctx context.Context, t *job.Task) error {
	j := t.Job()
	at, w := scopeOf(j), newUploadWatch(t)
	if len(w.waiting) == 0 {
		return nil // an earlier run has processed all of them
	}
	published, err := s.publish(t, at, w)
	if err != nil {
		return s.full(err)
	}
	if published == 0 {
		return nil
	}
	if err := s.tryAgain(ctx, at, w); err != nil {
		return s.full(err)
	}
	t.Doing("Reading the files.")
	err = s.follow(ctx, at, published, w.outcome, waiter(ctx, t, "Reading the files."))
	switch {
	case errors.Is(context.Cause(ctx), job.ErrCancelled):
		w.settle()
		return errors.Join(err, s.withdraw(at, j.ID, w))
	case err != nil:
		return err
	}
	w.finish()
	return s.files.Accept(j.ID)
}

// waiter returns a function that waits for another ingestion to end, and reports what the job does
// afterwards.
func waiter(ctx context.Context, t *job.Task, doing string) func() error {
	return func() error {
		err := t.Wait(ctx, "Waiting for another ingestion to end.")
		if err == nil {
			t.Doing(doing)
		}
		return err
	}
}

// publish moves the waiting files of a job into their folder, and returns how many there are.
func (s *Service) publish(t *job.Task, at upload.Scope, w *uploadWatch) (int, error) {
	n := 0
	for name := range w.waiting {
		there, err := s.files.Publish(at, t.Job().ID, name)
		if err != nil {
			return n, err
		}
		if !there {
			w.set(name, job.File{Name: name, State: job.FileCancelled, Reason: string(ingest.Deleted), Detail: "It was deleted."})
			continue
		}
		n++
	}
	return n, nil
}

// tryAgain marks the files that failed in an earlier run of a job, so that they are read again.
func (s *Service) tryAgain(ctx context.Context, at upload.Scope, w *uploadWatch) error {
	rows, err := s.cfg.Store.Files(ctx, at.Namespace, ingest.UploadsRoot(at.Owner))
	if err != nil {
		return fmt.Errorf("read what is known of the uploads: %w", err)
	}
	failed := map[string]bool{} // the outermost files
	for _, f := range rows {
		if name, _, _ := strings.Cut(f.Path, "/"); f.Reason != "" && w.has(name) {
			failed[name] = true
		}
	}
	b := retrieval.Batch{Namespace: at.Namespace}
	for _, f := range rows {
		if name, _, inside := strings.Cut(f.Path, "/"); failed[name] && (!inside || f.Reason != "") {
			b.PutFiles = append(b.PutFiles, ingest.LookAgain(f))
		}
	}
	if len(b.PutFiles) == 0 {
		return nil
	}
	if err := s.cfg.Corpus.Apply(ctx, b); err != nil {
		return fmt.Errorf("have files read again: %w", err)
	}
	return nil
}

// withdraw takes back the files that a cancelled job has not reached, and restores earlier versions of
// them. The next job then does not index them, and this job can be retried.
func (s *Service) withdraw(at upload.Scope, id string, w *uploadWatch) error {
	var failed error
	for name := range w.left() {
		failed = errors.Join(failed, s.files.Withdraw(at, id, name))
	}
	return errors.Join(failed, s.files.Accept(id))
}

// partly reports whether only a part of a file was read.
func partly(o ingest.Outcome) bool { return o.Reason == "" && o.Detail != "" }

// maxMembers is the largest number of failed files inside files that a job lists.
const maxMembers = 1000

// uploadWatch enters the outcomes of files into a job. Its method outcome is called from the goroutine of the
// ingestion, the others before and after it.
type uploadWatch struct {
	task    *job.Task
	waiting map[string]int // index in Job.Files by name, of the files that this run reads
	inside  map[string]*members
	opened  map[string]bool // files that have no text of their own
	listed  int             // files inside files that the job lists
}

// members counts the files inside a file.
type members struct {
	total, good, same int
	refused           ingest.Outcome // the first that gave no document
}

func newUploadWatch(t *job.Task) *uploadWatch {
	w := &uploadWatch{task: t, waiting: map[string]int{}, inside: map[string]*members{}, opened: map[string]bool{}}
	t.Update(func(j *job.Job) {
		// If a nested file must be retried, the outermost file is read again, and the failures inside it
		// are found again.
		again := map[string]bool{}
		for _, f := range j.Files {
			if name, _, _ := strings.Cut(f.Name, "/"); f.State == job.FileQueued {
				again[name] = true
			}
		}
		files := j.Files[:0]
		for _, f := range j.Files {
			name, _, inside := strings.Cut(f.Name, "/")
			switch {
			case inside && again[name]:
				continue
			case again[name]:
				f = job.File{Name: f.Name, State: job.FileQueued}
				w.waiting[name] = len(files)
			}
			files = append(files, f)
		}
		j.Files = files
	})
	return w
}

func (w *uploadWatch) has(name string) bool {
	_, ok := w.waiting[name]
	return ok
}

func (w *uploadWatch) set(name string, f job.File) {
	w.task.Update(func(j *job.Job) { j.Files[w.waiting[name]] = f })
}

// outcome records the outcome of a file.
func (w *uploadWatch) outcome(o ingest.Outcome) {
	name, _, inside := strings.Cut(o.Path, "/")
	if !w.has(name) {
		return
	}
	if inside {
		w.member(name, o)
		return
	}
	if o.Reason == "" && o.DocumentID == "" {
		w.opened[name] = true // the outcomes of the nested files decide
		if partly(o) {
			w.task.Update(func(j *job.Job) {
				f := &j.Files[w.waiting[name]]
				f.Partly, f.Detail = true, o.Detail
			})
		}
		return
	}
	f := job.File{Name: name, State: stateOf(o.Reason), Reason: string(o.Reason), Detail: o.Detail, Partly: partly(o), DocumentID: o.DocumentID}
	if f.State == job.FileIndexed && o.Unchanged {
		f.State = job.FileUnchanged
	}
	w.task.Update(func(j *job.Job) {
		j.Files[w.waiting[name]] = f
		j.Message = "Read " + name + "."
		j.Counts.Chunks += o.Chunks
		j.Counts.Tokens += o.Tokens
	})
}

// member records the outcome of a nested file. The job lists only nested files that failed, even in
// part.
func (w *uploadWatch) member(name string, o ingest.Outcome) {
	m := w.inside[name]
	if m == nil {
		m = &members{}
		w.inside[name] = m
	}
	m.total++
	if o.DocumentID != "" {
		m.good++
		if o.Unchanged {
			m.same++
		}
	} else if m.refused.Reason == "" {
		m.refused = o
	}
	state := stateOf(o.Reason)
	listed := state == job.FileFailed || partly(o)
	if listed {
		w.listed++
	}
	w.task.Update(func(j *job.Job) {
		j.Counts.Chunks += o.Chunks
		j.Counts.Tokens += o.Tokens
		if listed && w.listed <= maxMembers {
			j.Files = append(j.Files, job.File{Name: o.Path, State: state, Reason: string(o.Reason), Detail: o.Detail,
				Partly: partly(o), DocumentID: o.DocumentID})
		}
	})
}

// left returns the files without an outcome.
func (w *uploadWatch) left() map[string]bool {
	left := map[string]bool{}
	for _, f := range w.task.Job().Files {
		if f.State == job.FileQueued && w.has(f.Name) {
			left[f.Name] = true
		}
	}
	return left
}

// settle records the outcomes of files that contain others.
func (w *uploadWatch) settle() {
	w.task.Update(func(j *job.Job) {
		for name, m := range w.inside {
			f, inside := &j.Files[w.waiting[name]], fmt.Sprintf("%d of the %d files inside it are indexed.", m.good, m.total)
			if f.Detail == "" {
				f.Detail = inside
			} else { // Detail says why the file was not read completely
				f.Detail = strings.TrimSuffix(f.Detail, ".") + ". " + inside
			}
		}
		for name := range w.opened {
			f := &j.Files[w.waiting[name]]
			switch m := w.inside[name]; {
			case m == nil || m.refused.Reason == "" && m.good == 0:
				f.State, f.Reason, f.Detail = job.FileSkipped, string(extract.Empty), "There is nothing to index in it."
			case m.good == 0:
				f.State, f.Reason = stateOf(m.refused.Reason), string(m.refused.Reason)
				f.Detail = fmt.Sprintf("None of the files inside it could be indexed. The first of them: %s", m.refused.Detail)
			case m.same == m.good:
				f.State = job.FileUnchanged
			default:
				f.State = job.FileIndexed
			}
		}
	})
}

// finish ends the files without an outcome: they were deleted meanwhile.
func (w *uploadWatch) finish() {
	w.settle()
	for name := range w.left() {
		w.set(name, job.File{Name: name, State: job.FileCancelled, Reason: string(ingest.Deleted), Detail: "It was deleted."})
	}
}
