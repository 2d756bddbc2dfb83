package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"parley/internal/access/accesstest"
	"parley/internal/retrieval"
)

func mustOpen(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestOpen_SyncsEveryCommitOnEveryConnection(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	for _, d := range []*database{db.corpus.db, db.state.db} {
		for name, pool := range map[string]*sql.DB{"write": d.write, "read": d.read} {
			n := pool.Stats().MaxOpenConnections
			if want := map[string]int{"write": 1, "read": readers()}[name]; n != want {
				t.Errorf("%s pool has %d connections, want %d", name, n, want)
			}
			for range n { // concurrently, each as its own process would
				c, err := pool.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for pragma, want := range map[string]string{
					"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "30000",
					"query_only": map[string]string{"write": "0", "read": "1"}[name],
				} {
					var got string
					if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
						t.Errorf("%s: %s of a %s connection is %q (%v), want %q",
							filepath.Base(d.path), pragma, name, got, err, want)
					}
				}
			}
		}
	}
}

func TestOpen_TakesAFolderOfAnyName(t *testing.T) {
	for _, name := range []string{"plain", "with space", "100%25 #1? a&b=c", "größe 漢字", "a;b'c\"d"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, `?"`) {
			continue
		}
		dir := filepath.Join(t.TempDir(), "deeper", name)
		db, err := Open(t.Context(), dir, nil)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		for _, file := range []string{"corpus.db", "state.db", "blobs"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

func TestOpen_LetsNobodyElseReadTheFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	dir := t.TempDir() // everybody may read the folder
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	db := mustOpen(t, dir)
	if _, err := db.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"corpus.db", "corpus.db-wal", "corpus.db-shm", "state.db", "blobs"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode()&0o077 != 0 {
			t.Errorf("%s has the mode %v", name, st.Mode())
		}
	}
}

func TestOpen_ManyAtOnceOnAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := Open(t.Context(), dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := db.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns"}); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if v, err := mustOpen(t, dir).Corpus().Version(t.Context()); v != 8 || err != nil {
		t.Errorf("version %d (%v) after 8 batches", v, err)
	}
}

func TestOpen_RefusesAFolderOfANewerVersion(t *testing.T) {
	for _, name := range []string{"corpus.db", "state.db"} {
		dir := t.TempDir()
		db := mustOpen(t, dir)
		d := map[string]*database{"corpus.db": db.corpus.db, "state.db": db.state.db}[name]
		if _, err := d.write.Exec("INSERT INTO migrations (version, applied_at) VALUES (99, 0)"); err != nil {
			t.Fatal(err)
		}
		db.Close()
		_, err := Open(t.Context(), dir, nil)
		newer, ok := errors.AsType[*NewerError](err)
		latest := latestVersion(t, strings.TrimSuffix(name, ".db"))
		if !ok || newer.Have != 99 || newer.Want != latest || newer.Path != filepath.Join(dir, name) {
			t.Fatalf("Open: %v, want a NewerError", err)
		}
		want := fmt.Sprintf("%s was written by a newer version of Parley (schema 99, this program knows %d): ", newer.Path, latest) +
			"use that version, or choose another folder with --data"
		if err.Error() != want {
			t.Errorf("Open says:\n%s\nwant:\n%s", err, want)
		}
	}
}

func TestOpen_SaysThatADatabaseIsDamaged(t *testing.T) {
	long := strings.Repeat("not a database. ", 1000)
	for what, damage := range map[string]func(path string) error{
		"overwritten": func(p string) error { return os.WriteFile(p, []byte(long), 0o600) },
		"truncated":   func(p string) error { return os.Truncate(p, 5000) },
		"header":      func(p string) error { return overwrite(p, 0, "SQLite format 9") },
		"schema":      func(p string) error { return overwrite(p, 100, strings.Repeat("\xff", 200)) },
	} {
		for _, name := range []string{"corpus.db", "state.db"} {
			dir := t.TempDir()
			mustOpen(t, dir).Close()
			path := filepath.Join(dir, name)
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), dir, nil)
			if e, ok := errors.AsType[*DamagedError](err); !ok || e.Path != path {
				t.Errorf("%s, %s: %v, want a DamagedError", what, name, err)
				continue
			}
			if !strings.HasPrefix(err.Error(), "the database "+path+" is damaged") ||
				!strings.Contains(err.Error(), "backup") {
				t.Errorf("Open says %q", err)
			}
		}
	}
}

