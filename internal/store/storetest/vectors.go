package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"parley/internal/retrieval"
)

// small is the model of most generations in these tests.
var small = retrieval.Generation{Model: "openai:small", Recipe: "1"}

func (c corpus) begin(g retrieval.Generation) retrieval.Generation {
	c.Helper()
	g, err := c.BeginGeneration(c.Context(), g)
	c.must(err)
	return g
}

// vectorOf returns a vector of two dimensions for a text.
func vectorOf(text string) retrieval.Vector {
	return retrieval.Vector{Hash: sha256.Sum256([]byte(text)), Data: fmt.Appendf(nil, "%-8.8s", text)}
}

func link(p retrieval.Put, ordinal int, text string) retrieval.VectorLink {
	return retrieval.VectorLink{Key: p.Chunks[ordinal].Key, Hash: sha256.Sum256([]byte(text))}
}

// putVectors commits a batch of vectors of two dimensions.
func (c corpus) putVectors(g retrieval.Generation, vectors []retrieval.Vector, links ...retrieval.VectorLink) int {
	c.Helper()
	n, err := c.PutVectors(c.Context(), retrieval.VectorBatch{Generation: g.ID, Length: 2, Vectors: vectors, Links: links})
	c.must(err)
	return n
}

// embed gives every chunk of the documents its own vector.
func (c corpus) embed(g retrieval.Generation, puts ...retrieval.Put) {
	c.Helper()
	for _, p := range puts {
		for i := range p.Chunks {
			text := fmt.Sprint(p.Document.Revision, i)
			c.putVectors(g, []retrieval.Vector{vectorOf(text)}, link(p, i, text))
		}
	}
}

// linked returns the chunks that have a vector in a generation, with their vectors, by version.
func (c corpus) linked(namespace string, g retrieval.Generation, after, until int64) (all []string) {
	c.Helper()
	for v, err := range c.LinkedVectors(c.Context(), namespace, g.ID, after, until) {
		c.must(err)
		all = append(all, fmt.Sprintf("%d/%d %s", v.Key.Revision, v.Key.Ordinal, v.Data))
	}
	return all
}

func (c corpus) vectorVersion() int64 {
	c.Helper()
	v, err := c.VectorVersion(c.Context())
	c.must(err)
	return v
}

func (c corpus) generations() []retrieval.Generation {
	c.Helper()
	all, version, err := c.Generations(c.Context())
	c.must(err)
	c.equal("version of the generations", c.vectorVersion(), version)
	return all
}

// unembedded returns the chunks without a vector, page by page.
func (c corpus) unembedded(g retrieval.Generation, limit int) (all []retrieval.Unembedded) {
	c.Helper()
	var after retrieval.ChunkKey
	for {
		page, err := c.Unembedded(c.Context(), g.ID, after, limit)
		c.must(err)
		if len(page) > limit {
			c.Fatalf("%d chunks, asked for %d", len(page), limit)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
		after = page[len(page)-1].Chunk.Key
	}
}

// two returns the documents a and b, which are in the corpus.
func (c corpus) two() (a, b retrieval.Put) {
	c.Helper()
	a, b = c.put(id(1), "a.pdf"), c.put(id(2), "b.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{a, b}})
	return a, b
}

func testNoVectors(t *testing.T, c corpus) {
	ctx := t.Context()
	c.equal("generations", []retrieval.Generation{}, c.generations())
	c.equal("chunks without a vector", []retrieval.Unembedded{}, c.unembedded(small, 10))
	c.equal("vectors", []string{}, c.linked("ns", small, 0, 1<<40))
	known, err := c.KnownVectors(ctx, 1, []retrieval.Hash{{1}})
	c.must(err)
	c.equal("known vectors", map[retrieval.Hash]bool{}, known)
	if n, err := c.SweepVectors(ctx, 0, 10); n != 0 || err != nil {
		t.Errorf("SweepVectors of an empty corpus: %d, %v", n, err)
	}
	if err := c.SwitchGeneration(ctx, 1); !errors.Is(err, retrieval.ErrConflict) {
		t.Errorf("SwitchGeneration to one that does not exist: %v, want ErrConflict", err)
	}
	if _, err := c.PutVectors(ctx, retrieval.VectorBatch{Generation: 1}); !errors.Is(err, retrieval.ErrConflict) {
		t.Errorf("PutVectors into a generation that does not exist: %v, want ErrConflict", err)
	}
}

func testUnembedded(t *testing.T, c corpus) {
	a, b := c.two()
	g := c.begin(small)
	var want []retrieval.Unembedded
	for _, p := range []retrieval.Put{a, b} {
		for _, chunk := range p.Chunks {
			want = append(want, retrieval.Unembedded{Chunk: chunk, Title: p.Document.Title})
		}
	}
	c.equal("before any has a vector", want, c.unembedded(g, 2))
	c.equal("of a generation that does not exist", want, c.unembedded(retrieval.Generation{}, 100))
	c.putVectors(g, []retrieval.Vector{vectorOf("x")}, link(a, 1, "x"), link(b, 2, "x"))
	want = []retrieval.Unembedded{want[0], want[2], want[3], want[4]}
	c.equal("after two have one", want, c.unembedded(g, 3))
	c.equal("of another generation", 6, len(c.unembedded(retrieval.Generation{ID: g.ID + 1}, 4)))
	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{id(1)}})
	c.equal("after a document has gone", want[2:], c.unembedded(g, 100))
}

