package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// partSize is the size in bytes of a stored part of a segment. Reading a segment needs memory for
// about three parts beside the segment.
const partSize = 256 << 10

// Values of document_access.kind.
const (
	kindUser     = 0
	kindGroup    = 1
	kindSignedIn = 2 // its value is ""
)

// Apply commits a batch in one durable transaction. Deletions precede additions in all namespaces,
// so a batch may reuse the name of a document that it deletes.
func (c *Corpus) Apply(ctx context.Context, b retrieval.Batch) (retrieval.Applied, error) {
	parts := append([]retrieval.Batch{b}, b.Others...)
	done := make([]retrieval.Applied, len(parts))
	err := c.db.update(ctx, "apply batch to "+b.Namespace, func(tx *sql.Tx) (err error) {
		of := func(part retrieval.Batch) applier {
			return applier{ctx: context.WithoutCancel(ctx), tx: tx, namespace: part.Namespace}
		}
		for i, part := range parts {
			done[i] = retrieval.Applied{}
			if done[i].Gone, err = of(part).deleteAll(part); err != nil {
				return err
			}
		}
		for i, part := range parts {
			if done[i].Segments, err = of(part).putAll(ctx, part); err != nil {
				return err
			}
			if len(part.Put) > 0 {
				if done[i].Ruled, err = of(part).applyRules(part.Put); err != nil {
					return fmt.Errorf("apply rules: %w", err)
				}
			}
		}
		version, err := advance(of(b).ctx, tx, "version", 1)
		for i := range done {
			done[i].Before, done[i].Version = version-1, version
		}
		return err
	})
	if err != nil {
		return retrieval.Applied{}, err
	}
	if len(done) > 1 {
		done[0].Others = done[1:]
	}
	return done[0], nil
}

// putAll inserts the batch's additions to its namespace, and returns the ids of the segments.
func (a applier) putAll(ctx context.Context, b retrieval.Batch) (segments []int64, err error) {
	if err := a.putDocuments(ctx, b.Put); err != nil {
		return nil, err
	}
	if err := a.putAccess(b.PutAccess); err != nil {
		return nil, fmt.Errorf("put the rights of %d documents: %w", len(b.PutAccess), err)
	}
	if segments, err = a.addSegments(b.AddSegments); err != nil {
		return nil, err
	}
	if err := a.putRoots(b); err != nil {
		return nil, err
	}
	return segments, a.putFiles(b.PutFiles)
}

// applier carries out a batch. Its context does not end: the driver starts a goroutine for each
// statement whose context can end, which would halve the speed of an ingestion. Apply checks its
// own context between documents and before the commit.
type applier struct {
	ctx       context.Context
	tx        *sql.Tx
	namespace string
}

// deleteAll removes the documents that the batch deletes or replaces, and the segments that it
// drops. It returns the removed revisions.
func (a applier) deleteAll(b retrieval.Batch) (gone []int64, err error) {
	for _, id := range b.DropSegments {
		n, err := a.exec("DELETE FROM segments WHERE id = ? AND namespace = ?", id, a.namespace)
		if err != nil {
			return nil, fmt.Errorf("drop segment %d: %w", id, err)
		}
		if n == 0 {
			return nil, fmt.Errorf("drop segment %d: %w", id, retrieval.ErrConflict)
		}
	}
	for _, id := range b.Delete {
		if err := a.dropRuleOf(id); err != nil {
			return nil, err
		}
	}
	ids := slices.Clone(b.Delete)
	for _, p := range b.Put {
		ids = append(ids, p.Document.ID)
	}
	for _, id := range ids {
		// Pages, chunks and access list are deleted with the row.
		rows, err := a.tx.QueryContext(a.ctx,
			"DELETE FROM documents WHERE id = ? AND namespace = ? RETURNING revision", id, a.namespace)
		revisions, err := column[int64](rows, err)
		if err != nil {
			return nil, fmt.Errorf("delete document %s: %w", id, err)
		}
		gone = append(gone, revisions...)
	}
	return gone, a.dropOrigins(b)
}

