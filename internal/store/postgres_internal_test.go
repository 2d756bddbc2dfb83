package store

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/store/pgtest"
)

// replica opens the database at url as a process with its own folder does.
func replica(t *testing.T, url string) *DB {
	t.Helper()
	db, err := OpenPostgres(t.Context(), url, t.TempDir(), nil)
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

func TestOpenPostgres_MigratesOnceWhenManyStartTogether(t *testing.T) {
	url := pgtest.New(t)
	const replicas = 6
	all := make([]*DB, replicas)
	errs := make([]error, replicas)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range replicas {
		wg.Go(func() { all[i], errs[i] = OpenPostgres(t.Context(), url, dir, nil) })
	}
	wg.Wait()
	for i, db := range all {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenPostgres_RefusesANewerSchema(t *testing.T) {
	url := pgtest.New(t)
	if err := replica(t, url).Close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, "INSERT INTO parley_state.migrations (version, applied_at) VALUES (999, 0)")
	_, err := OpenPostgres(t.Context(), url, t.TempDir(), nil)
	if newer, ok := errors.AsType[*NewerError](err); !ok || newer.Have != 999 || !strings.HasSuffix(err.Error(), "choose another database with --database") {
		t.Errorf("%v, want a NewerError that names --database", err)
	}
}

func TestOpenPostgres_SaysWhatIsWrong(t *testing.T) {
	for name, url := range map[string]string{
		"a malformed URL":  "postgres://u:secret@h:notaport/db",
		"nobody listening": "postgres://u:secret@127.0.0.1:1/db?connect_timeout=5",
	} {
		_, err := OpenPostgres(t.Context(), url, t.TempDir(), nil)
		if _, ok := errors.AsType[*ServerError](err); !ok || !strings.Contains(err.Error(), "--database") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want a ServerError that names --database and no password", name, err)
		}
	}
}

// A migration of SQLite that PostgreSQL does not understand, or not in the same way, shows here.
func TestMigrations_MakeTheSameTablesInBothDatabases(t *testing.T) {
	files, server := mustOpen(t, t.TempDir()), replica(t, pgtest.New(t))
	for _, part := range []struct {
		name         string
		file, server *database
	}{{"corpus", files.corpus.db, server.corpus.db}, {"state", files.state.db, server.state.db}} {
		const inSQLite = `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'`
		const inPostgres = `SELECT table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name NOT IN ('about', 'blobs', 'blob_parts', 'upload_files', 'upload_parts',
			'servers', 'wanted_turns', 'turn_parts', 'notices')`
		want, err := column[string](part.file.read.Query(inSQLite))
		if err != nil {
			t.Fatal(err)
		}
		got, err := column[string](part.server.read.Query(inPostgres))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-SQLite +PostgreSQL):\n%s", part.name, diff)
		}
		const unsorted = `SELECT table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`
		if got, err := column[string](part.server.read.Query(unsorted)); err != nil || len(got) > 0 {
			t.Errorf("columns that are not compared by their bytes: %v %v", got, err)
		}
	}
}

func TestPostgresBlobs_AreReadByOtherReplicas(t *testing.T) {
	url := pgtest.New(t)
	one, other := replica(t, url).Blobs(), replica(t, url).Blobs()
	for _, size := range []int{0, 1, blobPart - 1, blobPart, blobPart + 1, 3*blobPart + 5} {
		want := bytes.Repeat([]byte("original\x00"), size/9+1)[:size]
		sha, n, err := one.Put(t.Context(), bytes.NewReader(want))
		if err != nil || n != int64(size) {
			t.Fatalf("Put of %d bytes: %d, %v", size, n, err)
		}
		for range 2 { // from the database, then from the cache
			got, err := other.read(t, sha)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes came back as %d: %v", size, len(got), err)
			}
		}
	}
	if _, err := other.Open(strings.Repeat("a", 64)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a blob that nobody put: %v, want fs.ErrNotExist", err)
	}
}

func TestPostgresBlobs_PutBySeveralAtOnceAreStoredOnce(t *testing.T) {
	url := pgtest.New(t)
	db := replica(t, url)
	replicas := []*Blobs{db.Blobs(), replica(t, url).Blobs(), replica(t, url).Blobs()}
	want := bytes.Repeat([]byte("x"), blobPart+1)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if _, _, err := replicas[i%len(replicas)].Put(t.Context(), bytes.NewReader(want)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var parts int
	if err := db.corpus.db.read.QueryRow("SELECT COUNT(*) FROM blob_parts").Scan(&parts); err != nil || parts != 2 {
		t.Errorf("%d parts, %v, want 2", parts, err)
	}
}

func TestPostgresBlobs_AreSweptWithoutADocument(t *testing.T) {
	url := pgtest.New(t)
	db := replica(t, url)
	sha, _, err := db.Blobs().Put(t.Context(), strings.NewReader("left"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		age  time.Duration
		want int
	}{{time.Hour, 0}, {-time.Hour, 1}} {
		if n, err := db.SweepBlobs(t.Context(), step.age); n != step.want || err != nil {
			t.Errorf("SweepBlobs of what is older than %s: %d, %v, want %d", step.age, n, err, step.want)
		}
	}
	if _, err := replica(t, url).Blobs().Open(sha); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a swept blob: %v, want fs.ErrNotExist", err)
	}
}

func TestPostgresBlobs_KeepTheLatestInTheCache(t *testing.T) {
	b := replica(t, pgtest.New(t)).Blobs()
	var all []string
	for i, text := range []string{"oldest", "middle", "newest"} {
		sha, _, err := b.Put(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		b.age(t, sha[:2]+"/"+sha, time.Duration(3-i)*time.Hour)
		all = append(all, sha)
	}
	if err := b.trim(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	want := []string{all[1][:2] + "/" + all[1], all[2][:2] + "/" + all[2]}
	slices.Sort(want)
	if diff := cmp.Diff(want, b.files(t)); diff != "" {
		t.Errorf("cached files (-want +got):\n%s", diff)
	}
	if got, err := b.read(t, all[0]); err != nil || string(got) != "oldest" {
		t.Errorf("a blob that left the cache: %q, %v", got, err)
	}
}

func TestPostgresBlobs_RefuseOtherBytes(t *testing.T) {
	url := pgtest.New(t)
	sha, _, err := replica(t, url).Blobs().Put(t.Context(), strings.NewReader("original"))
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, "UPDATE parley_corpus.blob_parts SET body = 'changed!'")
	if _, err := replica(t, url).Blobs().Open(sha); !errors.Is(err, errBlob) {
		t.Errorf("Open of a changed blob: %v, want errBlob", err)
	}
}