func testVectors(t *testing.T, c corpus) {
	ctx := t.Context()
	a, b := c.two()
	g := c.begin(small)
	before := c.vectorVersion()
	n := c.putVectors(g, []retrieval.Vector{vectorOf("x"), vectorOf("y"), {Hash: sha256.Sum256([]byte("refused"))}},
		link(a, 0, "x"), link(a, 1, "y"), link(a, 2, "refused"))
	c.equal("linked", 3, n)
	middle := c.vectorVersion()
	if middle <= before {
		t.Errorf("version %d after %d", middle, before)
	}
	key := func(p retrieval.Put, ordinal int, vector string) string {
		return fmt.Sprintf("%d/%d %-8s", p.Document.Revision, ordinal, vector)
	}
	c.equal("vectors", []string{key(a, 0, "x"), key(a, 1, "y")}, c.linked("ns", g, before, middle))
	c.equal("length", 2, c.generations()[0].Length)

	// A known text costs a link only, an existing link stays, and a missing chunk is skipped.
	other := vectorOf("x")
	other.Data = []byte("changed!")
	gone := retrieval.VectorLink{Key: retrieval.ChunkKey{Revision: 1 << 40}, Hash: other.Hash}
	n = c.putVectors(g, []retrieval.Vector{other}, link(b, 1, "x"), link(a, 0, "y"), gone, link(b, 0, "unknown"))
	c.equal("linked", 1, n)
	after := c.vectorVersion()
	c.equal("vectors since", []string{key(b, 1, "x")}, c.linked("ns", g, middle, after))
	c.equal("vectors of an earlier version", []string{key(a, 0, "x"), key(a, 1, "y")}, c.linked("ns", g, 0, middle))
	c.equal("vectors of another namespace", []string{}, c.linked("other", g, 0, after))
	c.equal("vectors of another generation", []string{}, c.linked("ns", retrieval.Generation{ID: g.ID + 1}, 0, after))

	var hashes []retrieval.Hash
	for i := range 2000 {
		hashes = append(hashes, sha256.Sum256(fmt.Append(nil, i)))
	}
	hashes = append(hashes, other.Hash, sha256.Sum256([]byte("refused")))
	known, err := c.KnownVectors(ctx, g.ID, hashes)
	c.must(err)
	c.equal("known vectors", map[retrieval.Hash]bool{hashes[2000]: true, hashes[2001]: true}, known)
}

