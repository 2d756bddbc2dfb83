package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/retrieval"
)

// TestStore_ReadsADamagedCorpusWithoutPanic flips bytes all over a corpus and reads everything.
// A flipped byte of text cannot be told from text, so the only claim is that whatever is read
// ends, and that what SQLite finds is reported as damage to that file.
func TestStore_ReadsADamagedCorpusWithoutPanic(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 20
	}
	whole := damagedSource(t)
	r := rand.New(rand.NewPCG(3, 1))
	found := 0
	for range rounds {
		dir := t.TempDir()
		broken := bytes.Clone(whole)
		for range 1 + r.IntN(4) {
			broken[r.IntN(len(broken))] ^= byte(1 + r.IntN(255))
		}
		if r.IntN(5) == 0 {
			broken = broken[:r.IntN(len(broken))]
		}
		path := filepath.Join(dir, "corpus.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		err := readEverything(t, dir)
		if err == nil {
			continue
		}
		found++
		if e, ok := errors.AsType[*DamagedError](err); ok && e.Path != path {
			t.Errorf("damage to %s was reported of %s", path, e.Path)
		}
	}
	if found == 0 {
		t.Error("no damage was found")
	}
	t.Logf("damage was noticed in %d of %d files", found, rounds)
}

// damagedSource returns the bytes of a corpus with documents of every kind of row.
func damagedSource(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := db.Corpus()
	rev, err := c.NextRevisions(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	b := retrieval.Batch{Namespace: "ns", AddSegments: []retrieval.Segment{
		{Generation: "g", Revisions: []int64{1, 2, 3}, Data: bytes.Repeat([]byte("segment"), 5000)}}}
	for i := range 20 {
		p := retrieval.Put{Document: retrieval.Document{ID: fmt.Sprint("id", i), Name: fmt.Sprint("name", i), Revision: rev + int64(i)},
			Pages: []retrieval.Page{{Number: 1, Text: strings.Repeat("page ", 200)}}}
		p.Document.Access.Users = []string{"u"}
		for n := range 5 {
			p.Chunks = append(p.Chunks, retrieval.Chunk{Key: retrieval.ChunkKey{Revision: rev + int64(i), Ordinal: n},
				Text: strings.Repeat("chunk ", 150), Headings: []string{"h"}, Spans: []retrieval.Span{{End: 10}}})
		}
		b.Put = append(b.Put, p)
	}
	_, err = c.Apply(t.Context(), b)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "corpus.db"))
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// readEverything opens a folder, reads all of its corpus and writes to it.
func readEverything(t *testing.T, dir string) error {
	ctx := t.Context()
	db, err := Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	c := db.Corpus()
	snap, err := c.Snapshot(ctx, "ns")
	for _, s := range snap.Segments {
		_, e := c.SegmentData(ctx, s.ID)
		err = errors.Join(err, e)
	}
	_, e := c.Namespaces(ctx)
	err = errors.Join(err, e)
	_, e = c.AllDocuments(ctx, "ns", "", 100)
	err = errors.Join(err, e)
	for _, current := range snap.Current {
		rev := current.Revision
		chunks, e := c.RevisionChunks(ctx, rev)
		_, e2 := c.Pages(ctx, rev)
		for _, chunk := range chunks {
			_, e3 := c.Chunks(ctx, "ns", []retrieval.ChunkKey{chunk.Key})
			e2 = errors.Join(e2, e3)
		}
		err = errors.Join(err, e, e2)
	}
	_, e = c.Apply(ctx, retrieval.Batch{Namespace: "ns", Delete: []string{"id3"}})
	return errors.Join(err, e)
}
