package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/retrieval"
)

// Keep stores a file that is not ingested, and returns its size. It counts towards the quotas of uploads.
func (s *Service) Keep(ctx context.Context, owner, id string, r io.Reader) (size int64, err error) {
	left, over, err := s.left(ctx, owner, "")
	if err != nil {
		return 0, err
	}
	if over != nil {
		r = &quotaReader{r: r, left: left, over: over}
	}
	if size, err = s.files.Keep(ctx, owner, id, r); err != nil {
		return 0, s.full(err)
	}
	if err = s.confirm(ctx, owner, id); err != nil {
		return 0, errors.Join(s.full(err), s.files.Drop(owner, id))
	}
	return size, nil
}

// confirm checks the quotas again, since other files may have arrived meanwhile.
func (s *Service) confirm(ctx context.Context, owner, id string) error {
	s.admission.Lock()
	defer s.admission.Unlock()
	left, over, err := s.left(ctx, owner, "")
	switch {
	case err != nil:
		return err
	case over != nil && left < 0:
		return over
	}
	return s.files.Confirm(owner, id)
}

// Kept opens a kept file, or returns ErrNotFound.
func (s *Service) Kept(owner, id string) (io.ReadSeekCloser, error) {
	f, err := s.files.Kept(owner, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open a kept file: %w", err)
	}
	return f, nil
}

// Drop removes a kept file, if it is there.
func (s *Service) Drop(owner, id string) error { return s.full(s.files.Drop(owner, id)) }

// DeleteUploads deletes all uploaded files of a scope with their documents, and cancels the jobs that have yet to read
// any of them.
func (s *Service) DeleteUploads(ctx context.Context, at upload.Scope) error {
	waiting, err := s.waiting(ctx, at)
	if err != nil {
		return err
	}
	for _, j := range waiting {
		if _, err := s.runner.Cancel(ctx, j.Owner, j.ID); err != nil && !errors.Is(err, job.ErrState) && !errors.Is(err, job.ErrNotFound) {
			return err
		}
		if err := s.files.Discard(j.ID); err != nil {
			return err
		}
	}
	names, err := s.files.List(at)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := s.files.Remove(at, name); err != nil {
			return err
		}
	}
	s.deletions.Add(1)
	return s.full(s.dropRoot(ctx, at))
}

// dropRoot deletes all documents of the uploads of a scope.
func (s *Service) dropRoot(ctx context.Context, at upload.Scope) error {
	rows, err := s.cfg.Store.Files(ctx, at.Namespace, ingest.UploadsRoot(at.Owner))
	if err != nil {
		return fmt.Errorf("look for the documents of uploads: %w", err)
	}
	b := retrieval.Batch{Namespace: at.Namespace}
	for _, f := range rows {
		b.DropFiles = append(b.DropFiles, f.FileKey)
		if f.DocumentID != "" {
			b.Delete = append(b.Delete, f.DocumentID)
		}
	}
	if len(b.DropFiles) == 0 {
		return nil
	}
	if err := s.cfg.Corpus.Apply(ctx, b); err != nil {
		return fmt.Errorf("delete the documents of uploads: %w", err)
	}
	return nil
}

// UploadRevisions returns the revisions of the documents of a scope's uploads, by the names of the files. A file with
// others inside may have several.
func (s *Service) UploadRevisions(ctx context.Context, at upload.Scope) (map[string][]int64, error) {
	paths, err := s.cfg.Store.FileRevisions(ctx, at.Namespace, ingest.UploadsRoot(at.Owner))
	if err != nil {
		return nil, err
	}
	all := map[string][]int64{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		name, _, _ := strings.Cut(path, "/")
		all[name] = append(all[name], paths[path])
	}
	return all, nil
}

// UploadOf returns the name of the uploaded file, in a scope, from which a document was made, or ErrNotFound.
func (s *Service) UploadOf(ctx context.Context, at upload.Scope, documentID string) (string, error) {
	rows, err := s.cfg.Store.FilesOf(ctx, at.Namespace, documentID)
	if err != nil {
		return "", err
	}
	for _, f := range rows {
		if f.Root == ingest.UploadsRoot(at.Owner) {
			name, _, _ := strings.Cut(f.Path, "/")
			return name, nil
		}
	}
	return "", ErrNotFound
}
