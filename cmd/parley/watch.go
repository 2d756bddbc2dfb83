package main

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/watch"
	"parley/internal/extract"
)

// watchFolders makes the corpus follow all that was ingested from this disk, be it by other commands
// meanwhile, until ctx ends. After gets what each change has led to; it may be nil.
func (p *program) watchFolders(ctx context.Context, in *instance, after func(ingest.Report)) error {
	pool := newPool(in.cfg, in.cfg.readers(), false)
	defer pool.Close()
	f := following{program: p, instance: in, pool: pool, after: after}
	for {
		roots, err := in.rootsOnDisk(ctx)
		if err != nil {
			return err
		}
		if len(roots) == 0 {
			p.log.Warn("there is nothing to watch yet: no folder was ingested")
		} else {
			p.log.Info("watching for changes", "roots", len(roots))
		}
		if err := f.follow(ctx, roots); err != nil {
			return err
		}
	}
}

// diskRoots are files and folders that were ingested from this disk, by namespace.
type diskRoots map[string][]string

func (in *instance) rootsOnDisk(ctx context.Context) (diskRoots, error) {
	namespaces, err := in.db.Corpus().RootNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	roots := diskRoots{}
	for _, namespace := range namespaces {
		stored, err := in.db.Corpus().Roots(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range stored {
			if filepath.IsAbs(r.Path) {
				roots[namespace] = append(roots[namespace], r.Path)
			}
		}
	}
	return roots, nil
}

// paths returns them all, each once.
func (r diskRoots) paths() (all []string) {
	for _, paths := range r {
		all = append(all, paths...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// following has the corpus follow files and folders.
type following struct {
	*program
	*instance
	pool  *extract.Pool
	after func(ingest.Report) // may be nil
}

// follow follows roots until ctx ends, whose error it returns, or others were ingested.
func (f *following) follow(ctx context.Context, roots diskRoots) error {
	inner, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		defer stop()
		f.awaitOthers(inner, roots)
	})
	options := watch.Options{Ignore: f.ingester(f.instance, f.pool).Ignores, Logger: f.log}
	err := watch.Follow(inner, roots.paths(), options, func(ctx context.Context, c watch.Changes) error {
		return f.changed(ctx, roots, c)
	})
	stop()
	beside.Wait()
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// rootsInterval is how often it is seen whether something else was ingested.
const rootsInterval = 5 * time.Second

// awaitOthers returns when the ingested files and folders are others than these, or ctx has ended.
func (f *following) awaitOthers(ctx context.Context, roots diskRoots) {
	for sleep(ctx, rootsInterval) {
		now, err := f.rootsOnDisk(ctx)
		if err != nil {
			f.log.Debug("look for what was ingested", "error", err)
		} else if !maps.EqualFunc(now, roots, slices.Equal) {
			return
		}
	}
}

// changed brings the namespaces of the roots up to date with changes.
func (f *following) changed(ctx context.Context, roots diskRoots, c watch.Changes) error {
	var all ingest.Report
	var err error
	for _, namespace := range slices.Sorted(maps.Keys(roots)) {
		cfg := f.ingestConfig(f.instance, f.pool)
		cfg.Namespace = namespace
		var report ingest.Report
		report, err = ingest.New(cfg).Refresh(ctx, slices.Concat(c.Roots, c.Paths), nil)
		all.Add(report)
		if err != nil {
			break
		}
	}
	f.logRefresh(ctx, all, err)
	if err == nil && f.after != nil {
		f.after(all)
	}
	return err
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
	for _, f := range r.Partly {
		if !f.Known {
			p.log.Warn("a part of a changed file could not be read", "file", f.Path, "detail", f.Detail)
		}
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
		s.log.Error("no longer following changes of files", "error", err)
	}
}
