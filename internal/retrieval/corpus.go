package retrieval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Corpus searches and changes the documents of a store. It is safe for concurrent use; searches
// never wait for changes.
type Corpus struct {
	store  Store
	log    *slog.Logger
	mu     sync.Mutex // guards spaces
	spaces map[string]*space
	write  sync.Mutex // one change at a time in this process
}

// space is one namespace's index in memory.
type space struct {
	state atomic.Pointer[state] // nil until first used
	load  sync.Mutex            // held while a new state is made
}

// Open returns a Corpus over the store and makes sure that every namespace's index is complete,
// building from the stored chunks what is missing, damaged or of another generation.
func Open(ctx context.Context, store Store, log *slog.Logger) (*Corpus, error) {
	c := &Corpus{store: store, log: log, spaces: make(map[string]*space)}
	names, err := store.Namespaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	for _, ns := range names {
		if _, err := c.current(ctx, ns); err != nil {
			return nil, fmt.Errorf("load the index of namespace %q: %w", ns, err)
		}
	}
	return c, nil
}

// Store returns the store below, for reading documents and pages.
func (c *Corpus) Store() Store { return c.store }

// Apply commits a batch. The caller leaves Revision of documents, Key of chunks and the segments
// unset: Apply fills them in. Either everything is visible to searches afterwards or nothing is.
func (c *Corpus) Apply(ctx context.Context, b Batch) error {
	c.write.Lock()
	defer c.write.Unlock()
	if len(b.Put) > 0 {
		first, err := c.store.NextRevisions(ctx, len(b.Put))
		if err != nil {
			return fmt.Errorf("reserve %d revisions: %w", len(b.Put), err)
		}
		for i := range b.Put {
			number(&b.Put[i], first+int64(i))
		}
		b.AddSegments = []Segment{buildSegment(b.Put)}
	}
	if err := c.store.Apply(ctx, b); err != nil {
		return err
	}
	if err := c.compact(ctx, b.Namespace); err != nil && !errors.Is(err, ErrConflict) {
		// The batch is committed; a compaction that did not happen is made up for by a later one.
		c.log.Warn("compact the index", "namespace", b.Namespace, "error", err)
	}
	return nil
}

func number(p *Put, revision int64) {
	p.Document.Revision = revision
	p.Document.Chunks = len(p.Chunks)
	p.Document.IndexedAt = p.Document.IndexedAt.UTC().Truncate(time.Microsecond)
	for i := range p.Chunks {
		p.Chunks[i].Key = ChunkKey{Revision: revision, Ordinal: i}
	}
}

// space returns the in-memory index of a namespace, which may be empty.
func (c *Corpus) space(namespace string) *space {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spaces[namespace]
	if s == nil {
		s = &space{}
		c.spaces[namespace] = s
	}
	return s
}

// current returns the state of a namespace's index at the store's version. While changes come
// fast it may return one that is a little behind (see state.fresh): hydration drops what is gone.
func (c *Corpus) current(ctx context.Context, namespace string) (*state, error) {
	version, err := c.store.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the corpus version: %w", err)
	}
	s := c.space(namespace)
	if st := s.state.Load(); st != nil && st.fresh(version) {
		return st, nil
	}
	s.load.Lock()
	defer s.load.Unlock()
	old := s.state.Load()
	if old != nil && old.fresh(version) {
		return old, nil
	}
	st, err := c.loadState(ctx, namespace, old)
	if err != nil {
		return nil, err
	}
	s.state.Store(st)
	return st, nil
}