func (a applier) dropOrigins(b retrieval.Batch) error {
	for _, path := range b.DropRoots {
		if _, err := a.exec("DELETE FROM roots WHERE namespace = ? AND path = ?", a.namespace, path); err != nil {
			return fmt.Errorf("drop root: %w", err)
		}
		if _, err := a.exec("DELETE FROM files WHERE namespace = ? AND root = ?", a.namespace, path); err != nil {
			return fmt.Errorf("drop files of a root: %w", err)
		}
	}
	for _, f := range b.DropFiles {
		_, err := a.exec("DELETE FROM files WHERE namespace = ? AND root = ? AND path = ?",
			a.namespace, f.Root, f.Path)
		if err != nil {
			return fmt.Errorf("drop file: %w", err)
		}
	}
	return nil
}

// exec runs a statement and returns how many rows it changed.
func (a applier) exec(query string, args ...any) (int64, error) {
	r, err := a.tx.ExecContext(a.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// putDocuments inserts documents whose former revisions are already deleted.
func (a applier) putDocuments(ctx context.Context, puts []retrieval.Put) error {
	if len(puts) == 0 {
		return nil
	}
	var reserved int64
	err := a.tx.QueryRowContext(a.ctx, "SELECT value FROM counters WHERE name = 'revision'").Scan(&reserved)
	if err != nil {
		return fmt.Errorf("read revisions: %w", err)
	}
	in, err := a.prepareInserts()
	if err != nil {
		return err
	}
	defer in.close()
	for _, p := range puts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.Document.Revision < 1 || p.Document.Revision > reserved {
			return fmt.Errorf("put document %q: revision %d was not reserved", p.Document.Name, p.Document.Revision)
		}
		if err := in.put(a, p); err != nil {
			return fmt.Errorf("put document %q: %w", p.Document.Name, err)
		}
	}
	return nil
}

// inserts are prepared statements for bulk insertion.
type inserts struct {
	document, access, page, chunk *sql.Stmt
}

func (a applier) prepareInserts() (in inserts, err error) {
	for _, s := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&in.document, `INSERT INTO documents (id, namespace, owner, revision, name, title, url, category,
			media_type, restricted, sha256, size, pages, chunks, generation, notes, indexed_at, attributes)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&in.access, `INSERT INTO document_access (revision, kind, value, position)
			VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&in.page, "INSERT INTO pages (revision, position, number, body, char_map) VALUES (?, ?, ?, ?, ?)"},
		{&in.chunk, "INSERT INTO chunks (id, tokens, layout, body) VALUES (?, ?, ?, ?)"},
	} {
		if *s.stmt, err = a.tx.PrepareContext(a.ctx, s.query); err != nil {
			in.close()
			return in, fmt.Errorf("prepare insertion: %w", err)
		}
	}
	return in, nil
}

func (in inserts) close() {
	for _, s := range []*sql.Stmt{in.document, in.access, in.page, in.chunk} {
		if s != nil {
			s.Close()
		}
	}
}

func (in inserts) put(a applier, p retrieval.Put) error {
	d := p.Document
	_, err := in.document.ExecContext(a.ctx, d.ID, a.namespace, d.Owner, d.Revision, d.Name, d.Title, d.URL,
		d.Category, d.MediaType, flag(d.Access.Restricted()), d.SHA256, d.Size, d.Pages, len(p.Chunks),
		d.Generation, d.Notes, micros(d.IndexedAt), string(d.Attributes))
	if isUnique(err) {
		return fmt.Errorf("its name, id or revision is taken: %w", err)
	}
	if err != nil {
		return err
	}
	if err := in.putAccess(a, d.Revision, d.Access); err != nil {
		return err
	}
	for i, page := range p.Pages {
		if _, err := in.page.ExecContext(a.ctx, d.Revision, i, page.Number, page.Text, nullBytes(page.Map)); err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
	}
	for _, chunk := range p.Chunks {
		if chunk.Key.Revision != d.Revision {
			return fmt.Errorf("chunk %d belongs to revision %d, not %d", chunk.Key.Ordinal, chunk.Key.Revision, d.Revision)
		}
		if chunk.Key.Ordinal < 0 || chunk.Key.Ordinal >= 1<<ordinalBits {
			return fmt.Errorf("chunk %d: a document has up to %d chunks", chunk.Key.Ordinal, 1<<ordinalBits)
		}
		_, err := in.chunk.ExecContext(a.ctx, chunkID(chunk.Key), chunk.Tokens,
			encodeLayout(chunk.Spans, chunk.Headings), chunk.Text)
		if err != nil {
			return fmt.Errorf("chunk %d: %w", chunk.Key.Ordinal, err)
		}
	}
	return nil
}

