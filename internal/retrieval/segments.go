package retrieval

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"parley/internal/lexical"
)

// buildSegment returns a segment that covers the documents, which have their revisions.
func buildSegment(puts []Put) Segment {
	revisions := make([]lexical.Revision, len(puts))
	for i, p := range puts {
		revisions[i] = indexed(p.Document, p.Chunks)
	}
	return newSegment(revisions)
}

func newSegment(revisions []lexical.Revision) Segment {
	s := Segment{Generation: lexical.Generation, Data: lexical.Build(revisions)}
	for _, r := range revisions {
		s.Revisions = append(s.Revisions, r.ID)
		s.Chunks += len(r.Chunks)
	}
	return s
}

// indexed says under what words the chunks of a document are found: their text, and the title and
// the file name of the document. Headings stand in the text already, of the chunk that they open
// and so in the windows around it; counting them again for every chunk below was measured to be
// worse.
func indexed(d Document, chunks []Chunk) lexical.Revision {
	base := path.Base(d.Name)
	name := strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(base)
	stem := strings.TrimSuffix(base, path.Ext(base))
	rev := lexical.Revision{ID: d.Revision, Chunks: make([]lexical.Chunk, len(chunks))}
	titles := []string{name}
	if !strings.EqualFold(d.Title, base) && !strings.EqualFold(d.Title, stem) {
		titles = append(titles, d.Title)
	}
	for i, c := range chunks {
		rev.Chunks[i] = lexical.Chunk{Body: c.Text, Titles: titles, Name: stem, Page: c.PageAt(0)}
	}
	return rev
}

// repairBatch bounds how many documents one repairing transaction covers.
const repairBatch = 500

// repair indexes the missing revisions anew from their stored chunks and drops broken segments.
func (c *Corpus) repair(ctx context.Context, namespace string, missing, broken []int64) error {
	docs, err := c.documentsByRevision(ctx, namespace, missing)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		return c.store.Apply(ctx, Batch{Namespace: namespace, DropSegments: broken})
	}
	for part := range slices.Chunk(missing, repairBatch) {
		var revisions []lexical.Revision
		for _, r := range part {
			d, ok := docs[r]
			if !ok {
				continue // replaced in the meantime
			}
			chunks, err := c.store.RevisionChunks(ctx, r)
			if err != nil {
				return fmt.Errorf("read the chunks of %q: %w", d.Name, err)
			}
			revisions = append(revisions, indexed(d, chunks))
		}
		b := Batch{Namespace: namespace, DropSegments: broken}
		if len(revisions) > 0 {
			b.AddSegments = []Segment{newSegment(revisions)}
		}
		if err := c.store.Apply(ctx, b); err != nil {
			return err
		}
		broken = nil
	}
	return nil
}

// documentsByRevision returns those documents of a namespace whose revision is wanted.
func (c *Corpus) documentsByRevision(ctx context.Context, namespace string, wanted []int64) (map[int64]Document, error) {
	docs := make(map[int64]Document, len(wanted))
	after := ""
	for len(wanted) > 0 {
		page, err := c.store.AllDocuments(ctx, namespace, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		for _, d := range page {
			if _, ok := slices.BinarySearch(wanted, d.Revision); ok {
				docs[d.Revision] = d
			}
			after = d.Name
		}
		if len(page) < 1000 {
			break
		}
	}
	return docs, nil
}

// tierFactor is how many segments of about the same size are kept before they become one: each
// chunk is written again once per factor by which the index grows.
const tierFactor = 8

// compact merges segments of about the same size, and rewrites those of which more than half is
// gone.
func (c *Corpus) compact(ctx context.Context, namespace string) error {
	st, err := c.latest(ctx, namespace)
	if err != nil {
		return err
	}
	snap, err := c.store.Snapshot(ctx, namespace)
	if err != nil {
		return err
	}
	live := func(r int64) bool { _, ok := slices.BinarySearch(snap.Revisions, r); return ok }
	group := mergeGroup(snap.Segments, live)
	if len(group) == 0 {
		return nil
	}
	var parts []*lexical.Segment
	b := Batch{Namespace: namespace}
	for _, s := range group {
		if st.segments[s.ID] == nil {
			return ErrConflict
		}
		parts = append(parts, st.segments[s.ID])
		b.DropSegments = append(b.DropSegments, s.ID)
	}
	if data, ok := lexical.Merge(parts, live); ok {
		merged, err := lexical.Open(data)
		if err != nil {
			return fmt.Errorf("merge %d segments: %w", len(parts), err)
		}
		b.AddSegments = []Segment{{Generation: lexical.Generation, Revisions: merged.Revisions(), Chunks: merged.Chunks(), Data: data}}
	}
	return c.store.Apply(ctx, b)
}

// mergeGroup returns segments to merge into one: a full tier, or one that is mostly gone.
func mergeGroup(segments []Segment, live func(int64) bool) []Segment {
	tiers := make(map[int][]Segment)
	for _, s := range segments {
		gone := 0
		for _, r := range s.Revisions {
			if !live(r) {
				gone++
			}
		}
		if gone*2 > len(s.Revisions) {
			return []Segment{s}
		}
		tier := 0
		for n := s.Chunks; n >= 64; n /= tierFactor {
			tier++
		}
		tiers[tier] = append(tiers[tier], s)
		if len(tiers[tier]) == tierFactor {
			return tiers[tier]
		}
	}
	return nil
}
