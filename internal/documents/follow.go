package documents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/watch"
	"parley/internal/extract/sandbox"
	"parley/internal/interrupt"
)

// FollowFiles keeps the corpus in step with all files and folders that were ingested from this disk, including
// those that other commands ingest meanwhile. It returns ctx's error when ctx ends. After is called with the
// report of each change; it may be nil.
func (s *Service) FollowFiles(ctx context.Context, after func(ingest.Report)) error {
	pool := s.reading.pool(s.reading.workers(), false)
	defer pool.Close()
	f := following{Service: s, pool: pool, after: after}
	for {
		roots, err := s.diskRoots(ctx)
		if err != nil {
			return err
		}
		if len(roots) == 0 {
			s.cfg.Logger.Warn("there is nothing to watch yet: no folder was ingested")
		} else {
			s.cfg.Logger.Info("watching for changes", "roots", len(roots))
		}
		if err := f.follow(ctx, roots); err != nil {
			return err
		}
	}
}

// diskRoots are files and folders that were ingested from this disk, by namespace.
type diskRoots map[string][]string

func (s *Service) diskRoots(ctx context.Context) (diskRoots, error) {
	namespaces, err := s.cfg.Store.RootNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	roots := diskRoots{}
	for _, namespace := range namespaces {
		stored, err := s.cfg.Store.Roots(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for _, r := range stored {
			if onDisk(r) {
				roots[namespace] = append(roots[namespace], r.Path)
			}
		}
	}
	return roots, nil
}

// paths returns the paths of all namespaces, each once.
func (r diskRoots) paths() (all []string) {
	for _, paths := range r {
		all = append(all, paths...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// following is a running FollowFiles.
type following struct {
	*Service
	pool  *sandbox.Pool
	after func(ingest.Report) // may be nil
}

// follow follows roots until the ingested roots change, or until ctx ends, whose error it then returns.
func (f *following) follow(ctx context.Context, roots diskRoots) error {
	inner, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		defer stop()
		f.awaitOthers(inner, roots)
	})
	options := watch.Options{Ignore: f.reading.ingester("", f.pool).Ignores, Logger: f.cfg.Logger}
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

// rootsInterval is the time between two comparisons of the ingested roots with those that are followed.
const rootsInterval = 5 * time.Second

// awaitOthers returns when the set of ingested files and folders differs from roots, or ctx ends.
func (f *following) awaitOthers(ctx context.Context, roots diskRoots) {
	for interrupt.Sleep(ctx, rootsInterval) == nil {
		now, err := f.diskRoots(ctx)
		if err != nil {
			f.cfg.Logger.Debug("read the ingested roots", "error", err)
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
		var report ingest.Report
		report, err = f.reading.ingester(namespace, f.pool).Refresh(ctx, slices.Concat(c.Roots, c.Paths), nil)
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

// logRefresh logs the result of a refresh.
func (s *Service) logRefresh(ctx context.Context, r ingest.Report, err error) {
	log := s.cfg.Logger
	_, locked := errors.AsType[*ingest.LockedError](err)
	switch {
	case ctx.Err() != nil:
	case locked:
		log.Debug("changes wait until another ingestion has ended")
	case err != nil:
		log.Error("follow changes; they are tried again", "error", err)
	case r.Indexed+r.Updated+r.Deleted > 0:
		log.Info("followed changes", "indexed", r.Indexed, "updated", r.Updated, "deleted", r.Deleted,
			"duration", r.Duration.Round(time.Millisecond))
	}
	for _, f := range r.Partly {
		if !f.Known {
			log.Warn("a part of a changed file could not be read", "file", f.Path, "detail", f.Detail)
		}
	}
	failed := 0
	for _, f := range r.Failed {
		if f.Known {
			continue
		}
		if failed++; failed <= maxFailedLogged {
			log.Warn("a changed file cannot be indexed", "file", f.Path, "reason", string(f.Reason), "detail", f.Detail)
		}
	}
	if failed > maxFailedLogged {
		log.Warn("further changed files cannot be indexed", "count", failed-maxFailedLogged)
	}
}

// maxFailedLogged is the maximum number of files of one refresh that the log names: when a large folder is deleted
// while it is read, every file fails.
const maxFailedLogged = 10

// lockedRetry is the longest wait for another process that reads web sites.
const lockedRetry = time.Minute

// KeepSitesFresh reads the known web sites of all namespaces again at an interval, until ctx ends.
func (s *Service) KeepSitesFresh(ctx context.Context, every time.Duration) {
	log := s.cfg.Logger
	for wait := interrupt.Jittered(every); interrupt.Sleep(ctx, wait) == nil; {
		wait = interrupt.Jittered(every)
		report, err := s.freshenSites(ctx)
		locked, elsewhere := errors.AsType[*ingest.LockedError](err)
		switch {
		case ctx.Err() != nil:
			return
		case elsewhere:
			log.Debug("another process reads web sites", "process", locked.PID)
			wait = min(lockedRetry, wait)
		case err != nil:
			log.Error("read web sites again; the next attempt comes with the schedule", "error", err)
		default:
			log.Info("web sites read again", "indexed", report.Indexed, "updated", report.Updated, "unchanged", report.Unchanged,
				"deleted", report.Deleted, "failed", len(report.Failed), "duration", report.Duration)
			for _, f := range report.Failed {
				log.Warn("a page could not be read", "url", f.Path, "reason", f.Reason, "detail", f.Detail)
			}
		}
	}
}

// freshenSites reads the web sites of all namespaces again.
func (s *Service) freshenSites(ctx context.Context) (all ingest.Report, err error) {
	namespaces, err := s.cfg.Store.RootNamespaces(ctx)
	if err != nil {
		return all, err
	}
	pool := s.reading.pool(s.reading.workers(), false)
	defer pool.Close()
	for _, namespace := range namespaces {
		in := s.reading.ingester(namespace, pool)
		sites, err := in.Sites(ctx)
		if err != nil {
			return all, err
		}
		report, err := in.RunSites(ctx, sites, nil)
		all.Add(report)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// lockInterval is the time between two checks of RefreshUploads whether another ingestion has ended.
const lockInterval = time.Second

// RefreshUploads ingests the known folders of uploads again: a new version of the program, or other settings,
// may read their files differently. It waits for other ingestions to end.
func (s *Service) RefreshUploads(ctx context.Context) error {
	namespaces, err := s.cfg.Store.Namespaces(ctx)
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, ns := range namespaces {
		if err := s.refreshUploads(ctx, ns); err != nil {
			return err
		}
	}
	return nil
}
