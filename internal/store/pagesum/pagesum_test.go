package pagesum_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"parley/internal/store/pagesum"
	"parley/test/needs"
)

const pageSize = 4096

// openAs opens a database with a VFS; "" is the operating system's.
func openAs(t testing.TB, path, vfs string) *sql.DB {
	t.Helper()
	if err := pagesum.Register(); err != nil {
		t.Fatal(err)
	}
	name := "file://" + filepath.ToSlash(path) + "?_pragma=journal_mode(WAL)&_pragma=cache_size(-64)"
	if vfs != "" {
		name += "&vfs=" + vfs
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// makeDatabase creates a database with short rows and rows that span several pages.
func makeDatabase(t testing.TB, vfs string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	db := openAs(t, path, vfs)
	run(t, db, "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)", "CREATE INDEX bodies ON rows (substr(body, 1, 20))")
	for i := range 40 {
		run(t, db, fmt.Sprintf("INSERT INTO rows (body) VALUES ('%s')", strings.Repeat(fmt.Sprint("text ", i, " "), 1+i*i)))
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
	whole := read(t, path)
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

// SQLite reads no more of the last page of a long value than it needs.
func TestRead_ReportsDamageToTheEndOfALongValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := openAs(t, path, pagesum.VFS)
	run(t, db, "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
	const values = 60
	end := func(i int) string { return fmt.Sprintf("end %02d", i) }
	for i := range values { // their last pages hold from a few to thousands of bytes
		run(t, db, fmt.Sprintf("INSERT INTO rows (body) VALUES ('%s')", strings.Repeat("v", 9000+71*i)+end(i)))
	}
	db.Close()
	whole := read(t, path)
	tried := 0
	for i := range values {
		at := bytes.Index(whole, []byte(end(i)))
		if at < 0 {
			continue // the text crosses two pages
		}
		tried++
		for what, damage := range map[string]func(page []byte){
			"changed": func(page []byte) { page[at%pageSize] ^= 1 },
			"zeroed":  func(page []byte) { clear(page) },
		} {
			broken := bytes.Clone(whole)
			damage(broken[at-at%pageSize:][:pageSize])
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			db := openAs(t, path, pagesum.VFS)
			if _, err := all(db); !isDamage(err) {
				t.Errorf("a value of %d bytes whose end is %s: %v", 9000+71*i+6, what, err)
			}
			db.Close()
		}
	}
	if tried < values/2 {
		t.Errorf("only %d values tried", tried)
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
	run(t, db, "VACUUM")
	// A connection that opened the database before it had checksums writes pages and checkpoints
	// them.
	run(t, other, "UPDATE rows SET body = body || '.'", "PRAGMA wal_checkpoint(TRUNCATE)")
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

// A crash during a checkpoint leaves some pages of the file old, some new, and perhaps one half
// written. The log still has all of them.
func TestRead_TakesPagesThatACrashHasTornFromTheLog(t *testing.T) {
	for name, work := range map[string]func(db *sql.DB){
		"changes": func(db *sql.DB) { run(t, db, "UPDATE rows SET body = body || '.'", "DELETE FROM rows WHERE id > 30") },
		"VACUUM":  func(db *sql.DB) { run(t, db, "VACUUM") },
	} {
		t.Run(name, func(t *testing.T) {
			path := makeDatabase(t, map[string]string{"changes": pagesum.VFS}[name])
			before := read(t, path)
			db := openAs(t, path, pagesum.VFS)
			run(t, db, "PRAGMA wal_autocheckpoint = 0")
			work(db)
			want, err := all(db)
			if err != nil {
				t.Fatal(err)
			}
			log := read(t, path+"-wal")
			run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
			after := read(t, path)
			for done := 0; done <= min(len(before), len(after))/pageSize; done += 7 {
				torn := append(bytes.Clone(after[:done*pageSize]), before[done*pageSize:]...)
				if done > 0 {
					copy(torn[done*pageSize-2048:done*pageSize], before[done*pageSize-2048:])
				}
				path := filepath.Join(t.TempDir(), "a.db")
				if err := errors.Join(os.WriteFile(path, torn, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
					t.Fatal(err)
				}
				db := openAs(t, path, pagesum.VFS)
				for _, state := range []string{"in the log", "out of it"} {
					if got, err := all(db); err != nil || !slices.Equal(got, want) {
						t.Errorf("%d pages done, %s: %d rows, %v", done, state, len(got), err)
					}
					run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
				}
				db.Close()
				flip(t, path, "text 29")
				if _, err := all(openAs(t, path, pagesum.VFS)); !isDamage(err) {
					t.Errorf("%d pages done: a changed byte later: %v", done, err)
				}
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// flip changes a byte of the last occurrence of a text.
func flip(t *testing.T, path, text string) {
	t.Helper()
	data := read(t, path)
	at := bytes.LastIndex(data, []byte(text))
	if at < 0 {
		t.Fatalf("no %q", text)
	}
	data[at] ^= 2
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Other programs may read a database, checkpoint its log, change its journal mode and copy it.
// After they run VACUUM, their writes can be told from damage.
func TestDatabase_IsWholeAfterOtherProgramsHaveReadIt(t *testing.T) {
	for name, do := range otherPrograms(t) {
		t.Run(name, func(t *testing.T) {
			path := makeDatabase(t, pagesum.VFS)
			ours := openAs(t, path, pagesum.VFS)
			run(t, ours, "UPDATE rows SET body = body || '.'", "DELETE FROM rows WHERE id % 3 = 0")
			want, err := all(ours)
			if err != nil {
				t.Fatal(err)
			}
			check := func(what, path string) {
				t.Helper()
				db := openAs(t, path, pagesum.VFS)
				defer db.Close()
				if got, err := all(db); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %d rows, %v", what, len(got), err)
				}
			}
			dir := t.TempDir()
			do(path, "SELECT SUM(LENGTH(body)) FROM rows")
			do(path, "VACUUM INTO '"+filepath.Join(dir, "into.db")+"'")
			check("a copy by VACUUM INTO", filepath.Join(dir, "into.db"))
			do(path, ".backup "+filepath.Join(dir, "log.db"))
			check("a backup while the log holds pages", filepath.Join(dir, "log.db"))
			run(t, ours, "PRAGMA wal_checkpoint(TRUNCATE)")
			do(path, ".backup "+filepath.Join(dir, "file.db"))
			check("a backup of the file", filepath.Join(dir, "file.db"))
			ours.Close()
			do(path, "PRAGMA journal_mode=DELETE")
			check("a database whose log was finished", path)
			do(path, "UPDATE rows SET body = 'foreign'")
			if _, err := all(openAs(t, path, pagesum.VFS)); !isDamage(err) {
				t.Errorf("after a change by a program that makes no checksums: %v", err)
			}
			do(path, "VACUUM")
			for i := range want {
				want[i] = "foreign"
			}
			check("after VACUUM by the other program", path)
		})
	}
}

// otherPrograms run a statement on a database without knowing of checksums: SQLite with the
// operating system's VFS, and its command line if installed.
func otherPrograms(t *testing.T) map[string]func(path, statement string) {
	programs := map[string]func(path, statement string){
		"driver": func(path, statement string) {
			db := openAs(t, path, "")
			defer db.Close()
			db.SetMaxOpenConns(1)
			if to, ok := strings.CutPrefix(statement, ".backup "); ok {
				backUp(t, db, to)
				return
			}
			run(t, db, statement)
		},
	}
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		if needs.All() {
			t.Fatal("needs sqlite3: apt-get install sqlite3")
		}
		return programs
	}
	programs["command line"] = func(path, statement string) {
		if out, err := exec.Command(program, path, statement).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", statement, err, out)
		}
	}
	return programs
}

// TestDatabase_StaysWholeWhileItGrowsAndShrinks frees and reuses pages and then reads all of them.
// Some transactions roll back, and the cache is too small for them.
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

// BenchmarkRead reads rows of 3 kB in random order, mostly from the file, with and without
// checksums.
func BenchmarkRead(b *testing.B) {
	for _, vfs := range []string{"", pagesum.VFS} {
		b.Run("vfs="+vfs, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.db")
			db := openAs(b, path, vfs)
			run(b, db, "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)", "BEGIN")
			const rows = 10_000
			for range rows {
				run(b, db, "INSERT INTO rows (body) VALUES (hex(zeroblob(1500)))")
			}
			run(b, db, "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)")
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

// backUp copies a database with SQLite's backup and the operating system's VFS.
func backUp(t *testing.T, db *sql.DB, to string) {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(c any) error {
		b, err := c.(interface {
			NewBackup(to string) (*sqlite.Backup, error)
		}).NewBackup("file://" + filepath.ToSlash(to))
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		t.Fatal(err)
	}
}
