package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"parley/internal/retrieval"
)

// Survey reads the files at paths as Run does and reports what Run would do, but changes nothing. Visit gets the
// documents that Run would store, one at a time; its error ends the survey. While files are read, copies of
// them lie in a temporary folder.
func (in *Ingester) Survey(ctx context.Context, paths []string, visit func(retrieval.Put) error, progress func(Progress)) (Report, error) {
	resolved, err := resolve(paths, in.cfg)
	if err != nil {
		return Report{}, err
	}
	return in.surveying(visit, func(in *Ingester, spools string) (Report, error) {
		return in.run(ctx, (*run).choose, resolved, spools, progress)
	})
}

// surveying calls f with an Ingester that changes nothing, and a folder for nested files.
func (in *Ingester) surveying(visit func(retrieval.Put) error, f func(in *Ingester, spools string) (Report, error)) (report Report, err error) {
	dir, err := os.MkdirTemp("", "parley-survey-")
	if err != nil {
		return Report{}, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &survey{dir: dir, visit: visit, copies: map[string]int{}}
	cfg := in.cfg
	cfg.Corpus, cfg.Blobs, cfg.Sweep = s, s, nil
	if cfg.Recognition != nil {
		about := *cfg.Recognition
		about.Waiting = nil
		cfg.Recognition = &about
	}
	return f(&Ingester{cfg: cfg}, filepath.Join(dir, "spool"))
}

// survey replaces the corpus and the blobs. It removes a copy when the batch with the result of its file
// arrives.
type survey struct {
	dir   string
	visit func(retrieval.Put) error

	mu     sync.Mutex
	copies map[string]int // number of files with this content that are being read
}

var (
	_ Corpus = (*survey)(nil)
	_ Blobs  = (*survey)(nil)
)

// Apply passes the documents of the batch to visit and commits nothing.
func (s *survey) Apply(_ context.Context, b retrieval.Batch) error {
	for _, part := range append([]retrieval.Batch{b}, b.Others...) {
		for _, p := range part.Put {
			if err := s.visit(p); err != nil {
				return err
			}
		}
	}
	for _, f := range b.PutFiles {
		if len(f.SHA256) >= 2*sha256.Size { // the rest is the hash of a sidecar
			if err := s.release(f.SHA256[:2*sha256.Size]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Put copies a file.
func (s *survey) Put(ctx context.Context, r io.Reader) (sha string, size int64, err error) {
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	f, err := os.CreateTemp(s.dir, "copy-*")
	if err != nil {
		return "", 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, hash), r)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, errors.Join(err, os.Remove(f.Name()))
	}
	sha = hex.EncodeToString(hash.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copies[sha]++
	if s.copies[sha] > 1 {
		return sha, size, os.Remove(f.Name())
	}
	return sha, size, os.Rename(f.Name(), s.path(sha))
}

// Open opens a copy.
func (s *survey) Open(sha string) (*os.File, error) { return os.Open(s.path(sha)) }

func (s *survey) path(sha string) string { return filepath.Join(s.dir, sha) }

func (s *survey) release(sha string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.copies[sha] {
	case 0: // the row was written without reading the content
		return nil
	case 1:
		delete(s.copies, sha)
		return os.Remove(s.path(sha))
	}
	s.copies[sha]--
	return nil
}
