package documents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/source"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
)

// RemoteSource is a remote source of a namespace.
type RemoteSource struct {
	Namespace string
	Address   string
	Kind      string    // source.Kind.Name
	Paused    bool      // it is read only when somebody asks for that
	Wanted    bool      // a run was asked for and has not begun
	Next      time.Time // of the next run; zero for none
	Run       SourceRun // the last one
	Rights    bool      // see SaidOfSource
}

// State returns what the source is doing, as one word.
func (r RemoteSource) State() string {
	switch {
	case r.Run.Ended.Before(r.Run.Began):
		return "running"
	case r.Wanted:
		return "waiting"
	case r.Paused:
		return "paused"
	case r.Run.Error != "":
		return "failing"
	case r.Run.Began.IsZero():
		return "new"
	}
	return "ok"
}

// RemoteSources returns the remote sources of a namespace, in the order in which they were added. every is the
// interval of KeepRemotesFresh.
func (s *Service) RemoteSources(ctx context.Context, namespace string, every time.Duration) (all []RemoteSource, err error) {
	roots, err := s.cfg.Store.Roots(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("read the ingested roots: %w", err)
	}
	for _, root := range roots {
		if a, err := source.Parse(root.Path); err == nil {
			r := describe(namespace, root, every)
			r.Rights = s.saidOf(a).Rights
			all = append(all, r)
		}
	}
	return all, nil
}

func describe(namespace string, root retrieval.Root, every time.Duration) RemoteSource {
	w, run := decodeWishes(root.Source), decodeRun(root.State)
	r := RemoteSource{Namespace: namespace, Address: root.Path, Kind: source.KindOf(root.Path).Name, Paused: w.Paused,
		Wanted: w.Wanted.After(run.Began), Run: run}
	switch {
	case r.Wanted:
		r.Next = w.Wanted
	case every > 0 && !r.Paused:
		r.Next = run.Began.Add(every)
	}
	return r
}

// PauseSource takes a source out of the schedule, or puts it back. A paused source is read only when somebody
// asks for it.
func (s *Service) PauseSource(ctx context.Context, namespace, address string, paused bool) error {
	return s.wish(ctx, namespace, address, func(w *wishes) { w.Paused, w.First = paused, false })
}

// WantSource makes a server read a source soon, even if it is paused. With lose, the run deletes the documents
// of a source that lists nothing any more. A source whose first run was to be started by hand joins the schedule.
func (s *Service) WantSource(ctx context.Context, namespace, address string, lose bool) error {
	return s.wish(ctx, namespace, address, func(w *wishes) {
		w.Wanted, w.Lose = time.Now().UTC(), lose
		w.Paused, w.First = w.Paused && !w.First, false
	})
}

func (s *Service) wish(ctx context.Context, namespace, address string, change func(*wishes)) error {
	root, err := s.knownRemote(ctx, namespace, address)
	if err != nil {
		return err
	}
	w := decodeWishes(root.Source)
	change(&w)
	return s.putWishes(ctx, namespace, root, w)
}

// knownRemote returns the root of a recorded source, or ErrNoSource.
func (s *Service) knownRemote(ctx context.Context, namespace, address string) (retrieval.Root, error) {
	a, err := source.Parse(address)
	if err != nil {
		return retrieval.Root{}, ErrNoSource
	}
	root, known, err := s.remoteRoot(ctx, namespace, a.String())
	if err == nil && !known {
		err = ErrNoSource
	}
	return root, err
}

// RemoveSource forgets a source with its documents, and returns how many it deleted. A *ingest.LockedError says that it is
// being read.
func (s *Service) RemoveSource(ctx context.Context, namespace, address string) (deleted int, err error) {
	root, err := s.knownRemote(ctx, namespace, address)
	if err != nil {
		return 0, err
	}
	a, err := source.Parse(root.Path)
	if err != nil {
		return 0, err
	}
	nothing := func(context.Context) (source.Source, error) { return source.Nothing{}, nil }
	report, err := s.reading.ingester(namespace, nil).RunRemote(ctx, ingest.Remote{Address: a, Open: nothing, Lose: true}, nil)
	if err == nil {
		err = s.cfg.Corpus.Apply(ctx, retrieval.Batch{Namespace: namespace, DropRoots: []string{root.Path}})
	}
	return report.Deleted, s.full(err)
}

// How often KeepRemotesFresh looks for sources that are due, and how many it reads at the same time.
const (
	remotesInterval = 3 * time.Second
	mostRemotes     = 2
)

// KeepRemotesFresh reads the remote sources of all namespaces until ctx ends: at an interval, unless it is 0, and when
// somebody asks for it.
func (s *Service) KeepRemotesFresh(ctx context.Context, every time.Duration) {
	var beside sync.WaitGroup
	defer beside.Wait()
	var mu sync.Mutex
	busy := map[string]bool{} // namespace and address
	for interrupt.Sleep(ctx, remotesInterval) == nil {
		due, err := s.dueRemotes(ctx, every)
		if err != nil {
			s.logUnless(ctx, err)
			continue
		}
		for _, r := range due {
			key := r.Namespace + "\x00" + r.Address
			mu.Lock()
			start := !busy[key] && len(busy) < mostRemotes
			if start {
				busy[key] = true
			}
			mu.Unlock()
			if !start {
				continue
			}
			beside.Go(func() {
				s.freshenRemote(ctx, r)
				mu.Lock()
				delete(busy, key)
				mu.Unlock()
			})
		}
	}
}

func (s *Service) logUnless(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.cfg.Logger.Error("look for sources to read", "error", err)
	}
}

// dueRemotes returns the sources that are to be read now.
func (s *Service) dueRemotes(ctx context.Context, every time.Duration) (due []RemoteSource, err error) {
	all, err := s.cfg.Store.SourceRoots(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ingested roots: %w", err)
	}
	now := time.Now()
	for namespace, roots := range all {
		for _, root := range roots {
			if !source.IsRemote(root.Path) {
				continue
			}
			// A run that was cut short continues.
			if r := describe(namespace, root, every); r.State() == "running" && !r.Paused || !r.Next.IsZero() && r.Next.Before(now) {
				due = append(due, r)
			}
		}
	}
	return due, nil
}

// freshenRemote reads a source and logs the result.
func (s *Service) freshenRemote(ctx context.Context, r RemoteSource) {
	log := s.cfg.Logger.With("source", r.Address, "namespace", r.Namespace)
	a, err := source.Parse(r.Address)
	if err != nil {
		log.Error("read a source", "error", err)
		return
	}
	pool := s.reading.pool(s.reading.workers(), false)
	defer pool.Close()
	report, err := s.readRemote(ctx, s.reading.ingester(r.Namespace, pool), r.Namespace, a, nil)
	switch {
	case ctx.Err() != nil:
	case errors.As(err, new(*ingest.LockedError)):
		log.Debug("another run reads the source")
	case err != nil:
		log.Error("read a source; its documents stay", "error", err)
	default:
		log.Info("source read", "indexed", report.Indexed, "updated", report.Updated, "unchanged", report.Unchanged,
			"deleted", report.Deleted, "failed", len(report.Failed), "duration", report.Duration)
	}
}
