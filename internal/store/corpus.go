package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// Corpus keeps documents and their index. It implements retrieval.Store.
type Corpus struct {
	db    *database
	cache *segmentCache // nil for SQLite
	large int64         // size in bytes from which passages are read concurrently
	widen sync.Once     // raises the number of readers for a large file
}

var _ retrieval.Store = (*Corpus)(nil)

// Version returns a number that grows with every Apply, also by another process.
func (c *Corpus) Version(ctx context.Context) (int64, error) {
	v, err := c.number(ctx, "SELECT value FROM counters WHERE name = 'version'")
	return v, c.db.fail("read version of the corpus", err)
}

// number runs a constant query that returns one number.
func (c *Corpus) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	stmt, err := c.db.prepared(query)
	if err != nil {
		return 0, err
	}
	err = stmt.QueryRowContext(ctx, args...).Scan(&n)
	return n, err
}

// NextRevisions reserves n revision numbers and returns the first.
func (c *Corpus) NextRevisions(ctx context.Context, n int) (int64, error) {
	var last int64
	err := c.db.update(ctx, "reserve revisions", func(tx *sql.Tx) error {
		var err error
		last, err = advance(ctx, tx, "revision", n)
		return err
	})
	return last - int64(n) + 1, err
}

// advance adds n to a counter and returns its new value.
func advance(ctx context.Context, tx *sql.Tx, counter string, n int) (value int64, err error) {
	err = tx.QueryRowContext(ctx, "UPDATE counters SET value = value + ? WHERE name = ? RETURNING value",
		n, counter).Scan(&value)
	return value, err
}

// Namespaces returns the namespaces that hold documents, sorted, except internal ones (Aside,
// Replaced).
func (c *Corpus) Namespaces(ctx context.Context) ([]string, error) {
	// Each step seeks the next namespace in the index; DISTINCT would read every document.
	const query = `WITH RECURSIVE n (namespace) AS (
		SELECT MIN(namespace) FROM documents
		UNION ALL
		SELECT (SELECT MIN(namespace) FROM documents WHERE namespace > n.namespace)
		FROM n WHERE n.namespace IS NOT NULL)
		SELECT namespace FROM n WHERE namespace < ? ORDER BY namespace`
	rows, err := c.db.read.QueryContext(ctx, query, retrieval.EndOfNames)
	all, err := column[string](rows, err)
	return all, c.db.fail("list namespaces", err)
}

// Snapshot returns the parts of a namespace's index, read in one transaction.
func (c *Corpus) Snapshot(ctx context.Context, namespace string) (retrieval.Snapshot, error) {
	var snap retrieval.Snapshot
	err := c.db.view(ctx, "read snapshot of "+namespace, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT value FROM counters WHERE name = 'version'").
			Scan(&snap.Version)
		if err != nil {
			return err
		}
		if snap.Segments, err = segments(ctx, tx, namespace); err != nil {
			return err
		}
		snap.Current, err = rights(ctx, tx, namespace)
		return err
	})
	return snap, err
}

// rights returns the rights to each revision of a namespace, ascending by revision.
func rights(ctx context.Context, tx *sql.Tx, namespace string) (all []retrieval.Rights, err error) {
	rows, err := tx.QueryContext(ctx,
		"SELECT revision, category, restricted FROM documents WHERE namespace = ? ORDER BY revision", namespace)
	var restricted []int
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var one retrieval.Rights
		var hasAccess bool
		err := r.Scan(&one.Revision, &one.Category, &hasAccess)
		if hasAccess {
			restricted = append(restricted, len(all))
		}
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows, err = tx.QueryContext(ctx, `SELECT a.revision, a.kind, a.value FROM document_access a
		JOIN documents d ON d.revision = a.revision
		WHERE d.namespace = ? AND d.restricted = 1 ORDER BY a.revision, a.kind, a.position`, namespace)
	at := 0
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var revision int64
		var kind int
		var value string
		if err := r.Scan(&revision, &kind, &value); err != nil {
			return err
		}
		for at < len(restricted) && all[restricted[at]].Revision != revision {
			at++
		}
		if at == len(restricted) {
			return errAccess
		}
		d := &all[restricted[at]]
		d.Access = named(d.Access, kind, value)
		return nil
	})
	for _, i := range restricted {
		if err == nil && !all[i].Access.Restricted() {
			err = errAccess // an empty list would let everyone see the document
		}
	}
	return all, err
}

var errAccess = fmt.Errorf("%w access lists", retrieval.ErrDamaged)

// named returns a list that also names a user or group.
func named(l access.List, kind int, value string) access.List {
	switch kind {
	case kindUser:
		l.Users = append(l.Users, value)
	case kindGroup:
		l.Groups = append(l.Groups, value)
	case kindSignedIn:
		l.SignedIn = true
	}
	return l
}

