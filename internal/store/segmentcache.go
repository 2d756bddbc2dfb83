package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/retrieval"
)

// segmentCache keeps segments of a PostgreSQL database in files on this machine, so that a server does not read all of
// them from the database when it starts. A file has the id of its segment as its name, and begins with a checksum of both.
// Several processes may use a folder at once: files appear whole, and one that is missing, damaged or of another segment
// is only read from the database.
type segmentCache struct {
	root *os.Root

	mu    sync.Mutex // held while files are written
	limit int64      // in bytes
	size  int64      // of all files, if it is counted; other processes may add to it
	known bool       // size is counted

	hits, misses atomic.Int64
}

// segmentBytes is the size limit of the cached segments, unless LimitSegments sets another.
const segmentBytes = 1 << 30

func openSegmentCache(dir string) (*segmentCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &FolderError{Path: dir, Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &FolderError{Path: dir, Err: err}
	}
	return &segmentCache{root: root, limit: segmentBytes}, nil
}

// LimitSegments sets how many bytes of segments of a PostgreSQL database are kept in files on this machine; 0
// leaves the default.
func (d *DB) LimitSegments(limit int64) {
	if c := d.corpus.cache; c != nil && limit > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.limit = limit
	}
}

// SegmentReads returns how many segments were read from files on this machine, and how many from the PostgreSQL database.
func (d *DB) SegmentReads() (files, database int64) {
	if c := d.corpus.cache; c != nil {
		return c.hits.Load(), c.misses.Load()
	}
	return 0, 0
}

// cachedSegment returns the bytes of a segment from its file, or else from the database. The size and the last bytes of the
// segment, which hold a checksum of it, are always read from the database: one that is restored to an earlier state gives
// an id to another segment.
func (c *Corpus) cachedSegment(ctx context.Context, id int64) ([]byte, error) {
	var size int
	var end []byte
	err := c.db.view(ctx, fmt.Sprintf("look for segment %d", id), func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT size, COALESCE((SELECT substr(body, GREATEST(length(body) - 15, 1)) FROM segment_parts
			WHERE segment_id = segments.id ORDER BY position DESC LIMIT 1), '') FROM segments WHERE id = ?`, id).Scan(&size, &end)
		if errors.Is(err, sql.ErrNoRows) {
			return retrieval.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if data, ok := c.cache.read(id, size, end); ok {
		c.cache.hits.Add(1)
		return data, nil
	}
	data, err := c.storedSegment(ctx, id)
	if err != nil {
		return data, err
	}
	c.cache.misses.Add(1)
	return data, c.cache.write(ctx, id, data)
}

// read returns a segment from its file, if the file is whole and its size and last bytes match the database.
func (c *segmentCache) read(id int64, size int, end []byte) ([]byte, bool) {
	name := strconv.FormatInt(id, 10)
	f, err := c.root.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(sha256.Size+size) {
		return nil, false
	}
	all := make([]byte, sha256.Size+size)
	if _, err := io.ReadFull(f, all); err != nil {
		return nil, false
	}
	sum, data := all[:sha256.Size], all[sha256.Size:]
	if !bytes.Equal(sum, segmentSum(name, data)) || !bytes.HasSuffix(data, end) {
		return nil, false
	}
	now := time.Now()
	_ = c.root.Chtimes(name, now, now) // those that were used longest ago go first
	return data, true
}

func segmentSum(name string, data []byte) []byte {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write(data)
	return h.Sum(nil)
}

// write keeps a segment in a file. A full disk is not an error: the database has the segment.
func (c *segmentCache) write(ctx context.Context, id int64, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(sha256.Size + len(data))
	if size > c.limit {
		return nil
	}
	if !c.known || c.size+size > c.limit {
		kept, err := trimFolder(ctx, c.root, c.limit/10*9-size)
		if err != nil {
			return ctx.Err()
		}
		c.size, c.known = kept, true
	}
	name, temp := strconv.FormatInt(id, 10), newTemp()
	if c.store(temp, segmentSum(name, data), data) == nil && c.root.Rename(temp, name) == nil {
		c.size += size
	} else {
		_ = c.root.Remove(temp)
	}
	return nil
}

func (c *segmentCache) store(name string, sum, data []byte) error {
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(sum)
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// segmentsIn is the folder of the cache in the folder of a database.
func segmentsIn(folder string) string { return filepath.Join(folder, "segments") }
