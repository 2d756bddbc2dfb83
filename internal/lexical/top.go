package lexical

import (
	"cmp"
	"slices"
)

// top keeps the k best hits in a heap with the worst at the front.
type top struct {
	k     int
	floor float32 // hits below this score cannot enter
	heap  []Hit
}

func newTop(k int) *top { return &top{k: max(k, 1), heap: make([]Hit, 0, min(max(k, 1), 1024))} }

// compareHits orders hits best first; equal scores are in the order of ingestion.
func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Ordinal, b.Ordinal))
}

func (t *top) add(h Hit) {
	switch {
	case len(t.heap) < t.k:
		t.heap = append(t.heap, h)
		t.up(len(t.heap) - 1)
	case compareHits(h, t.heap[0]) < 0:
		t.heap[0] = h
		t.down(0)
	}
	if len(t.heap) == t.k {
		t.floor = float32(t.heap[0].Score)
	}
}

func (t *top) worse(i, j int) bool { return compareHits(t.heap[i], t.heap[j]) > 0 }

func (t *top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.worse(i, parent) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *top) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.worse(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.heap[i], t.heap[least] = t.heap[least], t.heap[i]
		i = least
	}
}

func (t *top) hits() []Hit {
	slices.SortFunc(t.heap, compareHits)
	return t.heap
}
