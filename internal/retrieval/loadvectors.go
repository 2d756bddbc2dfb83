package retrieval

import (
	"context"
	"fmt"
	"slices"

	"parley/internal/vector"
)

// refreshVectors brings the vectors of a namespace in memory up to date with the store. Searches meanwhile go on with the older
// ones. Unless wait is set, it returns if another goroutine is already doing this. The caller uses the namespace.
func (c *Corpus) refreshVectors(ctx context.Context, namespace string, wait bool) error {
	version, err := c.store.VectorVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the vectors: %w", err)
	}
	s := c.space(namespace)
	upToDate := func() bool {
		st := s.state.Load()
		return st == nil || st.vectorVersion.Load() >= version
	}
	if upToDate() {
		return nil
	}
	if wait || s.state.Load().vectorVersion.Load() == 0 { // no vectors are in memory: the index was just loaded
		s.vectorLoad.Lock()
	} else if !s.vectorLoad.TryLock() {
		return nil
	}
	defer s.vectorLoad.Unlock()
	if upToDate() {
		return nil
	}
	return c.readVectors(ctx, namespace, s)
}

// readVectors reads the vectors that the state lacks. The caller holds vectorLoad, which guards the generation and the version
// of vectors in memory.
func (c *Corpus) readVectors(ctx context.Context, namespace string, s *space) error {
	all, version, err := c.store.Generations(ctx)
	if err != nil {
		return fmt.Errorf("read the generations of vectors: %w", err)
	}
	var serving Generation
	if i := slices.IndexFunc(all, func(g Generation) bool { return g.State == Current }); i >= 0 {
		serving = all[i]
	}
	st := s.state.Load()
	var now, sampled *sampled
	if st.vectors.generation.ID == serving.ID {
		now = st.vectors.sampled
	}
	if serving.Length > 0 {
		if sampled, err = c.sampling(ctx, namespace, serving, st.chunks(), now); err != nil {
			return fmt.Errorf("look for an index of the vectors of generation %d: %w", serving.ID, err)
		}
	}
	after, same := int64(0), st.vectors.generation.ID == serving.ID && sampled == st.vectors.sampled
	if same {
		after = st.vectorVersion.Load()
	}
	var added []*vector.Block
	if serving.Length > 0 {
		if added, err = c.readBlocks(ctx, namespace, serving, sampled, after, version); err != nil {
			return err
		}
	}

	s.load.Lock()
	defer s.load.Unlock()
	st = s.state.Load()
	set := st.vectors
	if !same {
		set = vectorSet{generation: serving, sampled: sampled}
	} else if len(added) == 0 {
		st.vectorVersion.Store(version)
		return nil
	}
	set.generation = serving
	c.set(s, st.withVectors(set.add(added, st), version))
	return nil
}

// readBlocks reads vectors that were linked after one version and up to another one. It skips a damaged vector: its chunk is
// still found by its words.
func (c *Corpus) readBlocks(ctx context.Context, namespace string, g Generation, s *sampled, after, until int64) ([]*vector.Block, error) {
	b := vector.NewBuilder(g.Length)
	damaged := 0
	all := c.store.LinkedVectors(ctx, namespace, g.ID, after, until)
	if s != nil {
		all = s.index.SampledVectors(ctx, namespace, g.ID, after, until, s.of)
	}
	for v, err := range all {
		if err != nil {
			return nil, fmt.Errorf("read the vectors of generation %d: %w", g.ID, err)
		}
		if err := b.Add(v.Key.Revision, v.Key.Ordinal, v.Data); err != nil {
			damaged++
		}
	}
	if damaged > 0 {
		c.log.Error("vectors are damaged and left out", "namespace", namespace, "generation", g.ID, "vectors", damaged)
	}
	return b.Blocks(), nil
}

// add returns the set with further blocks, with the rights of a state. A set may be extended in this way only once.
func (s vectorSet) add(blocks []*vector.Block, st *state) vectorSet {
	rights := st.allRights()
	s.parts = slices.Clone(s.parts)
	for _, b := range blocks {
		var known []rightsID
		if n := len(s.parts); n > 0 {
			last := s.parts[n-1]
			if joined := vector.Join(last.block, b); joined != nil {
				b, known, s.parts = joined, last.rights, s.parts[:n-1]
			}
		}
		p := vectorPart{block: b, rights: slices.Clone(known)}
		for run, revision := range b.Revisions() {
			if run < len(known) {
				if known[run] == nobody {
					p.gone += b.Size(run)
				}
				continue
			}
			id, ok := rights[revision]
			if !ok {
				id = notYet
			}
			p.rights = append(p.rights, id)
		}
		s.parts = append(s.parts, p)
	}
	return s
}

// chunks returns the number of chunks in the index, including those of deleted revisions.
func (st *state) chunks() (n int) {
	for _, p := range st.parts {
		n += p.segment.Chunks()
	}
	return n
}

// allRights returns who may see which revision.
func (st *state) allRights() map[int64]rightsID {
	all := make(map[int64]rightsID)
	for _, p := range st.parts {
		for n, revision := range p.segment.Revisions() {
			if p.rights[n] != nobody {
				all[revision] = p.rights[n]
			}
		}
	}
	return all
}
