package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
	"parley/internal/store"
)

// putDocument stores a document with its original.
func putDocument(ctx context.Context, db *store.DB, i int) error {
	body := fmt.Sprintf("The keeper of station %d is Keeper%d. %s", i, i, strings.Repeat("wind ", i%300))
	sha, size, err := db.Blobs().Put(ctx, strings.NewReader(body))
	if err != nil {
		return err
	}
	revision, err := db.Corpus().NextRevisions(ctx, 1)
	if err != nil {
		return err
	}
	_, err = db.Corpus().Apply(ctx, retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{{
		Document: retrieval.Document{ID: fmt.Sprint("id", i), Name: fmt.Sprintf("name%05d", i), Revision: revision, SHA256: sha, Size: size},
		Pages:    []retrieval.Page{{Number: 1, Text: body}},
		Chunks:   []retrieval.Chunk{{Key: retrieval.ChunkKey{Revision: revision}, Text: body, Spans: []retrieval.Span{{End: 10}}}},
	}}})
	return err
}

func open(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// contents returns the names of all documents and the texts of their originals.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	db, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := db.Corpus().Documents(t.Context(), retrieval.Filter{Namespace: "ns"}, "", 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, d := range all {
		f, err := db.Blobs().Open(d.SHA256)
		if err != nil {
			t.Fatalf("the original of %s: %v", d.Name, err)
		}
		var text bytes.Buffer
		_, err = text.ReadFrom(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		texts[d.Name] = text.String()
	}
	return texts
}

// uploads are files below the folder of uploads, also where nothing is put today.
var uploads = []string{"files/ns/shared/a.md", "files/ns/shared/a.md.parley.yaml", "staged/job/b.md", "staged/job/.replaced/c.md", "kept/shared/d", "other/e", "f"}

