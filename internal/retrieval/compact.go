package retrieval

import (
	"context"
	"fmt"

	"parley/internal/lexical"
)

// tierFactor is the number of segments of similar size that are kept before they become one: each
// chunk is written again once per factor by which the index grows.
const tierFactor = 8

// fullSegment is the number of chunks from which a segment is no longer merged: a search divides segments among the processors,
// and a merge holds its output in memory.
const fullSegment = 1 << 16

// compact merges segments of about the same size, and rewrites segments that are more than half deleted, until there are none of
// either. The caller holds write. Every merge leaves fewer segments, or as many with nothing deleted, so it terminates.
func (c *Corpus) compact(ctx context.Context, namespace string) error {
	for {
		st := c.space(namespace).state.Load()
		if st == nil || st.expired.Load() {
			return nil
		}
		group := mergeGroup(st.parts)
		if len(group) == 0 {
			return nil
		}
		b := Batch{Namespace: namespace}
		segments := make([]*lexical.Segment, len(group))
		for i, p := range group {
			segments[i] = p.segment
			b.DropSegments = append(b.DropSegments, p.id)
		}
		stored := func(segment, revision int) bool { return group[segment].rights[revision] != nobody }
		if data, ok := lexical.Merge(segments, stored); ok {
			merged, err := lexical.Open(data)
			if err != nil {
				return fmt.Errorf("merge %d segments: %w", len(segments), err)
			}
			b.AddSegments = []Segment{{
				Generation: lexical.Generation, Revisions: merged.Revisions(), Chunks: merged.Chunks(), Data: data,
			}}
		}
		if err := c.commit(ctx, b); err != nil {
			return fmt.Errorf("replace %d segments: %w", len(segments), err)
		}
	}
}

// mergeGroup returns parts to merge into one: those that are wholly deleted, one that is mostly deleted, or a full tier, which
// is the number of parts kept of one size, or fewer that make a full segment.
func mergeGroup(parts []part) []part {
	var empty []part
	for _, p := range parts {
		if p.gone == p.segment.Len() {
			empty = append(empty, p)
		}
	}
	if len(empty) > 0 {
		return empty
	}
	tiers, chunks := make(map[int][]part), make(map[int]int)
	for _, p := range parts {
		if p.gone*2 > p.segment.Len() {
			return []part{p}
		}
		if p.segment.Chunks() >= fullSegment {
			continue
		}
		tier := 0
		for n := p.segment.Chunks(); n >= 64; n /= tierFactor {
			tier++
		}
		tiers[tier], chunks[tier] = append(tiers[tier], p), chunks[tier]+p.segment.Chunks()
		if len(tiers[tier]) == tierFactor || len(tiers[tier]) > 1 && chunks[tier] >= fullSegment {
			return tiers[tier]
		}
	}
	return nil
}
