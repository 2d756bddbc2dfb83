package retrieval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/internal/lexical"
)

// state is the index of a namespace at one version of the store. It is immutable but for its
// cache of views.
type state struct {
	version  int64
	segments map[int64]*lexical.Segment
	reader   *lexical.Reader
	loadedAt time.Time
	loading  time.Duration // how long it took to make

	mu    sync.Mutex
	views map[viewKey]*lexical.View // bounded by maxViews
}

const maxViews = 64

// fresh reports whether the state may serve a search at the store's version. Loading may take at
// most a tenth of the time while a bulk ingestion changes the store many times a second.
func (s *state) fresh(version int64) bool {
	return s.version == version || time.Since(s.loadedAt) < min(10*s.loading, time.Second)
}

// loadState reads the index of a namespace from the store, taking segments that are loaded
// already from old, which may be nil, and repairs it where it is incomplete.
func (c *Corpus) loadState(ctx context.Context, namespace string, old *state) (*state, error) {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		snap, err := c.store.Snapshot(ctx, namespace)
		if err != nil {
			return nil, fmt.Errorf("read the index snapshot: %w", err)
		}
		segments, broken, err := c.openSegments(ctx, snap, old)
		if err != nil {
			return nil, err
		}
		missing := uncovered(snap.Revisions, segments)
		if len(missing) == 0 && len(broken) == 0 {
			return newState(snap.Version, segments, began), nil
		}
		if attempt == maxRepairs {
			return nil, fmt.Errorf("the index is still incomplete after %d repairs", attempt)
		}
		c.log.Info("repair the index", "namespace", namespace, "documents", len(missing), "damaged_segments", len(broken))
		if err := c.repair(ctx, namespace, missing, broken); err != nil && !errors.Is(err, ErrConflict) {
			return nil, fmt.Errorf("repair the index: %w", err)
		}
	}
}

// maxRepairs bounds how often a load starts again because another process changed the index.
const maxRepairs = 5

func newState(version int64, segments map[int64]*lexical.Segment, began time.Time) *state {
	ids := make([]int64, 0, len(segments))
	for id := range segments {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ordered := make([]*lexical.Segment, len(ids))
	for i, id := range ids {
		ordered[i] = segments[id]
	}
	now := time.Now()
	return &state{
		version: version, segments: segments, reader: lexical.NewReader(ordered),
		loadedAt: now, loading: now.Sub(began), views: make(map[viewKey]*lexical.View),
	}
}

// openSegments returns the readable segments of a snapshot and the ids of those that are not.
func (c *Corpus) openSegments(ctx context.Context, snap Snapshot, old *state) (map[int64]*lexical.Segment, []int64, error) {
	segments := make(map[int64]*lexical.Segment, len(snap.Segments))
	var broken []int64
	for _, seg := range snap.Segments {
		if old != nil && old.segments[seg.ID] != nil {
			segments[seg.ID] = old.segments[seg.ID]
			continue
		}
		if seg.Generation != lexical.Generation {
			broken = append(broken, seg.ID)
			continue
		}
		data, err := c.store.SegmentData(ctx, seg.ID)
		if errors.Is(err, ErrNotFound) {
			continue // replaced since the snapshot: what it covered shows as missing
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read segment %d: %w", seg.ID, err)
		}
		opened, err := lexical.Open(data)
		if err != nil {
			broken = append(broken, seg.ID)
			continue
		}
		segments[seg.ID] = opened
	}
	return segments, broken, nil
}

// uncovered returns the revisions that no segment holds.
func uncovered(revisions []int64, segments map[int64]*lexical.Segment) []int64 {
	covered := make(map[int64]bool, len(revisions))
	for _, s := range segments {
		for _, r := range s.Revisions() {
			covered[r] = true
		}
	}
	var missing []int64
	for _, r := range revisions {
		if !covered[r] {
			missing = append(missing, r)
		}
	}
	return missing
}
