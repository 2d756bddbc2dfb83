package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"parley/internal/retrieval"
)

func testUnreserved(t *testing.T, c corpus) {
	p := c.put(id(1), "a.pdf")
	p.Document.Revision += 10
	for i := range p.Chunks {
		p.Chunks[i].Key.Revision += 10
	}
	if _, err := c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}}); err == nil {
		t.Error("Apply took a revision that nobody had reserved")
	}
}

func testRevisions(t *testing.T, c corpus) {
	const goroutines, each, n = 8, 5, 7
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				first, err := c.NextRevisions(t.Context(), n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for r := first; r < first+n; r++ {
					if r < 1 || seen[r] {
						t.Errorf("revision %d was given twice or is not positive", r)
					}
					seen[r] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func testConflict(t *testing.T, c corpus) {
	ctx := t.Context()
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{c.put(id(1), "a.pdf")},
		AddSegments: []retrieval.Segment{{Generation: "g", Revisions: []int64{1}, Chunks: 3, Data: []byte("one")}}})
	before, err := c.Snapshot(ctx, "ns")
	c.must(err)
	segment := before.Segments[0].ID
	for name, drop := range map[string][]int64{
		"missing": {segment, segment + 1000},
		"twice":   {segment, segment},
	} {
		_, err := c.Apply(ctx, retrieval.Batch{Namespace: "ns", Delete: []string{id(1)}, DropSegments: drop,
			Put:         []retrieval.Put{c.put(id(2), "b.pdf")},
			AddSegments: []retrieval.Segment{{Generation: "g", Data: []byte("two")}}})
		if !errors.Is(err, retrieval.ErrConflict) {
			t.Errorf("%s: Apply: %v, want ErrConflict", name, err)
		}
	}
	_, err = c.Apply(ctx, retrieval.Batch{Namespace: "other", DropSegments: []int64{segment}})
	if !errors.Is(err, retrieval.ErrConflict) {
		t.Errorf("drop of another namespace's segment: %v, want ErrConflict", err)
	}
	after, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.equal("snapshot", before, after)
}

func testSegments(t *testing.T, c corpus) {
	ctx := t.Context()
	large := bytes.Repeat([]byte{0, 1, 2, 3, 255, 254, 7}, 300_000) // more than one part
	many := make([]int64, 5000)
	for i := range many {
		many[i] = int64(i*i) + 1
	}
	c.apply(retrieval.Batch{Namespace: "ns", AddSegments: []retrieval.Segment{
		{Generation: "g1", Revisions: many, Chunks: 20_000, Data: large},
		{Generation: "g2", Revisions: []int64{3}, Chunks: 1, Data: []byte{}},
	}})
	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	if len(snap.Segments) != 2 {
		t.Fatalf("%d segments, want 2", len(snap.Segments))
	}
	first, second := snap.Segments[0], snap.Segments[1]
	c.equal("first segment", retrieval.Segment{ID: first.ID, Generation: "g1", Revisions: many, Chunks: 20_000}, first)
	c.equal("second segment", retrieval.Segment{ID: second.ID, Generation: "g2", Revisions: []int64{3}, Chunks: 1}, second)
	data, err := c.SegmentData(ctx, first.ID)
	c.must(err)
	if !bytes.Equal(data, large) {
		t.Errorf("data of %d bytes came back as %d others", len(large), len(data))
	}
	c.apply(retrieval.Batch{Namespace: "ns", DropSegments: []int64{first.ID, second.ID},
		AddSegments: []retrieval.Segment{{Generation: "g3", Data: []byte("x")}}})
	if _, err := c.SegmentData(ctx, first.ID); !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("data of a dropped segment: %v", err)
	}
	snap, err = c.Snapshot(ctx, "ns")
	c.must(err)
	if len(snap.Segments) != 1 || snap.Segments[0].ID <= second.ID {
		t.Errorf("segments %+v: want one with an id that was never used", snap.Segments)
	}
}

