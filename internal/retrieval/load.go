package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/lexical"
)

// space is one namespace's index in memory.
type space struct {
	state atomic.Pointer[state] // nil until it is loaded; see set
	load  sync.Mutex            // held while the next state is made

	vectorLoad sync.Mutex // held while vectors are read; taken before load

	namespace string

	examining chan struct{} // holds an element while attributes are examined
	meet      sync.Mutex
	met       map[string]passing // by condition; bounded by maxConditions and maxMeeting. meet guards it

	users int   // see use
	used  int64 // Corpus.uses when it was last used
	size  int64 // of the state
}

// maxAge bounds how far a search may lag behind the commits of other processes.
const maxAge = time.Second

// serves reports whether a search may use the state now that the store is at a version. The state always has this process's own
// changes. While another process changes the store many times a second, the state may lag a little, so that reading the index
// takes at most a tenth of the time; chunks deleted since then are noticed when passages are read.
func (st *state) serves(version int64) bool {
	if st.version.Load() >= version {
		st.checked.Store(time.Now().UnixNano())
		return true
	}
	return !st.expired.Load() && st.age() < min(10*st.loading, maxAge)
}

func (st *state) age() time.Duration { return time.Since(time.Unix(0, st.checked.Load())) }

// current returns a state that may serve a search that begins now.
func (c *Corpus) current(ctx context.Context, namespace string) (*state, error) {
	version, err := c.store.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the corpus version: %w", err)
	}
	s := c.space(namespace)
	st := s.state.Load()
	if st != nil && st.serves(version) {
		return st, nil
	}
	if !s.load.TryLock() {
		if st != nil && !st.expired.Load() && st.age() < maxAge {
			return st, nil // a newer state is being loaded
		}
		s.load.Lock()
	}
	defer s.load.Unlock()
	if st = s.state.Load(); st != nil && st.serves(version) {
		return st, nil
	}
	return c.reload(ctx, namespace, s)
}

// latest returns the state at the store's present version.
func (c *Corpus) latest(ctx context.Context, namespace string) (*state, error) {
	s := c.space(namespace)
	s.load.Lock()
	defer s.load.Unlock()
	version, err := c.store.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the corpus version: %w", err)
	}
	if st := s.state.Load(); st != nil && st.version.Load() >= version {
		return st, nil
	}
	return c.reload(ctx, namespace, s)
}

// reload reads the index of a namespace from the store. The caller holds load.
func (c *Corpus) reload(ctx context.Context, namespace string, s *space) (*state, error) {
	st, err := c.loadState(ctx, namespace, s.state.Load())
	if err != nil {
		return nil, err
	}
	c.set(s, st)
	return st, nil
}

// maxRepairs bounds how often a load starts again because another process changed the index.
const maxRepairs = 5

// loadState reads the index of a namespace from the store, and repairs it if it is incomplete. It reuses the segments of old,
// which may be nil.
func (c *Corpus) loadState(ctx context.Context, namespace string, old *state) (*state, error) {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		snap, err := c.store.Snapshot(ctx, namespace)
		if err != nil {
			return nil, fmt.Errorf("read the index snapshot: %w", err)
		}
		opened, broken, err := c.openSegments(ctx, snap, old)
		if err != nil {
			return nil, err
		}
		index := assemble(snap.Current, opened)
		broken = append(broken, index.redundant...)
		if len(index.missing) == 0 && len(broken) == 0 {
			return index.state(snap, old, began), nil
		}
		if c.late.Load() {
			c.log.Debug("an incomplete index serves", "namespace", namespace, "missing", len(index.missing))
			return index.state(snap, old, began), nil
		}
		if attempt == maxRepairs {
			return nil, fmt.Errorf("the index is still incomplete after %d repairs", attempt)
		}
		c.log.Info("repair the index", "namespace", namespace,
			"documents", len(index.missing), "segments", len(broken))
		if err := c.repair(ctx, namespace, index.missing, broken, func(Applied) error { return nil }); err != nil && !errors.Is(err, ErrConflict) {
			return nil, fmt.Errorf("repair the index: %w", err)
		}
	}
}

// state makes a state of the assembly of a snapshot, with the vectors of the old state, which may be nil.
func (a *assembly) state(snap Snapshot, old *state, began time.Time) *state {
	var vectors vectorSet
	version := int64(0)
	if old != nil {
		vectors, version = old.vectors.renew(snap.Current, &a.rights), old.vectorVersion.Load()
	}
	st := newState(snap.Version, a.parts, a.rights, time.Since(began))
	st.vectors = vectors
	st.vectorVersion.Store(version)
	return st
}

// opened is a segment that can be read.
type opened struct {
	id      int64
	segment *lexical.Segment
}

// openSegments returns the readable segments of a snapshot and the ids of those that are not.
func (c *Corpus) openSegments(ctx context.Context, snap Snapshot, old *state) (all []opened, broken []int64, err error) {
	for _, seg := range snap.Segments {
		if p, ok := old.part(seg.ID); ok {
			all = append(all, opened{seg.ID, p.segment})
			continue
		}
		if seg.Generation != lexical.Generation {
			broken = append(broken, seg.ID)
			continue
		}
		data, err := c.store.SegmentData(ctx, seg.ID)
		if errors.Is(err, ErrNotFound) {
			continue // replaced since the snapshot: its revisions will show as missing
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			return nil, nil, fmt.Errorf("read segment %d: %w", seg.ID, err)
		}
		segment, damage := lexical.Open(data)
		if err != nil || damage != nil {
			broken = append(broken, seg.ID)
			continue
		}
		all = append(all, opened{seg.ID, segment})
	}
	return all, broken, nil
}

// part returns the part with a store's id. The state may be nil.
func (st *state) part(id int64) (part, bool) {
	if st == nil {
		return part{}, false
	}
	i, ok := slices.BinarySearchFunc(st.parts, id, func(p part, id int64) int { return cmp.Compare(p.id, id) })
	if !ok {
		return part{}, false
	}
	return st.parts[i], true
}

// assembly is the combination of segments and rights.
type assembly struct {
	parts     []part
	rights    rightsTable
	missing   []int64 // revisions that no part covers, ascending
	redundant []int64 // ids of segments whose revisions others cover too: two processes repaired at once
}

// assemble joins the segments of an index with the rights to its current revisions, which ascend.
func assemble(current []Rights, segments []opened) assembly {
	a := assembly{rights: newRightsTable()}
	covered := make([]bool, len(current))
	at := func(revision int64) (int, bool) {
		return slices.BinarySearchFunc(current, revision, func(r Rights, id int64) int { return cmp.Compare(r.Revision, id) })
	}
	for _, s := range segments {
		revisions := s.segment.Revisions()
		if slices.ContainsFunc(revisions, func(r int64) bool { i, ok := at(r); return ok && covered[i] }) {
			a.redundant = append(a.redundant, s.id)
			continue
		}
		a.parts = append(a.parts, newPart(s.id, s.segment, func(revision int64) rightsID {
			i, ok := at(revision)
			if !ok {
				return nobody
			}
			covered[i] = true
			return a.rights.add(current[i].Category, current[i].Access)
		}))
	}
	for i, c := range covered {
		if !c {
			a.missing = append(a.missing, current[i].Revision)
		}
	}
	return a
}