func (in inserts) putAccess(a applier, revision int64, l access.List) error {
	return eachName(l, func(kind int, value string, position int) error {
		if _, err := in.access.ExecContext(a.ctx, revision, kind, value, position); err != nil {
			return fmt.Errorf("access list: %w", err)
		}
		return nil
	})
}

// eachName calls f with the rows of an access list, and returns its first error.
func eachName(l access.List, f func(kind int, value string, position int) error) error {
	kinds := [][]string{kindUser: l.Users, kindGroup: l.Groups, kindSignedIn: nil}
	if l.SignedIn {
		kinds[kindSignedIn] = []string{""}
	}
	for kind, values := range kinds {
		for i, v := range values {
			if err := f(kind, v, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSegments inserts segments and returns their new ids.
func (a applier) addSegments(segments []retrieval.Segment) (ids []int64, err error) {
	if len(segments) == 0 {
		return nil, nil
	}
	last, err := advance(a.ctx, a.tx, "segment", len(segments))
	if err != nil {
		return nil, fmt.Errorf("number segments: %w", err)
	}
	for i, s := range segments {
		id := last - int64(len(segments)) + 1 + int64(i)
		_, err := a.exec(`INSERT INTO segments (id, namespace, generation, chunks, size, revisions)
			VALUES (?, ?, ?, ?, ?, ?)`,
			id, a.namespace, s.Generation, s.Chunks, len(s.Data), encodeRevisions(s.Revisions))
		if err != nil {
			return nil, fmt.Errorf("add segment: %w", err)
		}
		position := 0
		for part := range slices.Chunk(s.Data, partSize) {
			_, err := a.exec("INSERT INTO segment_parts (segment_id, position, body) VALUES (?, ?, ?)",
				id, position, part)
			if err != nil {
				return nil, fmt.Errorf("add part of segment: %w", err)
			}
			position++
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (a applier) putRoots(b retrieval.Batch) error {
	for _, r := range b.PutRoots {
		_, err := a.exec(`INSERT INTO roots (namespace, path, prefix, source, position)
			VALUES (?, ?, ?, ?, (SELECT COALESCE(MAX(position), 0) + 1 FROM roots WHERE namespace = ?))
			ON CONFLICT (namespace, path) DO UPDATE SET prefix = excluded.prefix, source = excluded.source`,
			a.namespace, r.Path, r.Prefix, r.Source, a.namespace)
		if err != nil {
			return fmt.Errorf("put root: %w", err)
		}
	}
	for _, r := range b.PutStates {
		if _, err := a.exec("UPDATE roots SET state = ? WHERE namespace = ? AND path = ?", r.State, a.namespace, r.Path); err != nil {
			return fmt.Errorf("put the state of a root: %w", err)
		}
	}
	return nil
}

func (a applier) putFiles(files []retrieval.File) error {
	if len(files) == 0 {
		return nil
	}
	stmt, err := a.tx.PrepareContext(a.ctx, `INSERT INTO files (namespace, root, path, size, mod_time,
		sha256, document_id, put_in, reason, detail, generation, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (namespace, root, path) DO UPDATE SET size = excluded.size,
		mod_time = excluded.mod_time, sha256 = excluded.sha256, document_id = excluded.document_id,
		put_in = excluded.put_in, reason = excluded.reason, detail = excluded.detail, generation = excluded.generation,
		state = excluded.state`)
	if err != nil {
		return fmt.Errorf("prepare files: %w", err)
	}
	defer stmt.Close()
	for _, f := range files {
		_, err := stmt.ExecContext(a.ctx, a.namespace, f.Root, f.Path, f.Size, nanos(f.ModTime),
			f.SHA256, f.DocumentID, f.PutIn, f.Reason, f.Detail, f.Generation, f.State)
		if err != nil {
			return fmt.Errorf("put file: %w", err)
		}
	}
	return nil
}

// nullBytes returns nil, which is stored as NULL, for a nil slice only.
func nullBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// nanos keeps the full precision of the file system's time, so that a later stat compares equal.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// fromNanos is the inverse of nanos.
func fromNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
