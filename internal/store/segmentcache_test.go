package store_test

import (
	"bytes"
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/pgtest"
)

// cached is a database with segments of known bytes, and a folder of a server on it.
type cached struct {
	testing.TB
	url, dir string
	ids      []int64
	want     map[int64][]byte
}

func newCached(t testing.TB, segments, size int) *cached {
	c := &cached{TB: t, url: pgtest.New(t), dir: t.TempDir(), want: map[int64][]byte{}}
	db := c.open(t.TempDir()) // another server
	random := rand.NewChaCha8([32]byte{1})
	for range segments {
		data := make([]byte, size)
		random.Read(data)
		done, err := db.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns", AddSegments: []retrieval.Segment{{Generation: "g", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
		c.ids = append(c.ids, done.Segments...)
		c.want[done.Segments[0]] = data
	}
	return c
}

func (c *cached) open(dir string) *store.DB {
	c.Helper()
	db, err := store.OpenPostgres(c.Context(), c.url, dir, nil)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { db.Close() })
	return db
}

// read reads all segments and checks their bytes. It returns how many came from files.
func (c *cached) read(db *store.DB) int {
	c.Helper()
	before, _ := db.SegmentReads()
	for _, id := range c.ids {
		data, err := db.Corpus().SegmentData(c.Context(), id)
		if err != nil || !bytes.Equal(data, c.want[id]) {
			c.Errorf("segment %d: %d bytes, the right ones: %v, %v", id, len(data), bytes.Equal(data, c.want[id]), err)
		}
	}
	files, _ := db.SegmentReads()
	return int(files - before)
}

// path returns the file of a segment.
func (c *cached) path(db *store.DB, id int64) string {
	return filepath.Join(db.Folder(), "segments", strconv.FormatInt(id, 10))
}

func TestSegments_AreReadFromFilesAfterTheFirstTime(t *testing.T) {
	c := newCached(t, 5, 3<<19) // in two parts each
	if n := c.read(c.open(c.dir)); n != 0 {
		t.Errorf("%d segments came from files that nobody had written", n)
	}
	db := c.open(c.dir) // after a restart
	if n := c.read(db); n != 5 {
		t.Errorf("%d of 5 segments came from files", n)
	}
	if _, database := db.SegmentReads(); database != 0 {
		t.Errorf("%d segments came from the database", database)
	}
}

func TestSegments_AreReadAnewWhereFilesAreNotRight(t *testing.T) {
	c := newCached(t, 6, 10_000)
	db := c.open(c.dir)
	c.read(db)
	damage := func(id int64, change func([]byte) []byte) {
		data, err := os.ReadFile(c.path(db, id))
		if err == nil {
			err = os.WriteFile(c.path(db, id), change(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	damage(c.ids[0], func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	damage(c.ids[1], func(b []byte) []byte { return b[:len(b)-1] })
	damage(c.ids[2], func([]byte) []byte { return nil })
	other, err := os.ReadFile(c.path(db, c.ids[4])) // a whole file, of another segment
	if err != nil {
		t.Fatal(err)
	}
	damage(c.ids[3], func([]byte) []byte { return other })
	if n := c.read(db); n != 2 {
		t.Errorf("%d segments came from files, and 2 files were right", n)
	}
	if n := c.read(db); n != 6 {
		t.Errorf("%d segments came from files after the wrong ones were replaced", n)
	}
}

// A database that is restored to an earlier state gives an id a second time.
func TestSegments_OfARestoredDatabaseAreNotMistaken(t *testing.T) {
	c := newCached(t, 2, 10_000)
	db := c.open(c.dir)
	c.read(db)
	other := bytes.Clone(c.want[c.ids[0]])
	for i := range other {
		other[i] ^= 0x55
	}
	raw, err := sql.Open("pgx", c.url)
	if err == nil {
		defer raw.Close()
		_, err = raw.Exec("UPDATE parley_corpus.segment_parts SET body = $1 WHERE segment_id = $2", other, c.ids[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	c.want[c.ids[0]] = other
	if n := c.read(db); n != 1 {
		t.Errorf("%d segments came from files, and one file was right", n)
	}
}

func TestSegments_StayWithinTheLimitOnDisk(t *testing.T) {
	c := newCached(t, 20, 10_000)
	const limit = 64 << 10
	var servers []*store.DB
	for range 2 { // two processes that share a folder
		db := c.open(c.dir)
		db.LimitSegments(limit)
		servers = append(servers, db)
	}
	var b sync.WaitGroup
	for _, db := range servers {
		for range 2 {
			b.Go(func() {
				for range 3 {
					c.read(db)
				}
			})
		}
	}
	b.Wait()
	files, err := filepath.Glob(c.path(servers[0], 0)[:len(c.path(servers[0], 0))-1] + "*")
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	if total == 0 || total > 2*limit { // each process leaves room for what it has counted
		t.Errorf("%d files have %d bytes, and the limit is %d", len(files), total, limit)
	}
	c.ids = c.ids[:3]                 // these fit: the ones that are used stay
	time.Sleep(50 * time.Millisecond) // clocks of file systems are coarse
	c.read(servers[0])
	if n := c.read(servers[0]); n != 3 {
		t.Errorf("%d of 3 segments that fit came from files", n)
	}
}

func TestSegments_AreReadWithoutAFolderThatCanBeWritten(t *testing.T) {
	c := newCached(t, 3, 10_000)
	db := c.open(c.dir)
	folder := filepath.Dir(c.path(db, 0))
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if n := c.read(db); n != 0 {
		t.Errorf("%d segments came from files of a folder that is gone", n)
	}
}

func BenchmarkSegments(b *testing.B) {
	c := newCached(b, 8, 4<<20)
	db := c.open(c.dir)
	for _, from := range []string{"database", "disk"} {
		b.Run(from, func(b *testing.B) {
			for b.Loop() {
				if from == "database" {
					for _, id := range c.ids {
						os.Remove(c.path(db, id))
					}
				}
				c.read(db)
			}
			b.SetBytes(8 * 4 << 20)
		})
	}
}
