package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
)

// BusyError says that a job of an owner could not be stopped in time.
type BusyError struct{ Job string }

func (e *BusyError) Error() string { return "the job " + e.Job + " is still running; try again" }

// How long DeleteOwner waits for a job that was asked to stop, and how often it looks.
const (
	stopPatience = time.Minute
	stopInterval = 200 * time.Millisecond
)

// EachOf calls visit with the documents of an owner in all namespaces, and returns its first error. It has no filter: see
// retrieval.Writing.AllDocuments.
func (s *Service) EachOf(ctx context.Context, owner string, visit func(retrieval.Document) error) error {
	namespaces, err := s.cfg.Store.Namespaces(ctx)
	if err != nil {
		return err
	}
	const page = 500
	for _, namespace := range namespaces {
		for after := ""; ; {
			all, err := s.cfg.Store.AllDocuments(ctx, namespace, after, page)
			if err != nil {
				return err
			}
			for _, doc := range all {
				if doc.Owner != owner {
					continue
				}
				if err := visit(doc); err != nil {
					return err
				}
			}
			if len(all) < page {
				break
			}
			after = all[len(all)-1].Name
		}
	}
	return nil
}

// EachFileOf calls visit with the uploaded and kept files of an owner, and returns its first error.
func (s *Service) EachFileOf(owner string, visit func(name string, r io.ReadSeeker) error) error {
	return s.files.EachFile(owner, visit)
}

// DeleteOwner deletes everything that an owner has brought in, in all namespaces: jobs are cancelled, and uploads, kept files,
// documents and their originals deleted. It returns how many documents there were. The caller must first stop everything that
// could bring in more. After an error, such as a *BusyError, it can be called again.
func (s *Service) DeleteOwner(ctx context.Context, owner string) (deleted int, err error) {
	if owner == "" {
		return 0, ErrNotFound
	}
	if err := s.stopJobs(ctx, owner); err != nil {
		return 0, err
	}
	var all []retrieval.Document
	if err := s.EachOf(ctx, owner, func(doc retrieval.Document) error { all = append(all, doc); return nil }); err != nil {
		return 0, fmt.Errorf("look for documents of a user: %w", err)
	}
	namespaces, err := s.cfg.Store.RootNamespaces(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for uploads of a user: %w", err)
	}
	for _, doc := range all {
		if !slices.Contains(namespaces, doc.Namespace) {
			namespaces = append(namespaces, doc.Namespace)
		}
	}
	for _, namespace := range namespaces {
		at := upload.Scope{Namespace: namespace, Owner: owner}
		if err := s.DeleteUploads(ctx, at); err != nil {
			return 0, err
		}
		if err := s.cfg.Corpus.Apply(ctx, retrieval.Batch{Namespace: namespace, DropRoots: []string{ingest.UploadsRoot(owner)}}); err != nil {
			return 0, fmt.Errorf("forget the uploads of a user: %w", err)
		}
	}
	var originals []string
	for _, doc := range all {
		if err := s.deleteDocument(ctx, doc); err != nil { // no effect on an upload, which is gone
			return 0, s.full(err)
		}
		originals = append(originals, doc.SHA256)
	}
	if err := s.files.RemoveOwner(owner); err != nil {
		return 0, err
	}
	return len(all), s.cfg.Disk.DropBlobs(ctx, originals)
}

// stopJobs cancels the unfinished jobs of an owner, waits until they have ended, and removes the files that were staged for them.
func (s *Service) stopJobs(ctx context.Context, owner string) error {
	deadline := time.Now().Add(stopPatience)
	for {
		busy, err := s.cancelJobs(ctx, owner)
		if err != nil {
			return err
		}
		if busy == "" {
			break
		}
		if s.nobodyRunsJobs() {
			break // the process that ran it has died
		}
		if time.Now().After(deadline) {
			return &BusyError{busy}
		}
		if err := interrupt.Sleep(ctx, stopInterval); err != nil {
			return err
		}
	}
	ids, err := s.files.StagedJobs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		switch _, err := s.cfg.Jobs.Job(ctx, owner, id); {
		case errors.Is(err, job.ErrNotFound): // it belongs to somebody else
		case err != nil:
			return fmt.Errorf("look for the owner of an upload: %w", err)
		default:
			if err := s.files.Discard(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// cancelJobs asks the unfinished jobs of an owner to stop, and returns one that has not ended.
func (s *Service) cancelJobs(ctx context.Context, owner string) (busy string, err error) {
	all, err := s.cfg.Jobs.Unfinished(ctx)
	if err != nil {
		return "", fmt.Errorf("list the jobs that wait: %w", err)
	}
	for _, j := range all {
		if j.Owner != owner {
			continue
		}
		j, err := s.runner.Cancel(ctx, owner, j.ID)
		if errors.Is(err, job.ErrState) || errors.Is(err, job.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		if !j.State.Final() {
			busy = j.ID
		}
	}
	return busy, nil
}

// nobodyRunsJobs reports whether no process runs jobs, so that a running one is left over from a process that died.
func (s *Service) nobodyRunsJobs() bool {
	unlock, err := ingest.Locks{Dir: s.cfg.Data, Shared: s.cfg.Locks}.Jobs()
	if err != nil {
		return false
	}
	unlock()
	return true
}