func testVectorsRefused(t *testing.T, c corpus) {
	ctx := t.Context()
	a, _ := c.two()
	g := c.begin(small)
	c.putVectors(g, []retrieval.Vector{vectorOf("x")})
	version := c.vectorVersion()
	long := vectorOf("long")
	long.Data = append(long.Data, 1, 2, 3, 4)
	for name, b := range map[string]retrieval.VectorBatch{
		"another length":     {Generation: g.ID, Length: 3, Vectors: []retrieval.Vector{vectorOf("y"), long}, Links: []retrieval.VectorLink{link(a, 0, "x")}},
		"more than it says":  {Generation: g.ID, Length: 2, Vectors: []retrieval.Vector{vectorOf("y"), long}},
		"another generation": {Generation: g.ID + 1, Length: 2, Vectors: []retrieval.Vector{vectorOf("y")}},
	} {
		if n, err := c.PutVectors(ctx, b); err == nil || n != 0 {
			t.Errorf("%s: %d were linked, %v", name, n, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := c.PutVectors(cancelled, retrieval.VectorBatch{Generation: g.ID, Length: 2, Vectors: []retrieval.Vector{vectorOf("y")}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("PutVectors with a cancelled context: %v", err)
	}
	known, err := c.KnownVectors(ctx, g.ID, []retrieval.Hash{vectorOf("y").Hash})
	c.must(err)
	c.equal("what refused batches left", map[retrieval.Hash]bool{}, known)
	c.equal("version", version, c.vectorVersion())
	c.equal("chunks without a vector", 6, len(c.unembedded(g, 10)))
}

func testGenerations(t *testing.T, c corpus) {
	ctx := t.Context()
	a, b := c.two()
	first := c.begin(small)
	c.equal("first", retrieval.Generation{ID: first.ID, Model: "openai:small", Recipe: "1", State: retrieval.Building}, first)
	c.equal("again", first, c.begin(small))
	c.embed(first, a)
	if err := c.SwitchGeneration(ctx, first.ID); !errors.Is(err, retrieval.ErrIncomplete) {
		t.Errorf("SwitchGeneration before all have vectors: %v, want ErrIncomplete", err)
	}
	c.embed(first, b)
	before := c.vectorVersion()
	c.must(c.SwitchGeneration(ctx, first.ID))
	if v := c.vectorVersion(); v <= before {
		t.Errorf("version %d after the switch, %d before", v, before)
	}
	first.State, first.Length = retrieval.Current, 2
	c.equal("once current", []retrieval.Generation{first}, c.generations())
	c.equal("begun again", first, c.begin(small))
	c.must(c.SwitchGeneration(ctx, first.ID))

	// One generation is built and abandoned for another, which replaces the first.
	abandoned := c.begin(retrieval.Generation{Model: "openai:small", Dimensions: 256, Recipe: "1"})
	c.embed(abandoned, a)
	next := c.begin(retrieval.Generation{Model: "openai:small", Recipe: "2"})
	if next.ID <= abandoned.ID || abandoned.ID <= first.ID {
		t.Errorf("ids %d, %d, %d do not ascend", first.ID, abandoned.ID, next.ID)
	}
	if _, err := c.PutVectors(ctx, retrieval.VectorBatch{Generation: abandoned.ID}); !errors.Is(err, retrieval.ErrConflict) {
		t.Errorf("PutVectors into a retired generation: %v, want ErrConflict", err)
	}
	c.embed(next, a, b)
	c.equal("vectors of the current one", 6, len(c.linked("ns", first, 0, 1<<40)))
	c.must(c.SwitchGeneration(ctx, next.ID))
	if err := c.SwitchGeneration(ctx, first.ID); !errors.Is(err, retrieval.ErrConflict) {
		t.Errorf("SwitchGeneration back to a retired one: %v, want ErrConflict", err)
	}
	var states []retrieval.GenerationState
	for _, g := range c.generations() {
		states = append(states, g.State)
	}
	c.equal("states", []retrieval.GenerationState{retrieval.Retired, retrieval.Retired, retrieval.Current}, states)
	// A model that returns gets a new generation, because the old rows are being deleted.
	if again := c.begin(small); again.ID <= next.ID {
		t.Errorf("generation %d was revived", again.ID)
	}
}

func testLinksGo(t *testing.T, c corpus) {
	a, b := c.two()
	g := c.begin(small)
	c.embed(g, a, b)
	version, vectors := c.vectorVersion(), c.linked("ns", g, 0, 1<<40)
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{c.put(id(1), "a.pdf")}})
	c.equal("vectors after a was replaced", vectors[3:], c.linked("ns", g, 0, 1<<40))
	c.equal("chunks without one", 3, len(c.unembedded(g, 10)))
	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{id(1), id(2)}})
	c.equal("vectors after both are gone", []string{}, c.linked("ns", g, 0, 1<<40))
	c.equal("version", version, c.vectorVersion())
	known, err := c.KnownVectors(t.Context(), g.ID, []retrieval.Hash{vectorOf(fmt.Sprint(a.Document.Revision, 0)).Hash})
	c.must(err)
	c.equal("vectors that are still known", 1, len(known))
}

// sweep sweeps in small steps and returns how many rows it deleted.
func (c corpus) sweep(keep int) (total int) {
	c.Helper()
	for {
		n, err := c.SweepVectors(c.Context(), keep, 2)
		c.must(err)
		if n > 2 {
			c.Fatalf("%d rows went at once", n)
		}
		if total += n; n == 0 {
			return total
		}
	}
}

func testSweep(t *testing.T, c corpus) {
	ctx := t.Context()
	a, b := c.two()
	first := c.begin(small)
	c.embed(first, a, b)
	c.must(c.SwitchGeneration(ctx, first.ID))
	c.equal("rows that went while all were in use", 0, c.sweep(0))

	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{id(1)}})
	c.equal("rows that went beside three to keep", 0, c.sweep(3))
	c.equal("rows that went beside two to keep", 1, c.sweep(2))
	known, err := c.KnownVectors(ctx, first.ID, []retrieval.Hash{
		vectorOf(fmt.Sprint(a.Document.Revision, 0)).Hash, vectorOf(fmt.Sprint(a.Document.Revision, 2)).Hash})
	c.must(err)
	c.equal("the oldest went", map[retrieval.Hash]bool{vectorOf(fmt.Sprint(a.Document.Revision, 2)).Hash: true}, known)

	next := c.begin(retrieval.Generation{Model: "openai:large", Recipe: "1"})
	c.embed(next, b)
	c.must(c.SwitchGeneration(ctx, next.ID))
	// Three links, five vectors, and the generation.
	c.equal("rows of the retired generation", 9, c.sweep(100))
	c.equal("generations", 1, len(c.generations()))
	c.equal("vectors of the current one", 3, len(c.linked("ns", next, 0, 1<<40)))
}
