package retrieval

import (
	"context"
	"fmt"
	"time"
)

// WithMemory limits the memory for indexes, in bytes; 0 means no limit. Beyond it, the least recently used indexes are
// dropped, and loaded again when they are searched. The limit also decides which namespaces a VectorIndex searches.
func WithMemory(bytes int64) Option {
	return func(c *Corpus) { c.memory = bytes }
}

// Memory says how much memory the indexes take.
type Memory struct {
	Bound      int64 // of WithMemory; 0 for none
	Bytes      int64 // about
	Namespaces int   // whose index is in memory
	Loaded     int64 // indexes that were read since the start because they were not in memory
	Dropped    int64 // indexes that were dropped since the start to make room
}

// Memory returns how much memory the indexes take now.
func (c *Corpus) Memory() Memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.held
	m.Bound = c.memory
	return m
}

// use keeps the index of a namespace in memory until release is called. Code that reads or changes an index must hold it
// in this way.
func (c *Corpus) use(namespace string) (release func()) {
	s := c.hold(namespace)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.uses++
		s.used = c.uses
		c.release(s)
	}
}

// keep is like use, but does not count as a recent use: background work must not decide which indexes stay.
func (c *Corpus) keep(namespace string) (release func()) {
	s := c.hold(namespace)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.release(s)
	}
}

func (c *Corpus) hold(namespace string) *space {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spaces[namespace]
	if s == nil {
		s = &space{namespace: namespace, examining: make(chan struct{}, 1)}
		c.spaces[namespace] = s
	}
	s.users++
	return s
}

// release ends one use. The caller holds mu.
func (c *Corpus) release(s *space) {
	if s.users--; s.users == 0 && s.state.Load() == nil {
		c.drop(s) // it could not be loaded
		return
	}
	c.makeRoom(s)
}

// space returns the index of a namespace, which the caller uses.
func (c *Corpus) space(namespace string) *space {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spaces[namespace]
}

// set makes searches of a namespace use another state. The caller holds load.
func (c *Corpus) set(s *space, st *state) {
	size := st.size()
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := s.state.Swap(st); c.spaces[s.namespace] != s {
		return // it was dropped in the meantime
	} else if old == nil {
		c.held.Namespaces++
		c.held.Loaded++
	}
	if c.memory > 0 && size > c.memory && s.size <= c.memory {
		c.log.Warn("the index of a namespace takes more than index.memory", "namespace", s.namespace, "mebibytes", size>>20, "limit", c.memory>>20)
	}
	c.held.Bytes += size - s.size
	s.size = size
	c.makeRoom(s)
}

// makeRoom drops the least recently used indexes until the others fit. It never drops an index in use, nor last, however large
// these are. The caller holds mu.
func (c *Corpus) makeRoom(last *space) {
	for c.memory > 0 && c.held.Bytes > c.memory {
		var oldest *space
		for _, s := range c.spaces {
			if s.users == 0 && s != last && (oldest == nil || s.used < oldest.used) {
				oldest = s
			}
		}
		if oldest == nil {
			return
		}
		c.log.Debug("an index leaves the memory", "namespace", oldest.namespace, "mebibytes", oldest.size>>20)
		c.drop(oldest)
		c.held.Dropped++
	}
}

// drop forgets the index of a namespace. The caller holds mu.
func (c *Corpus) drop(s *space) {
	if s == nil || c.spaces[s.namespace] != s {
		return
	}
	if s.state.Load() != nil {
		c.held.Namespaces--
		c.held.Bytes -= s.size
	}
	delete(c.spaces, s.namespace)
}

// ready loads the index of a namespace that the caller uses, if it is not in memory. Loading continues when the caller gives up,
// so that an index that takes longer than callers wait is there for the next one.
func (c *Corpus) ready(ctx context.Context, namespace string) error {
	s := c.space(namespace)
	if s.state.Load() != nil {
		return nil
	}
	loaded := make(chan error, 1)
	go func() { loaded <- c.load(context.WithoutCancel(ctx), namespace) }()
	select {
	case err := <-loaded:
		if s.state.Load() != nil {
			return nil // if vectors are missing, the search says so
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loadReport is the time between two progress reports of a slow start.
const loadReport = 5 * time.Second

// loadAll loads the indexes of all namespaces, as far as there is memory for them.
func (c *Corpus) loadAll(ctx context.Context, names []string) error {
	began, reported := time.Now(), time.Now()
	for i, ns := range names {
		if held := c.Memory(); held.Bound > 0 && held.Bytes >= held.Bound {
			c.log.Info("not all indexes fit into memory; the others are loaded when they are searched", "loaded", i, "namespaces", len(names), "mebibytes", held.Bytes>>20)
			return nil
		}
		if err := c.load(ctx, ns); err != nil {
			return err
		}
		if time.Since(reported) >= loadReport {
			reported = time.Now()
			c.log.Info("indexes are being loaded", "loaded", i+1, "namespaces", len(names), "mebibytes", c.Memory().Bytes>>20)
		}
	}
	c.log.Debug("indexes are loaded", "namespaces", len(names), "mebibytes", c.Memory().Bytes>>20, "took", time.Since(began))
	return nil
}

// load loads the index of a namespace, with its vectors.
func (c *Corpus) load(ctx context.Context, namespace string) error {
	defer c.use(namespace)()
	if _, err := c.current(ctx, namespace); err != nil {
		return fmt.Errorf("load the index of namespace %q: %w", namespace, err)
	}
	if c.embedding == nil {
		return nil
	}
	if err := c.refreshVectors(ctx, namespace, true); err != nil {
		return fmt.Errorf("load the vectors of namespace %q: %w", namespace, err)
	}
	return nil
}

// The approximate memory that an index takes beside its segments and vectors, and that each document in it takes.
const (
	stateOverhead    = 4 << 10
	documentOverhead = 64
)

// size returns about how much memory the state takes.
func (st *state) size() int64 {
	size := int64(stateOverhead)
	for _, p := range st.parts {
		size += p.segment.Bytes() + int64(len(p.rights))*documentOverhead
	}
	for _, p := range st.vectors.parts {
		size += p.block.Bytes() + int64(len(p.rights))*documentOverhead
	}
	return size
}
