package retrieval

import (
	"cmp"
	"slices"

	"parley/internal/vector"
)

// vectorSet is the vectors of a namespace in the generation that serves. It is immutable.
type vectorSet struct {
	generation Generation // without an ID when none serves
	parts      []vectorPart
	sampled    *sampled // nil if all are in memory
}

// vectorPart is one block of a vectorSet.
type vectorPart struct {
	block  *vector.Block
	rights []rightsID // per run
	gone   int        // vectors of revisions that are no longer stored
}

// empty reports whether there is nothing to compare a query with.
func (s vectorSet) empty() bool { return len(s.parts) == 0 && s.sampled == nil }

// shown returns the vectors that the rights admit, of a set of revisions.
func (s vectorSet) shown(maySee []bool, within *Revisions) []vector.Shown {
	var shown []vector.Shown
	for _, p := range s.parts {
		revisions := p.block.Revisions()
		spans := p.block.Spans(func(run int) bool { return maySee[p.rights[run]] && within.Has(revisions[run]) })
		if len(spans) > 0 {
			shown = append(shown, vector.Shown{Block: p.block, Spans: spans})
		}
	}
	return shown
}

// follow returns the set after a batch that put some revisions and deleted others. Another goroutine may have added the vectors
// of a revision before the batch that put it.
func (s vectorSet) follow(put map[int64]rightsID, gone []int64) vectorSet {
	next := vectorSet{generation: s.generation, sampled: s.sampled}
	for _, p := range s.parts {
		copied := false
		set := func(revision int64, id rightsID) (vectors int) {
			for _, run := range p.block.Runs(revision) {
				if p.rights[run] == id {
					continue
				}
				if !copied {
					p.rights, copied = slices.Clone(p.rights), true
				}
				p.rights[run] = id
				vectors += p.block.Size(run)
			}
			return vectors
		}
		for revision, id := range put {
			set(revision, id)
		}
		for _, revision := range gone {
			p.gone += set(revision, nobody)
		}
		next.keep(p)
	}
	return next
}

// renew returns the set with the rights of a snapshot that was taken after the set was read: revisions that are not in the
// snapshot are gone.
func (s vectorSet) renew(current []Rights, table *rightsTable) vectorSet {
	next := vectorSet{generation: s.generation, sampled: s.sampled}
	for _, p := range s.parts {
		p.rights, p.gone = make([]rightsID, len(p.rights)), 0
		for run, revision := range p.block.Revisions() {
			i, ok := slices.BinarySearchFunc(current, revision, func(r Rights, id int64) int { return cmp.Compare(r.Revision, id) })
			if !ok {
				p.gone += p.block.Size(run)
				continue
			}
			p.rights[run] = table.add(current[i].Category, current[i].Access)
		}
		next.keep(p)
	}
	return next
}

// keep adds a part to the set. It rewrites a part if more than half of it is gone.
func (s *vectorSet) keep(p vectorPart) {
	if p.gone*2 > p.block.Len() {
		p = p.rewritten()
	}
	if p.block != nil {
		s.parts = append(s.parts, p)
	}
}

// rewritten returns the part without the vectors that are gone; it has no block if all are.
func (p vectorPart) rewritten() vectorPart {
	rights := make(map[int64]rightsID)
	for run, revision := range p.block.Revisions() {
		rights[revision] = p.rights[run]
	}
	block := p.block.Keep(func(run int) bool { return p.rights[run] != nobody })
	if block == nil {
		return vectorPart{}
	}
	q := vectorPart{block: block}
	for _, revision := range block.Revisions() {
		q.rights = append(q.rights, rights[revision])
	}
	return q
}
