package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"parley/internal/documents/upload"
	"parley/internal/documents/upload/uploadtest"
	"parley/internal/store/pgtest"
)

func TestPostgresUploads_Conform(t *testing.T) {
	uploadtest.Files(t, func(t *testing.T) upload.Files { return replica(t, pgtest.New(t)).Uploads() })
}

func countParts(t *testing.T, db *DB) (n int) {
	t.Helper()
	if err := db.state.db.read.QueryRow("SELECT COUNT(*) FROM upload_parts").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPostgresUploads_AreTheSameForAllReplicas(t *testing.T) {
	url := pgtest.New(t)
	one, two := replica(t, url), replica(t, url)
	for _, content := range []string{"first", "again"} { // of the same size
		_ = one.Uploads().Remove("a/b")
		if _, err := one.Uploads().Write(t.Context(), "a/b", strings.NewReader(content), time.Time{}); err != nil {
			t.Fatal(err)
		}
		for _, db := range []*DB{one, two} {
			dir, err := db.Uploads().Local(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(got) != content {
				t.Errorf("%q, %v", got, err)
			}
		}
	}
	if err := two.Uploads().Remove("a/b"); err != nil {
		t.Fatal(err)
	}
	if n := countParts(t, one); n != 0 {
		t.Errorf("%d parts of removed files are left", n)
	}
}

func TestPostgresUploads_SweepForgetsBytesWithoutAName(t *testing.T) {
	db := replica(t, pgtest.New(t))
	cut := io.MultiReader(strings.NewReader(strings.Repeat("x", blobPart)), iotest.ErrReader(errors.New("cut")))
	if _, err := db.Uploads().Write(t.Context(), "a", cut, time.Time{}); err == nil || countParts(t, db) != 0 {
		t.Errorf("%v, %d parts are left of a file that did not come", err, countParts(t, db))
	}
	if _, err := db.Uploads().Write(t.Context(), "b", strings.NewReader("kept"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.state.db.write.Exec("INSERT INTO upload_parts (body, position, part) VALUES ('00', 0, 'lost')"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SweepBlobs(t.Context(), time.Hour); err != nil || countParts(t, db) != 1 {
		t.Errorf("%v, %d parts, want 1", err, countParts(t, db))
	}
}

func TestOpenPostgres_MovesUploadsOfEarlierVersionsIntoTheDatabase(t *testing.T) {
	url, dir := pgtest.New(t), t.TempDir()
	open := func() *DB {
		db, err := OpenPostgres(t.Context(), url, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	old := upload.Disk(filepath.Join(db.Folder(), UploadsDir))
	if _, err := old.Write(t.Context(), "files/default/shared/a.md", strings.NewReader("rice"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = open()
	}
	defer db.Close()
	if st, err := replica(t, url).Uploads().Stat("files/default/shared/a.md"); err != nil || st.Size != 4 {
		t.Errorf("%+v, %v", st, err)
	}
}
