package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"parley/internal/ingest"
	"parley/internal/watch"
)

// watchFolders makes the corpus follow all that was ingested from this disk, until ctx ends. After
// gets what each change has led to; it may be nil.
func (p *program) watchFolders(ctx context.Context, in *instance, after func(ingest.Report)) error {
	stored, err := in.db.Corpus().Roots(ctx, in.cfg.Namespace)
	if err != nil {
		return err
	}
	var roots []string
	for _, r := range stored {
		if filepath.IsAbs(r.Path) {
			roots = append(roots, r.Path)
		}
	}
	if len(roots) == 0 {
		p.log.Warn("there is nothing to watch: no folder was ingested")
	} else {
		p.log.Info("watching for changes", "roots", len(roots))
	}
	pool := newPool(in.cfg, in.cfg.readers(), false)
	defer pool.Close()
	ingester := p.ingester(in, pool)
	return watch.Follow(ctx, roots, watch.Options{Ignore: ingester.Ignores, Logger: p.log},
		func(ctx context.Context, c watch.Changes) error {
			report, err := ingester.Refresh(ctx, append(c.Roots, c.Paths...), nil)
			p.logRefresh(ctx, report, err)
			if err == nil && after != nil {
				after(report)
			}
			return err
		})
}

// logRefresh says what changes have led to.
func (p *program) logRefresh(ctx context.Context, r ingest.Report, err error) {
	_, locked := errors.AsType[*ingest.LockedError](err)
	switch {
	case ctx.Err() != nil:
	case locked:
		p.log.Debug("changes wait until another ingestion is done")
	case err != nil:
		p.log.Error("follow changes; they are tried again", "error", err)
	case r.Indexed+r.Updated+r.Deleted > 0:
		p.log.Info("followed changes", "indexed", r.Indexed, "updated", r.Updated, "deleted", r.Deleted,
			"duration", r.Duration.Round(time.Millisecond))
	}
	failed := 0
	for _, f := range r.Failed {
		if f.Known {
			continue
		}
		if failed++; failed <= maxFailedLogged {
			p.log.Warn("a changed file cannot be indexed", "file", f.Path, "reason", string(f.Reason), "detail", f.Detail)
		}
	}
	if failed > maxFailedLogged {
		p.log.Warn("further changed files cannot be indexed", "count", failed-maxFailedLogged)
	}
}

// maxFailedLogged is how many files of one refresh are named in the log: when a large folder goes while
// it is read, every file fails.
const maxFailedLogged = 10

// keepWatching follows changes beside a server, once ingested is closed.
func (s *serving) keepWatching(ctx context.Context, ingested <-chan struct{}) {
	select {
	case <-ingested:
	case <-ctx.Done():
		return
	}
	if err := s.watchFolders(ctx, s.instance, nil); err != nil && ctx.Err() == nil {
		s.log.Error("changes of files are not followed any more", "error", err)
	}
}