// segments returns the segments of a namespace without their bytes.
func segments(ctx context.Context, tx *sql.Tx, namespace string) ([]retrieval.Segment, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, generation, chunks, revisions FROM segments
		WHERE namespace = ? ORDER BY id`, namespace)
	return scanList(rows, err, func(r *sql.Rows, s *retrieval.Segment) error {
		var revisions sql.RawBytes
		if err := r.Scan(&s.ID, &s.Generation, &s.Chunks, &revisions); err != nil {
			return err
		}
		var err error
		if s.Revisions, err = decodeRevisions(revisions); err != nil {
			s.Generation = "" // the segment is then rebuilt
		}
		return nil
	})
}

// maxSegment is the largest segment in bytes. It limits the allocation that a damaged size can
// cause.
const maxSegment = 1 << 30

var errSegment = fmt.Errorf("%w segment: parts are missing", retrieval.ErrDamaged)

// SegmentData returns the bytes of a segment.
func (c *Corpus) SegmentData(ctx context.Context, id int64) (data []byte, err error) {
	if c.cache != nil {
		return c.cachedSegment(ctx, id)
	}
	return c.storedSegment(ctx, id)
}

// storedSegment reads a segment from the database.
func (c *Corpus) storedSegment(ctx context.Context, id int64) (data []byte, err error) {
	err = c.db.view(ctx, fmt.Sprintf("read segment %d", id), func(tx *sql.Tx) error {
		var size int
		err := tx.QueryRowContext(ctx, "SELECT size FROM segments WHERE id = ?", id).Scan(&size)
		if errors.Is(err, sql.ErrNoRows) {
			return retrieval.ErrNotFound
		}
		if err != nil {
			return err
		}
		data = make([]byte, 0, max(0, min(size, maxSegment)))
		rows, err := tx.QueryContext(ctx,
			"SELECT body FROM segment_parts WHERE segment_id = ? ORDER BY position", id)
		err = scanAll(rows, err, func(r *sql.Rows) error {
			var part sql.RawBytes
			err := r.Scan(&part)
			data = append(data, part...)
			return err
		})
		if err == nil && len(data) != size {
			err = errSegment
		}
		return err
	})
	return data, err
}

// Stats counts the contents of a namespace.
func (c *Corpus) Stats(ctx context.Context, namespace string) (retrieval.Stats, error) {
	return c.stats(ctx, "namespace = ?", namespace)
}

// VisibleStats counts the documents that a filter admits.
func (c *Corpus) VisibleStats(ctx context.Context, f retrieval.Filter) (retrieval.Stats, error) {
	condition, args := visible(f)
	return c.stats(ctx, condition, args...)
}

func (c *Corpus) stats(ctx context.Context, condition string, args ...any) (s retrieval.Stats, err error) {
	err = c.db.read.QueryRowContext(ctx, `SELECT COUNT(*),
		COALESCE(SUM(CASE WHEN pages = 0 THEN 1 ELSE pages END), 0),
		COALESCE(SUM(chunks), 0), COALESCE(SUM(size), 0), COALESCE(SUM(CASE WHEN notes <> '' THEN 1 ELSE 0 END), 0)
		FROM documents WHERE `+condition, args...).
		Scan(&s.Documents, &s.Pages, &s.Chunks, &s.Bytes, &s.Partly)
	return s, c.db.fail("count documents", err)
}

// Roots returns the ingested roots of a namespace in the order in which they were added.
func (c *Corpus) Roots(ctx context.Context, namespace string) (all []retrieval.Root, err error) {
	rows, err := c.db.read.QueryContext(ctx,
		"SELECT path, prefix, source, state FROM roots WHERE namespace = ? ORDER BY position", namespace)
	all, err = scanList(rows, err, func(r *sql.Rows, root *retrieval.Root) error {
		return r.Scan(&root.Path, &root.Prefix, &root.Source, &root.State)
	})
	return all, c.db.fail("list roots", err)
}

// RootNamespaces returns the namespaces that have roots, sorted. Some may hold no documents.
func (c *Corpus) RootNamespaces(ctx context.Context) ([]string, error) {
	rows, err := c.db.read.QueryContext(ctx, "SELECT DISTINCT namespace FROM roots ORDER BY namespace")
	all, err := column[string](rows, err)
	return all, c.db.fail("list the namespaces of roots", err)
}

// SourceRoots returns the roots of all namespaces that have a Source.
func (c *Corpus) SourceRoots(ctx context.Context) (map[string][]retrieval.Root, error) {
	rows, err := c.db.read.QueryContext(ctx, "SELECT namespace, path, prefix, source, state FROM roots WHERE source <> '' ORDER BY namespace, position")
	all := map[string][]retrieval.Root{}
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var namespace string
		var root retrieval.Root
		err := r.Scan(&namespace, &root.Path, &root.Prefix, &root.Source, &root.State)
		all[namespace] = append(all[namespace], root)
		return err
	})
	return all, c.db.fail("list the roots of sources", err)
}

// Files returns the recorded state of the files below a root, sorted by path.
func (c *Corpus) Files(ctx context.Context, namespace, root string) (all []retrieval.File, err error) {
	all, err = c.files(ctx, "namespace = ? AND root = ? ORDER BY path", namespace, root)
	return all, c.db.fail("list files", err)
}

// files returns the rows of files that match a condition.
func (c *Corpus) files(ctx context.Context, condition string, args ...any) ([]retrieval.File, error) {
	rows, err := c.db.read.QueryContext(ctx, `SELECT namespace, root, path, size, mod_time, sha256, document_id,
		put_in, reason, detail, generation, state FROM files WHERE `+condition, args...)
	return scanList(rows, err, func(r *sql.Rows, f *retrieval.File) error {
		var modTime int64
		err := r.Scan(&f.Namespace, &f.Root, &f.Path, &f.Size, &modTime, &f.SHA256, &f.DocumentID,
			&f.PutIn, &f.Reason, &f.Detail, &f.Generation, &f.State)
		f.ModTime = fromNanos(modTime)
		return err
	})
}

// usesBlob reports whether a document's original has that SHA-256.
func (c *Corpus) usesBlob(ctx context.Context, sha string) (bool, error) {
	n, err := c.number(ctx, "SELECT COUNT(*) FROM documents WHERE sha256 = ?", sha)
	return n > 0, c.db.fail("look for users of a blob", err)
}
