package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"parley/internal/durable"
)

// sharedBlobs keeps originals in a PostgreSQL database, in parts. The folder of a Blobs is then a
// cache of them.
type sharedBlobs struct{ db *database }

// blobPart is the size in bytes of a stored part of a blob.
const blobPart = 1 << 20

// put stores a blob unless it is there, and renews its age. Its rows are not those that writers of
// the corpus change, so it does not wait for them.
func (s *sharedBlobs) put(ctx context.Context, sha string, size int64, r io.Reader) error {
	tx, err := s.db.read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	now := micros(time.Now())
	have, err := affects(tx.ExecContext(ctx, "UPDATE blobs SET stored_at = ? WHERE sha256 = ?", now, sha))
	if err == nil && !have {
		var added bool
		// This waits for another process that is storing the same bytes.
		added, err = affects(tx.ExecContext(ctx, "INSERT INTO blobs (sha256, size, stored_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", sha, size, now))
		if err == nil && added {
			err = putParts(ctx, tx, sha, r)
		}
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

func putParts(ctx context.Context, tx *sql.Tx, sha string, r io.Reader) error {
	buffer := make([]byte, blobPart)
	for position := 0; ; position++ {
		n, err := io.ReadFull(r, buffer)
		if n > 0 {
			_, err := tx.ExecContext(ctx, "INSERT INTO blob_parts (sha256, position, body) VALUES (?, ?, ?)", sha, position, buffer[:n])
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errBlob says that a blob in the database is incomplete or has other bytes than its name says.
var errBlob = errors.New("an original in the database is damaged")

// copyTo writes a blob to w. A missing one is fs.ErrNotExist.
func (s *sharedBlobs) copyTo(ctx context.Context, sha string, w io.Writer) error {
	return s.db.viewOnce(ctx, "read blob", func(tx *sql.Tx) error {
		var size int64
		err := tx.QueryRowContext(ctx, "SELECT size FROM blobs WHERE sha256 = ?", sha).Scan(&size)
		if errors.Is(err, sql.ErrNoRows) {
			return fs.ErrNotExist
		}
		if err != nil {
			return err
		}
		hash := sha256.New()
		// A query for each part, because a client receives the whole result of a query that it does not
		// read to its end.
		for position := range (size + blobPart - 1) / blobPart {
			var part []byte
			err := tx.QueryRowContext(ctx, "SELECT body FROM blob_parts WHERE sha256 = ? AND position = ?", sha, position).Scan(&part)
			if errors.Is(err, sql.ErrNoRows) {
				return errBlob
			}
			if err != nil {
				return err
			}
			if _, err := io.MultiWriter(w, hash).Write(part); err != nil {
				return err
			}
		}
		if hex.EncodeToString(hash.Sum(nil)) != sha {
			return errBlob
		}
		return nil
	})
}

// sweep removes the blobs without a document that were last stored before a time.
func (s *sharedBlobs) sweep(ctx context.Context, before time.Time) (int, error) {
	// A Put at the same moment renews stored_at, which the server then looks at again.
	n, err := affected(s.db.read.ExecContext(ctx, `DELETE FROM blobs WHERE stored_at < ?
		AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.sha256 = blobs.sha256)`, micros(before)))
	return n, s.db.fail("sweep blobs", err)
}

// drop removes a blob without a document.
func (s *sharedBlobs) drop(ctx context.Context, sha string) error {
	_, err := s.db.read.ExecContext(ctx, `DELETE FROM blobs WHERE sha256 = ?
		AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.sha256 = blobs.sha256)`, sha)
	return s.db.fail("remove a blob", err)
}

// fetchPatience is the time that Open waits for a blob of the database.
const fetchPatience = 5 * time.Minute

// fetch copies a blob from the database into the folder.
func (b *Blobs) fetch(sha, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	temp := newTemp()
	defer b.root.Remove(temp) //nolint:errcheck // after success it is gone already; otherwise trim removes it
	f, err := b.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = b.shared.copyTo(ctx, sha, f)
	if err := durable.Close(f, err); err != nil {
		return err
	}
	return b.publish(temp, name)
}

// cacheBytes is the size limit of the originals in the folder of a replica.
const cacheBytes = 1 << 30

// trim keeps at most limit bytes of originals in the folder. All of them are in the database.
func (b *Blobs) trim(ctx context.Context, limit int64) error {
	if _, err := trimFolder(ctx, b.root, limit); err != nil {
		return fmt.Errorf("trim the cache of originals: %w", err)
	}
	return nil
}

// trimFolder removes the files that were stored or used longest ago until the rest has at most limit bytes, and files that
// dead processes left half written. It returns the size of the rest.
func trimFolder(ctx context.Context, root *os.Root, limit int64) (total int64, err error) {
	type file struct {
		name string
		size int64
		at   time.Time
	}
	var all []file
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return durable.IgnoreMissing(err)
		}
		if err := ctx.Err(); err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return durable.IgnoreMissing(err)
		}
		if strings.HasPrefix(path.Base(name), tempPrefix) {
			if time.Since(info.ModTime()) > time.Hour {
				return durable.IgnoreMissing(root.Remove(name))
			}
			return nil
		}
		all = append(all, file{name, info.Size(), info.ModTime()})
		total += info.Size()
		return nil
	})
	slices.SortFunc(all, func(x, y file) int { return x.at.Compare(y.at) })
	for _, f := range all {
		if err != nil || total <= limit {
			break
		}
		err = durable.IgnoreMissing(root.Remove(f.name))
		total -= f.size
	}
	return total, err
}