func testVersion(t *testing.T, c corpus) {
	ctx := t.Context()
	last, err := c.Version(ctx)
	c.must(err)
	for range 3 {
		c.apply(retrieval.Batch{Namespace: "ns"})
		v, err := c.Version(ctx)
		c.must(err)
		if v <= last {
			t.Fatalf("version %d after %d", v, last)
		}
		last = v
	}
	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.equal("version of the snapshot", last, snap.Version)
	_, err = c.Apply(ctx, retrieval.Batch{Namespace: "ns", DropSegments: []int64{77}})
	if v, _ := c.Version(ctx); err == nil || v != last {
		t.Errorf("version %d after a refused batch (%v), want %d", v, err, last)
	}
}

func testApplied(t *testing.T, c corpus) {
	ctx := t.Context()
	apply := func(b retrieval.Batch) retrieval.Applied {
		t.Helper()
		before, err := c.Version(ctx)
		c.must(err)
		b.Namespace = "ns"
		done, err := c.Apply(ctx, b)
		c.must(err)
		after, err := c.Version(ctx)
		c.must(err)
		c.equal("versions", []int64{before, after}, []int64{done.Before, done.Version})
		return done
	}
	one, two, three := c.put(id(1), "a"), c.put(id(2), "b"), c.put(id(3), "c")
	done := apply(retrieval.Batch{Put: []retrieval.Put{one, two, three}, AddSegments: []retrieval.Segment{{Data: []byte("x")}, {}}})
	c.equal("gone", []int64{}, done.Gone)
	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.equal("segments", []int64{snap.Segments[0].ID, snap.Segments[1].ID}, done.Segments)

	done = apply(retrieval.Batch{Delete: []string{id(1), id(99)}, Put: []retrieval.Put{c.put(id(3), "c")}})
	slices.Sort(done.Gone)
	c.equal("gone", []int64{one.Document.Revision, three.Document.Revision}, done.Gone)
	c.equal("segments", []int64{}, done.Segments)

	none, err := c.Apply(ctx, retrieval.Batch{Namespace: "ns", Delete: []string{id(2)}, DropSegments: []int64{99}})
	if err == nil {
		t.Error("a batch that drops a missing segment was applied")
	}
	c.equal("what a refused batch did", retrieval.Applied{}, none)
}

// testConsistentSnapshot applies batches that keep an invariant, each revision covered by exactly
// one segment, and takes snapshots beside them.
func testConsistentSnapshot(t *testing.T, c corpus) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		var last []int64
		for i := range 30 {
			p := c.put(id(1), fmt.Sprintf("v%d", i))
			_, err := c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}, DropSegments: last,
				AddSegments: []retrieval.Segment{{Revisions: []int64{p.Document.Revision}}}})
			if err != nil {
				t.Error(err)
				return
			}
			snap, err := c.Snapshot(t.Context(), "ns")
			if err != nil || len(snap.Segments) != 1 {
				t.Errorf("snapshot %+v: %v", snap, err)
				return
			}
			last = []int64{snap.Segments[0].ID}
		}
	})
	for ctx.Err() == nil {
		snap, err := c.Snapshot(t.Context(), "ns")
		if err != nil {
			t.Error(err)
			break
		}
		if len(snap.Current) == 0 {
			continue
		}
		if len(snap.Current) != 1 || len(snap.Segments) != 1 ||
			snap.Segments[0].Revisions[0] != snap.Current[0].Revision {
			t.Errorf("torn snapshot: %+v", snap)
			break
		}
	}
	wg.Wait()
}

func testCancelled(t *testing.T, c corpus) {
	ctx, cancel := context.WithCancel(t.Context())
	p := c.put(id(1), "a.pdf")
	cancel()
	if _, err := c.Apply(ctx, retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply: %v, want context.Canceled", err)
	}
	c.gone(p)
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
}
