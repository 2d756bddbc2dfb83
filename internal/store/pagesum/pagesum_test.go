package pagesum_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"parley/internal/store/pagesum"
)

const pageSize = 4096

// openAs opens a database with a file system of SQLite's; "" is that of the operating system.
func openAs(t testing.TB, path, vfs string) *sql.DB {
	t.Helper()
	if err := pagesum.Register(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file://"+filepath.ToSlash(path)+"?_pragma=journal_mode(WAL)&_pragma=cache_size(-64)&vfs="+vfs)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// makeDatabase makes a database with rows that lie within a page, and rows that go on over several.
func makeDatabase(t testing.TB, vfs string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	db := openAs(t, path, vfs)
	exec(t, db, "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)", "CREATE INDEX bodies ON rows (substr(body, 1, 20))")
	for i := range 40 {
		exec(t, db, fmt.Sprintf("INSERT INTO rows (body) VALUES ('%s')", strings.Repeat(fmt.Sprint("text ", i, " "), 1+i*i)))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// all returns the rows of a database.
func all(db *sql.DB) (rows []string, err error) {
	r, err := db.Query("SELECT body FROM rows ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for r.Next() {
		var body string
		if err := r.Scan(&body); err != nil {
			return nil, err
		}
		rows = append(rows, body)
	}
	return rows, r.Err()
}

func isDamage(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == pagesum.Damage
}

func TestRead_ReportsAChangedByteOfAnyPage(t *testing.T) {
	path := makeDatabase(t, pagesum.VFS)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := openAs(t, path, pagesum.VFS)
	want, err := all(db)
	if err != nil || len(want) != 40 {
		t.Fatal(len(want), err)
	}
	db.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for page := range len(whole) / pageSize {
		at := page*pageSize + r.IntN(pageSize)
		broken := bytes.Clone(whole)
		broken[at] ^= 1 << r.IntN(8)
		path := filepath.Join(t.TempDir(), "a.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		db := openAs(t, path, pagesum.VFS)
		_, err := all(db)
		if err == nil {
			_, err = db.Exec("SELECT * FROM rows ORDER BY substr(body, 1, 20)") // reads the index
		}
		if at >= 100 && !isDamage(err) || err == nil {
			t.Errorf("byte %d of page %d: %v", at%pageSize, page+1, err)
		}
		db.Close()
	}
}

func TestRead_ReportsAFileThatEndsWithinAPage(t *testing.T) {
	path := makeDatabase(t, pagesum.VFS)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-1000); err != nil {
		t.Fatal(err)
	}
	if _, err := all(openAs(t, path, pagesum.VFS)); err == nil {
		t.Error("nothing is wrong")
	}
}

func TestVacuum_GivesAnOldDatabaseChecksums(t *testing.T) {
	path := makeDatabase(t, "")
	flip(t, path, "text 39")
	other := openAs(t, path, pagesum.VFS)
	if rows, err := all(other); err != nil || len(rows) != 40 {
		t.Fatalf("an old database: %d rows, %v", len(rows), err)
	}
	db := openAs(t, path, pagesum.VFS)
	exec(t, db, "VACUUM")
	// Another connection that knew it without checksums writes pages and checkpoints them.
	exec(t, other, "UPDATE rows SET body = body || '.'", "PRAGMA wal_checkpoint(TRUNCATE)")
	for _, db := range []*sql.DB{db, other} {
		if rows, err := all(db); err != nil || len(rows) != 40 {
			t.Errorf("after VACUUM: %d rows, %v", len(rows), err)
		}
		db.Close()
	}
	flip(t, path, "text 38")
	if _, err := all(openAs(t, path, pagesum.VFS)); !isDamage(err) {
		t.Errorf("a changed byte after VACUUM: %v", err)
	}
}

// flip changes a byte of the last place where a text stands.
func flip(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(data, []byte(text))
	if at < 0 {
		t.Fatalf("no %q", text)
	}
	data[at] ^= 2
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Other programs, here SQLite with the file system of the operating system, may read a database,
// finish its log and copy it.
func TestDatabase_IsWholeAfterOtherProgramsHaveReadIt(t *testing.T) {
	path := makeDatabase(t, pagesum.VFS)
	ours := openAs(t, path, pagesum.VFS)
	exec(t, ours, "UPDATE rows SET body = body || '.'", "DELETE FROM rows WHERE id % 3 = 0")
	want, err := all(ours)
	if err != nil {
		t.Fatal(err)
	}
	theirs := openAs(t, path, "")
	if got, err := all(theirs); err != nil || !slices.Equal(got, want) {
		t.Fatalf("the other program: %d rows, %v", len(got), err)
	}
	copied := filepath.Join(t.TempDir(), "b.db")
	exec(t, theirs, "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM INTO '"+copied+"'")
	theirs.Close()
	ours.Close()
	for _, path := range []string{path, copied} {
		if got, err := all(openAs(t, path, pagesum.VFS)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, %v", path, len(got), err)
		}
	}
}

// TestDatabase_StaysWholeWhileItGrowsAndShrinks frees pages, uses them again and looks at all of it,
// with transactions that are given up and a cache that is too small for them.
func TestDatabase_StaysWholeWhileItGrowsAndShrinks(t *testing.T) {
	path := makeDatabase(t, pagesum.VFS)
	r := rand.New(rand.NewPCG(4, 5))
	for range 6 {
		db := openAs(t, path, pagesum.VFS)
		for range 60 {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + r.IntN(20) {
				statement := fmt.Sprintf("INSERT INTO rows (body) VALUES ('%s')", strings.Repeat("word ", 1+r.IntN(9000)))
				if r.IntN(2) == 0 {
					statement = fmt.Sprintf("DELETE FROM rows WHERE id %% %d = %d", 2+r.IntN(30), r.IntN(2))
				}
				if _, err := tx.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			if r.IntN(4) == 0 {
				err = tx.Rollback()
			} else {
				err = tx.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, query := range []string{"PRAGMA integrity_check", "SELECT CASE WHEN COUNT(length(data)) = COUNT(*) THEN 'ok' END FROM sqlite_dbpage"} {
			var verdict string
			if err := db.QueryRow(query).Scan(&verdict); err != nil || verdict != "ok" {
				t.Fatalf("%s: %s, %v", query, verdict, err)
			}
		}
		db.Close()
	}
}

// BenchmarkRead reads rows of 3 kB in any order, most of them from the file, as SQLite alone does and
// with checksums.
func BenchmarkRead(b *testing.B) {
	for _, vfs := range []string{"", pagesum.VFS} {
		b.Run("vfs="+vfs, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.db")
			db := openAs(b, path, vfs)
			exec(b, db, "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)", "BEGIN")
			const rows = 10_000
			for range rows {
				exec(b, db, "INSERT INTO rows (body) VALUES (hex(zeroblob(1500)))")
			}
			exec(b, db, "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)")
			read, err := db.Prepare("SELECT body FROM rows WHERE id = ?")
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				var body string
				if err := read.QueryRow(1 + r.IntN(rows)).Scan(&body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
