package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/store/storetest"
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