// makeFolder makes a data folder with documents from the first number on, and uploaded files.
func makeFolder(t *testing.T, first, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	db := open(t, dir)
	for i := range n {
		if err := putDocument(t.Context(), db, first+i); err != nil {
			t.Fatal(err)
		}
	}
	err := db.Close()
	for _, name := range uploads {
		at := filepath.Join(dir, "uploads", name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, fmt.Append(nil, name, first), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func backUp(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "b.tar.zst")
	report, err := Create(t.Context(), file, dir, open(t, dir), About{Version: "test", Created: time.Now()}, nil)
	if err != nil || len(report.Lost) > 0 {
		t.Fatal(report.Lost, err)
	}
	return file
}

// files returns the contents of the files of a folder by their paths, without the files that SQLite keeps
// beside an open database.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, "-wal") {
			return err
		}
		text, err := os.ReadFile(name)
		all[strings.TrimPrefix(name, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRestore_GivesBackWhatWasBackedUp(t *testing.T) {
	dir := makeFolder(t, 0, 20)
	file := backUp(t, dir)
	to := t.TempDir()
	if _, err := Check(t.Context(), file, nil); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), file, to, nil, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(t, dir), contents(t, to)); diff != "" {
		t.Error(diff)
	}
	before, after := files(t, dir), files(t, to)
	for _, name := range uploads {
		if name = "/uploads/" + name; after[name] != before[name] {
			t.Errorf("%s is %q", name, after[name])
		}
	}
}

// Documents come and go while backups are made, and the originals of those that go are removed at once.
// Each document that was there before a backup began, and did not go meanwhile, is in it. Each document
// in it has its original.
func TestCreate_WhileDocumentsChangeItHasAllOriginals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db := open(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// The documents are numbered. Those below gone were deleted; those below mayGo may be.
	var stored, gone, mayGo atomic.Int64
	go func() {
		for ctx.Err() == nil {
			err := putDocument(t.Context(), db, int(stored.Load()))
			stored.Add(1)
			if n := gone.Load(); err == nil && n < mayGo.Load() {
				gone.Add(1)
				_, err = db.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns", Delete: []string{fmt.Sprint("id", n)}})
				if err == nil {
					_, err = db.SweepBlobs(t.Context(), 0)
				}
			}
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for range 8 {
		for before := stored.Load(); stored.Load() < before+5 && len(ended) == 0; {
			time.Sleep(time.Millisecond)
		}
		first := stored.Load() - 1
		mayGo.Store(first)
		file := backUp(t, dir)
		last := gone.Load()
		to := t.TempDir()
		if err := Restore(t.Context(), file, to, nil, nil); err != nil {
			t.Fatal(err)
		}
		have := contents(t, to)
		for i := last; i < first; i++ {
			if !strings.Contains(have[fmt.Sprintf("name%05d", i)], fmt.Sprintf("Keeper%d.", i)) {
				t.Errorf("document %d is missing; %d to %d were there", i, last, first)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if gone.Load() == 0 {
		t.Error("no document was deleted meanwhile")
	}
}

// Whatever byte of a backup changes, and wherever it ends, it is refused and nothing is touched.
func TestRestore_RefusesEveryChangedByteAndEveryCut(t *testing.T) {
	whole, err := os.ReadFile(backUp(t, makeFolder(t, 0, 2)))
	if err != nil {
		t.Fatal(err)
	}
	dir := makeFolder(t, 50, 2)
	before := files(t, dir)
	file := filepath.Join(t.TempDir(), "broken.tar.zst")
	refused := func(what string, broken []byte) {
		t.Helper()
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(t.Context(), file, nil); !isDamaged(err) {
			t.Errorf("%s: Check: %v", what, err)
		}
		if err := Restore(t.Context(), file, dir, nil, nil); !isDamaged(err) {
			t.Errorf("%s: Restore: %v", what, err)
		}
	}
	step := max(1, len(whole)/500)
	for at := 0; at < len(whole); at += step {
		broken := bytes.Clone(whole)
		broken[at] ^= 1 << (at % 8)
		refused(fmt.Sprintf("byte %d", at), broken)
		refused(fmt.Sprintf("the first %d bytes", at), whole[:at])
	}
	for i := range trailerSize {
		at := len(whole) - trailerSize + i
		broken := bytes.Clone(whole)
		broken[at] ^= 1
		refused(fmt.Sprintf("byte %d", at), broken)
	}
	refused("a byte more", append(bytes.Clone(whole), 0))
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the folder has changed: %s", diff)
	}
}

func isDamaged(err error) bool {
	_, ok := errors.AsType[*DamagedError](err)
	return ok
}

// A backup with a right checksum may still hold anything.
func TestRestore_RefusesAForgedArchive(t *testing.T) {
	dir := makeFolder(t, 50, 2)
	before := files(t, dir)
	whole := makeFolder(t, 0, 2)
	for name, change := range map[string]func(map[string]string){
		"a path outside":       func(f map[string]string) { f["../escaped"] = "x" },
		"an absolute path":     func(f map[string]string) { f["/tmp/escaped"] = "x" },
		"another file":         func(f map[string]string) { f["cache/x"] = "x" },
		"a log of a database":  func(f map[string]string) { f["corpus.db-wal"] = "x" },
		"no database":          func(f map[string]string) { delete(f, "state.db") },
		"a damaged database":   func(f map[string]string) { f["state.db"] = f["state.db"][:9000] + "x" + f["state.db"][9001:] },
		"text for a database":  func(f map[string]string) { f["state.db"] = "text" },
		"a wrong original":     func(f map[string]string) { f["blobs/00/"+strings.Repeat("0", 64)] = "x" },
		"an unnamed original":  func(f map[string]string) { f["blobs/x"] = "x" },
		"a newer format":       func(f map[string]string) { f[aboutName] = `{"format":2,"parley":"9.0"}` },
		"nothing about itself": func(f map[string]string) { delete(f, aboutName) },
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{aboutName: `{"format":1}`}
			for name, text := range files(t, whole) {
				all[strings.TrimPrefix(name, "/")] = text
			}
			change(all)
			file := forge(t, all)
			if err := Restore(t.Context(), file, dir, nil, nil); err == nil {
				t.Error("it was restored")
			}
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Errorf("the folder has changed: %s", diff)
			}
		})
	}
}

// While a restore is interrupted the folder cannot be opened. Finish completes it, wherever it was.
func TestFinish_CompletesARestoreInterruptedAtAnyRename(t *testing.T) {
	file := backUp(t, makeFolder(t, 0, 3))
	errCrash := errors.New("crash")
	for crash := 0; ; crash++ {
		dir := makeFolder(t, 50, 2)
		if err := os.WriteFile(filepath.Join(dir, "corpus.db-wal"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpackOnly(t, file, dir); err != nil {
			t.Fatal(err)
		}
		done := 0
		_, err := finish(dir, func(from, to string) error {
			if done++; done > crash {
				return errCrash
			}
			return os.Rename(from, to)
		})
		if err == nil {
			if crash < 8 {
				t.Fatalf("%d renames were all", crash)
			}
			return
		}
		if _, err := store.Open(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "run parley restore") {
			t.Fatalf("%d renames done: the folder opens: %v", crash, err)
		}
		if was, err := Finish(dir); err != nil || !was {
			t.Fatalf("%d renames done: %v, %v", crash, was, err)
		}
		if got := contents(t, dir); len(got) != 3 || got["name00000"] == "" {
			t.Errorf("%d renames done: it has %v", crash, got)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "restore-*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// unpackOnly does what Restore does before it renames.
func unpackOnly(t *testing.T, file, dir string) error {
	to := t.TempDir()
	if err := Restore(t.Context(), file, to, nil, nil); err != nil {
		return err
	}
	return os.Rename(to, filepath.Join(dir, store.RestoreReady))
}

func TestCreate_KeepsTheEarlierFileUnlessItSucceeds(t *testing.T) {
	dir := makeFolder(t, 0, 5)
	db := open(t, dir)
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	about := About{Created: time.Now()}
	if err := os.WriteFile(file, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), file, dir, db, about, nil); err == nil || !strings.Contains(err.Error(), "is not a backup") {
		t.Errorf("a letter was replaced: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), file, dir, db, about, nil); err != nil {
		t.Fatal(err)
	}
	first := files(t, filepath.Dir(file))
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		stop := rand.Int64N(300_000)
		_, err := Create(ctx, file, dir, db, about, func(done, _ int64) {
			if done > stop {
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, files(t, filepath.Dir(file))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestCreate_NamesOriginalsThatAreDamagedOrMissing(t *testing.T) {
	dir := makeFolder(t, 0, 5)
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	if err != nil || len(blobs) != 5 {
		t.Fatal(blobs, err)
	}
	if err := errors.Join(os.Remove(blobs[0]), os.WriteFile(blobs[1], []byte("changed"), 0o600)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	report, err := Create(t.Context(), file, dir, open(t, dir), About{Created: time.Now()}, nil)
	want := []string{filepath.Base(blobs[0]), filepath.Base(blobs[1])}
	slices.Sort(want)
	if err != nil || !slices.Equal(report.Lost, want) || report.Originals != 3 {
		t.Errorf("%d originals, lost %q, %v", report.Originals, report.Lost, err)
	}
	if err := Restore(t.Context(), file, t.TempDir(), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestCreate_OfADamagedDatabaseFails(t *testing.T) {
	dir := makeFolder(t, 0, 5)
	name := filepath.Join(dir, "corpus.db")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-2000] ^= 1
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	_, err = Create(t.Context(), file, dir, open(t, dir), About{Created: time.Now()}, nil)
	if _, ok := errors.AsType[*store.DamagedError](err); !ok {
		t.Errorf("%v", err)
	}
	if left := files(t, filepath.Dir(file)); len(left) > 0 {
		t.Errorf("left behind: %d files", len(left))
	}
}
