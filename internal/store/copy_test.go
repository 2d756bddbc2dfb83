package store_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/auth/apikey"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/store/storetest"
	"parley/test/needs"
)

// fillAll stores something in most tables, with texts that PostgreSQL does not take as they are.
func fillAll(t *testing.T, db *store.DB) (original string) {
	t.Helper()
	c := db.Corpus()
	sha, _, err := db.Blobs().Put(t.Context(), strings.NewReader("the original"))
	if err != nil {
		t.Fatal(err)
	}
	revision, err := c.NextRevisions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	key := retrieval.ChunkKey{Revision: revision}
	_, err = c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{{
		Document: retrieval.Document{ID: "d", Revision: revision, Namespace: "ns", Name: "a\x00.txt", SHA256: sha, Pages: 1, Chunks: 1},
		Pages:    []retrieval.Page{{Number: 1, Text: "nul \x00 and \xff"}},
		Chunks:   []retrieval.Chunk{{Key: key, Text: "nul \x00 and \xff"}},
	}}, AddSegments: []retrieval.Segment{{Generation: "g", Chunks: 1, Revisions: []int64{revision}, Data: []byte("segment\x00")}}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := c.BeginGeneration(t.Context(), retrieval.Generation{Model: "m", Recipe: "r"})
	if err != nil {
		t.Fatal(err)
	}
	batch := retrieval.VectorBatch{Generation: g.ID} // the vector of a refused text is empty
	batch.Vectors = append(batch.Vectors, retrieval.Vector{Hash: retrieval.Hash{1}})
	batch.Links = append(batch.Links, retrieval.VectorLink{Key: key, Hash: retrieval.Hash{1}})
	if _, err := c.PutVectors(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := db.State().Save(t.Context(), storetest.Record(i, "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.APIKeys().AddKey(t.Context(), apikey.Key{ID: "k"}); err != nil {
		t.Fatal(err)
	}
	return sha
}

func TestCopy_TakesEverythingToTheOtherDatabaseAndBack(t *testing.T) {
	from, server, back := open(t), openPostgres(t), open(t)
	sha := fillAll(t, from)
	upload(t, from, "kept/shared/file")
	counts := map[string]int{}
	for _, step := range []struct{ to, from *store.DB }{{server, from}, {back, server}} {
		again := map[string]int{}
		if err := store.Copy(t.Context(), step.to, step.from, func(c store.Copied) { again[c.What] = c.N }); err != nil {
			t.Fatal(err)
		}
		if len(counts) == 0 {
			counts = again
		}
		if diff := cmp.Diff(counts, again); diff != "" {
			t.Errorf("copied rows (-first +this time):\n%s", diff)
		}
	}
	for _, table := range []string{"originals", "uploaded files", "api_keys", "documents", "pages", "chunks", "segment_parts", "vectors", "chunk_vectors", "turns", "messages"} {
		if counts[table] == 0 {
			t.Errorf("nothing of %s was copied", table)
		}
	}
	want := storetest.Record(1, "")
	got, err := back.State().Turn(t.Context(), want.Scope, want.ID)
	if want.Seen = 0; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	f, err := back.Blobs().Open(sha)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "the original" {
		t.Errorf("original: %q, %v", b, err)
	}
}

func TestCopy_LeavesATargetThatHoldsSomethingElse(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, db *store.DB) error{
		"a turn":    func(t *testing.T, db *store.DB) error { return db.State().Save(t.Context(), storetest.Record(7, "")) },
		"an upload": func(t *testing.T, db *store.DB) error { upload(t, db, "files/default/shared/a.md"); return nil },
		"an original": func(t *testing.T, db *store.DB) error {
			_, _, err := db.Blobs().Put(t.Context(), strings.NewReader("something"))
			return err
		},
		"a key": func(t *testing.T, db *store.DB) error { return db.APIKeys().AddKey(t.Context(), apikey.Key{ID: "k"}) },
	} {
		for kind, to := range map[string]*store.DB{"folder": open(t), "server": openPostgres(t)} {
			t.Run(name+" in a "+kind, func(t *testing.T) {
				from := open(t)
				fillAll(t, from)
				if err := fill(t, to); err != nil {
					t.Fatal(err)
				}
				err := store.Copy(t.Context(), to, from, func(c store.Copied) { t.Errorf("%s was copied", c.What) })
				if _, ok := errors.AsType[*store.OccupiedError](err); !ok {
					t.Errorf("%v, want an OccupiedError", err)
				}
			})
		}
	}
}

// upload writes a file as package upload does.
func upload(t *testing.T, db *store.DB, name string) {
	t.Helper()
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if _, err := db.Uploads().Write(t.Context(), name, strings.NewReader(name), then); err != nil {
		t.Fatal(err)
	}
}

// place is where a database is.
type place struct{ at, dir string }

func (p place) open(t *testing.T, how func(place) (*store.DB, error)) *store.DB {
	t.Helper()
	db, err := how(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func target(t *testing.T) func(place) (*store.DB, error) {
	return func(p place) (*store.DB, error) { return store.OpenTarget(t.Context(), p.at, p.dir, nil) }
}

func openPlace(t *testing.T) func(place) (*store.DB, error) {
	return func(p place) (*store.DB, error) {
		if store.IsURL(p.at) {
			return store.OpenPostgres(t.Context(), p.at, p.dir, nil)
		}
		return store.Open(t.Context(), p.at, nil)
	}
}

// A copy is interrupted after each of its steps, and must go on there.
func TestCopy_GoesOnAfterAnInterruption(t *testing.T) {
	needs.Long(t)
	from := open(t)
	fillAll(t, from)
	upload(t, from, "files/default/shared/a.md")
	upload(t, from, "staged/j1/tmp-b.md")
	other := open(t)
	for kind, to := range map[string]place{"folder": {at: t.TempDir()}, "server": {at: pgtest.New(t), dir: t.TempDir()}} {
		t.Run(kind, func(t *testing.T) {
			for steps := 1; ; steps++ {
				ctx, cancel := context.WithCancel(t.Context())
				done := 0
				db := to.open(t, target(t))
				err := store.Copy(ctx, db, from, func(store.Copied) {
					if done++; done == steps {
						cancel()
					}
				})
				cancel()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if err := store.Copy(t.Context(), db, other, func(store.Copied) {}); !isCopying(err) {
					t.Errorf("a copy of another source goes on: %v", err)
				}
				if db, err := openPlace(t)(to); !isCopying(err) {
					t.Errorf("an incomplete copy was opened: %v %v", db, err)
				}
			}
			db := to.open(t, openPlace(t))
			if got, err := db.State().Turn(t.Context(), storetest.Record(1, "").Scope, storetest.Record(1, "").ID); err != nil {
				t.Errorf("%v %v", got, err)
			}
			for _, name := range []string{"files/default/shared/a.md", "staged/j1/tmp-b.md"} {
				f, err := db.Uploads().Open(name)
				if err != nil {
					t.Fatal(err)
				}
				raw, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil || string(raw) != name {
					t.Errorf("%q %v", raw, err)
				}
				if st, err := db.Uploads().Stat(name); err != nil || st.Modified.Year() != 2026 {
					t.Errorf("the file has lost its time: %v %v", st, err)
				}
			}
		})
	}
}

func isCopying(err error) bool {
	_, ok := errors.AsType[*store.CopyingError](err)
	return ok
}

func TestCopy_NoticesThatTheSourceHasChanged(t *testing.T) {
	from, to := open(t), openPostgres(t)
	fillAll(t, from)
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Copy(ctx, to, from, func(c store.Copied) {
		if c.What == "api_keys" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := from.APIKeys().RevokeKey(t.Context(), "k", time.Now()); err != nil {
		t.Fatal(err)
	}
	err = store.Copy(t.Context(), to, from, func(store.Copied) {})
	if err == nil || !strings.Contains(err.Error(), "empty the target") {
		t.Errorf("%v, want an error that says what to do", err)
	}
}

func TestCopy_LeavesNoDamagedOriginalUnnoticed(t *testing.T) {
	from, to := open(t), openPostgres(t)
	sha := fillAll(t, from)
	path := filepath.Join(from.Folder(), "blobs", sha[:2], sha)
	if err := os.WriteFile(path, []byte("the 0riginal"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := store.Copy(t.Context(), to, from, func(store.Copied) {})
	if err == nil || !strings.Contains(err.Error(), sha) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v, want an error that names the original", err)
	}
}

func TestOpenPostgres_KeepsFilesOfDatabasesApart(t *testing.T) {
	dir := t.TempDir()
	folders := map[string]bool{}
	for range 2 {
		url := pgtest.New(t)
		for range 2 {
			db := place{at: url, dir: dir}.open(t, openPlace(t))
			folders[db.Folder()] = true
		}
	}
	if len(folders) != 2 {
		t.Errorf("two databases have %d folders", len(folders))
	}
}