func overwrite(path string, at int64, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close())
}

func TestOpen_RefusesTheDatabaseOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	other, err := sql.Open("sqlite", filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE turns (x)"); err != nil {
		t.Fatal(err)
	}
	other.Close()
	_, err = Open(t.Context(), dir, nil)
	if _, ok := errors.AsType[*FolderError](err); !ok || !errors.Is(err, errForeign) {
		t.Errorf("Open: %v, want a FolderError", err)
	}
}

func TestOpen_SaysWhyAFolderCannotBeUsed(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                       "the data folder " + file + " is a file: choose a folder with --data",
		filepath.Join(file, "sub"): "the data folder " + filepath.Join(file, "sub") + " is a file: choose a folder with --data",
	} {
		_, err := Open(t.Context(), path, nil)
		if _, ok := errors.AsType[*FolderError](err); !ok || err.Error() != want {
			t.Errorf("Open(%s):\n%v\nwant:\n%s", path, err, want)
		}
	}
}

func TestOpen_SaysThatItHasNoRights(t *testing.T) {
	if accesstest.RanAsNobody(t) {
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir, nil)
	if _, ok := errors.AsType[*FolderError](err); !ok || !strings.HasPrefix(err.Error(), "no right to write in "+"the data folder "+dir) {
		t.Errorf("Open: %v", err)
	}
}

// latestVersion returns the number of a database's last migration.
func latestVersion(t *testing.T, database string) int {
	t.Helper()
	all, err := readMigrations(database)
	if err != nil {
		t.Fatal(err)
	}
	return all[len(all)-1].version
}

func TestMigrate_AppliesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	d := db.state.db
	latest := latestVersion(t, "state")
	pending := []migration{{latest + 1, "0002_more.sql", "CREATE TABLE more (x TEXT); INSERT INTO more (x) VALUES ('y');"},
		{latest + 2, "0003_broken.sql", "CREATE TABLE worse (x TEXT); INSERT INTO nowhere VALUES (1);"}}
	apply := func(m []migration) error {
		return d.update(t.Context(), "migrate", func(tx *sql.Tx) error {
			return applyMigrations(context.Background(), tx, m)
		})
	}
	if err := apply(pending); err == nil || !strings.Contains(err.Error(), "0003_broken.sql") {
		t.Errorf("a broken migration: %v", err)
	}
	if v, err := d.schemaVersion(t.Context()); v != latest || err != nil {
		t.Errorf("version %d (%v) after a broken migration, want %d", v, err, latest)
	}
	if err := apply(pending[:1]); err != nil {
		t.Fatal(err)
	}
	var x string
	if err := d.read.QueryRow("SELECT x FROM more").Scan(&x); x != "y" || err != nil {
		t.Errorf("x = %q, %v", x, err)
	}
}

func TestVisible_ReadsTheIndexOnly(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	for _, f := range []retrieval.Filter{{Namespace: "ns"}, {Namespace: "ns", IncludeCategory: "c"}} {
		condition, args := visible(f)
		rows, err := db.corpus.db.read.Query("EXPLAIN QUERY PLAN SELECT revision FROM documents WHERE "+
			condition+" ORDER BY revision", args...)
		var plan []string
		err = scanAll(rows, err, func(r *sql.Rows) error {
			var a, b, c int
			var detail string
			err := r.Scan(&a, &b, &c, &detail)
			plan = append(plan, detail)
			return err
		})
		want := "SEARCH documents USING COVERING INDEX documents_visible (namespace=?)"
		if err != nil || len(plan) != 1 || plan[0] != want {
			t.Errorf("plan %q (%v), want %q", plan, err, want)
		}
	}
}

func TestDB_SharesAFolderWithAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	one, two := mustOpen(t, dir), mustOpen(t, dir)
	before, err := one.Corpus().Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns"}); err != nil {
		t.Fatal(err)
	}
	after, err := one.Corpus().Version(t.Context())
	if err != nil || after <= before {
		t.Errorf("version %d (%v) after another one's batch, want more than %d", after, err, before)
	}
}

// TestDB_TurnsDoNotWaitForIngestion holds the corpus's write lock and writes to state.
func TestDB_TurnsDoNotWaitForIngestion(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	tx, err := db.corpus.db.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := db.State().Purge(t.Context(), fromMicros(1), 1); err != nil {
		t.Error(err)
	}
}
