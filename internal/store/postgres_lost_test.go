package store_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/store/storetest"
	"parley/internal/transcript"
)

// client saves turns and reads them until ctx ends, and notes what was acknowledged and what failed.
type client struct {
	saved  []int
	failed []error
}

func (c *client) run(ctx context.Context, t *testing.T, db *store.DB, first int) {
	for i := first; ctx.Err() == nil; i++ {
		r := storetest.Record(i, "")
		if err := db.State().Save(t.Context(), r); err != nil {
			c.failed = append(c.failed, err)
			continue
		}
		c.saved = append(c.saved, i)
		if _, err := db.State().Turn(t.Context(), r.Scope, r.ID); err != nil {
			c.failed = append(c.failed, err)
		}
	}
}

func TestPostgres_SurvivesRestartsUnderLoad(t *testing.T) {
	db := openPostgres(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const clients, restarts = 4, 3
	all := make([]client, clients)
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() { all[i].run(ctx, t, db, i*1_000_000) })
	}
	for range restarts {
		time.Sleep(300 * time.Millisecond) // of load
		pgtest.Restart(t, 200*time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	stop()
	running.Wait()
	for i, c := range all {
		if len(c.saved) == 0 {
			t.Errorf("client %d saved nothing", i)
		}
		for _, n := range c.saved {
			r := storetest.Record(n, "")
			if _, err := db.State().Turn(t.Context(), r.Scope, r.ID); err != nil {
				t.Errorf("an acknowledged turn: %v", err)
			}
		}
		if len(c.failed) > restarts {
			t.Errorf("client %d met %d errors in %d restarts", i, len(c.failed), restarts)
		}
		for _, err := range c.failed {
			if chat.KindOf(err) != chat.Unavailable {
				t.Errorf("client %d met an error that is not said to pass: %v", i, err)
			}
		}
	}
}

// openInterrupted returns an empty database whose connections are cut again and again.
func openInterrupted(t *testing.T) *store.DB {
	t.Helper()
	url := pgtest.New(t)
	db := openPostgresAt(t, url)
	done := make(chan struct{})
	var cutting sync.WaitGroup
	cutting.Go(func() {
		const shortest = 50 * time.Millisecond
		for pause := shortest; ; {
			select {
			case <-time.After(pause):
				began := time.Now()
				pgtest.Cut(t, url)
				pause = max(shortest, 5*time.Since(began)) // a busy machine needs longer for everything
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		cutting.Wait()
	})
	return db
}

// Nobody notices that a connection is cut: what was not done is done again on another one, and nothing is done
// or returned twice. The suites that take long run if PARLEY_CRASH_ROUNDS is set.
func TestPostgres_ConformsWhileConnectionsAreCut(t *testing.T) {
	t.Run("shelf", func(t *testing.T) {
		storetest.Shelf(t, func(t *testing.T) storetest.ItemStore { return openInterrupted(t).Shelf() })
	})
	t.Run("sessions", func(t *testing.T) {
		storetest.Sessions(t, func(t *testing.T) storetest.SessionStore { return openInterrupted(t).Sessions() })
	})
	if os.Getenv("PARLEY_CRASH_ROUNDS") == "" {
		return
	}
	t.Run("corpus", func(t *testing.T) {
		storetest.Corpus(t, func(t *testing.T) storetest.CorpusParts { return partsOf(openInterrupted(t)) })
	})
	t.Run("state", func(t *testing.T) {
		storetest.State(t, func(t *testing.T) storetest.StateParts { return stateOf(openInterrupted(t)) })
	})
	t.Run("transcripts", func(t *testing.T) {
		storetest.Transcripts(t, func(t *testing.T) transcript.Store { return openInterrupted(t).Transcripts() })
	})
	t.Run("jobs", func(t *testing.T) {
		storetest.Jobs(t, func(t *testing.T) storetest.JobStore { return openInterrupted(t).Jobs() })
	})
}
