package retrieval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/lru"
)

// Corpus searches and changes the documents of a store. It is safe for concurrent use; searches
// never wait for changes.
type Corpus struct {
	store     Store
	log       *slog.Logger
	embedding *Embedding                         // nil when there are no vectors
	index     VectorIndex                        // nil when all vectors are searched in memory
	memory    int64                              // see WithMemory
	questions *lru.Cache[questionKey, []float32] // their vectors
	mu        sync.Mutex                         // guards the three below, and users, used and size of each space
	spaces    map[string]*space                  // those that are used, and those with an index in memory
	uses      int64                              // that have ended
	held      Memory
	write     sync.Mutex  // one change at a time in this process
	late      atomic.Bool // an incomplete index serves as it is until Repair has completed it
}

// Open returns a Corpus over the store. It makes sure that every namespace's index is complete: it builds what
// is missing, damaged or of another generation from the stored chunks, unless WithLateRepair leaves that to
// Repair. A nil log discards.
func Open(ctx context.Context, store Store, log *slog.Logger, options ...Option) (*Corpus, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Corpus{
		store: store, log: log, spaces: make(map[string]*space),
		questions: lru.New[questionKey, []float32](maxQuestions, nil),
	}
	for _, set := range options {
		set(c)
	}
	names, err := store.Namespaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	if err := c.loadAll(ctx, names); err != nil {
		return nil, err
	}
	return c, nil
}

// Apply commits a batch with its others. The caller leaves Revision of documents, Key of chunks and the segments unset; Apply
// sets them. On success all searches that begin afterwards see everything; on an error nothing is changed.
func (c *Corpus) Apply(ctx context.Context, b Batch) error {
	c.write.Lock()
	defer c.write.Unlock()
	b.Others = slices.Clone(b.Others)
	for _, part := range b.parts() {
		defer c.use(part.Namespace)()
		if err := c.number(ctx, part); err != nil {
			return err
		}
	}
	if err := c.commit(ctx, b); err != nil {
		return err
	}
	for _, part := range b.parts() {
		if err := c.compact(ctx, part.Namespace); err != nil && !errors.Is(err, ErrConflict) {
			// The batch is committed; a later compaction makes up for the failed one.
			c.log.Warn("compact the index", "namespace", part.Namespace, "error", err)
		}
	}
	return nil
}

// parts returns the batch and its others: one for each namespace.
func (b *Batch) parts() []*Batch {
	all := []*Batch{b}
	for i := range b.Others {
		all = append(all, &b.Others[i])
	}
	return all
}

// number numbers the new revisions of a namespace, and indexes them.
func (c *Corpus) number(ctx context.Context, b *Batch) error {
	if len(b.Put) == 0 {
		return nil
	}
	first, err := c.store.NextRevisions(ctx, len(b.Put))
	if err != nil {
		return fmt.Errorf("reserve %d revisions: %w", len(b.Put), err)
	}
	for i := range b.Put {
		number(&b.Put[i], first+int64(i))
	}
	b.AddSegments = []Segment{buildSegment(b.Put)}
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

// commit applies a batch to the store and brings the indexes in memory up to date with it. The
// caller holds write.
func (c *Corpus) commit(ctx context.Context, b Batch) error {
	done, err := c.store.Apply(ctx, b)
	if err != nil {
		return err
	}
	parts, changes := b.parts(), append([]Applied{done}, done.Others...)
	changed := map[*space]bool{}
	for _, part := range parts {
		changed[c.space(part.Namespace)] = true
	}
	c.skip(changed, done)
	for i, part := range parts {
		c.follow(ctx, *part, changes[i])
	}
	return nil
}

// follow updates the index of a namespace in memory with its part of a committed batch.
func (c *Corpus) follow(ctx context.Context, b Batch, done Applied) {
	s := c.space(b.Namespace)
	s.load.Lock()
	defer s.load.Unlock()
	old := s.state.Load()
	if old != nil && old.version.Load() >= done.Version {
		return // a search has loaded it already
	}
	if old != nil && old.version.Load() == done.Before && len(b.PutAccess) == 0 {
		if next, err := old.follow(b, done); err == nil {
			c.set(s, next)
			return
		}
	}
	// Another process changed the corpus in between, this is the first use of the namespace, or rights have changed.
	if _, err := c.reload(ctx, b.Namespace, s); err != nil {
		// The batch is committed. The next search loads the index, or says why it cannot.
		c.log.Warn("load the index after a change", "namespace", b.Namespace, "error", err)
		if old != nil {
			old.expired.Store(true)
		}
	}
}

// skip tells the indexes of other namespaces that a change did not concern them.
func (c *Corpus) skip(changed map[*space]bool, done Applied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spaces {
		if st := s.state.Load(); !changed[s] && st != nil {
			st.version.CompareAndSwap(done.Before, done.Version)
		}
	}
}
