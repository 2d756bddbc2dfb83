package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"parley/internal/retrieval"
)

// Chunks returns the chunks with the given keys and their documents, in the order of keys. It omits
// keys that are deleted or belong to another namespace. Different chunks may come from different
// versions of the corpus. In a large corpus, chunks are read concurrently: they lie scattered over
// a file that the system caches only in part, and a search waits for the slowest read.
func (c *Corpus) Chunks(ctx context.Context, namespace string, keys []retrieval.ChunkKey) (
	[]retrieval.Passage, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	chunks, err := c.db.prepared("SELECT tokens, layout, body FROM chunks WHERE id = ?")
	if err != nil {
		return nil, c.db.fail("read chunks", err)
	}
	documents, err := c.db.prepared("SELECT " + documentColumns + " FROM documents WHERE revision = ? AND namespace = ?")
	if err != nil {
		return nil, c.db.fail("read chunks", err)
	}
	parts := make([][]retrieval.Passage, min(c.sideBySide(), len(keys)))
	group, ctx := errgroup.WithContext(ctx)
	for i := range parts {
		group.Go(func() error {
			part := keys[i*len(keys)/len(parts) : (i+1)*len(keys)/len(parts)]
			return c.db.view(ctx, "read chunks", func(tx *sql.Tx) (err error) {
				parts[i], err = readChunks(ctx, tx, tx.StmtContext(ctx, chunks), tx.StmtContext(ctx, documents), namespace, part)
				return err
			})
		})
	}
	err = group.Wait()
	return slices.Concat(parts...), err
}

// largeFile is the size in bytes above which a system may not keep the whole file in memory.
const largeFile = 256 << 20

// sideBySide returns how many connections read the passages of a search.
func (c *Corpus) sideBySide() int {
	if info, err := os.Stat(c.db.path); err != nil || info.Size() < c.large {
		return 1
	}
	c.widen.Do(func() { c.db.admitReaders(maxReaders) })
	return maxReaders
}

// readChunks is Chunks within one transaction, with the prepared statements for a chunk and a
// document.
func readChunks(ctx context.Context, tx *sql.Tx, chunk, document *sql.Stmt, namespace string, keys []retrieval.ChunkKey) (
	all []retrieval.Passage, err error) {
	documents := map[int64]retrieval.Document{} // a deleted revision has an entry without ID
	for _, key := range keys {
		d, ok := documents[key.Revision]
		if !ok {
			d, err = revision(ctx, tx, document, namespace, key.Revision)
			if err != nil && !errors.Is(err, retrieval.ErrNotFound) {
				return nil, err
			}
			documents[key.Revision] = d
		}
		if d.ID == "" {
			continue
		}
		p := retrieval.Passage{Document: d}
		p.Chunk, err = scanChunk(chunk.QueryRowContext(ctx, chunkID(key)), key)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// revision returns the document whose current revision has that number, or ErrNotFound.
func revision(ctx context.Context, tx *sql.Tx, document *sql.Stmt, namespace string, number int64) (
	retrieval.Document, error) {
	d, restricted, err := scanDocument(document.QueryRowContext(ctx, number, namespace))
	if errors.Is(err, sql.ErrNoRows) {
		err = retrieval.ErrNotFound
	}
	if err == nil && restricted {
		err = readAccess(ctx, tx, []*retrieval.Document{&d})
	}
	return d, err
}

// ordinalBits is the width of the ordinal in a chunk's id.
const ordinalBits = 24

// chunkID returns the id of a chunk's row. The ids of a revision are consecutive, in the order of
// its chunks.
func chunkID(key retrieval.ChunkKey) int64 { return key.Revision<<ordinalBits | int64(key.Ordinal) }

// row is *sql.Row or *sql.Rows.
type row interface{ Scan(dest ...any) error }

// scanChunk reads tokens, layout and body.
func scanChunk(r row, key retrieval.ChunkKey) (retrieval.Chunk, error) {
	chunk := retrieval.Chunk{Key: key}
	var layout []byte
	err := r.Scan(&chunk.Tokens, &layout, &chunk.Text)
	if err != nil {
		return chunk, err
	}
	chunk.Spans, chunk.Headings, err = decodeLayout(layout)
	return chunk, err
}

// RevisionChunks returns all chunks of one revision in order.
func (c *Corpus) RevisionChunks(ctx context.Context, revision int64) (all []retrieval.Chunk, err error) {
	stmt, err := c.db.prepared(
		"SELECT tokens, layout, body, ordinal FROM chunks WHERE id >= ? AND id < ? ORDER BY id")
	if err != nil {
		return nil, c.db.fail("read chunks", err)
	}
	rows, err := stmt.QueryContext(ctx, chunkID(retrieval.ChunkKey{Revision: revision}),
		chunkID(retrieval.ChunkKey{Revision: revision + 1}))
	all, err = scanList(rows, err, func(r *sql.Rows, chunk *retrieval.Chunk) error {
		chunk.Key.Revision = revision
		var layout sql.RawBytes
		err := r.Scan(&chunk.Tokens, &layout, &chunk.Text, &chunk.Key.Ordinal)
		if err != nil {
			return err
		}
		chunk.Spans, chunk.Headings, err = decodeLayout(layout)
		return err
	})
	return all, c.db.fail("read chunks", err)
}

// Pages returns the pages of one revision in order.
func (c *Corpus) Pages(ctx context.Context, revision int64) (all []retrieval.Page, err error) {
	rows, err := c.db.read.QueryContext(ctx,
		"SELECT number, body, char_map FROM pages WHERE revision = ? ORDER BY position", revision)
	all, err = scanList(rows, err, func(r *sql.Rows, p *retrieval.Page) error {
		return r.Scan(&p.Number, &p.Text, &p.Map)
	})
	return all, c.db.fail("read pages", err)
}

const documentColumns = `id, namespace, owner, revision, name, title, url, category, media_type,
	restricted, sha256, size, pages, chunks, generation, notes, indexed_at, attributes`

// scanDocument reads documentColumns. It leaves the access list of a restricted document empty.
func scanDocument(r row) (d retrieval.Document, restricted bool, err error) {
	var indexedAt int64
	var attributes string
	err = r.Scan(&d.ID, &d.Namespace, &d.Owner, &d.Revision, &d.Name, &d.Title, &d.URL, &d.Category,
		&d.MediaType, &restricted, &d.SHA256, &d.Size, &d.Pages, &d.Chunks, &d.Generation, &d.Notes, &indexedAt, &attributes)
	if attributes != "" {
		d.Attributes = json.RawMessage(attributes)
	}
	d.IndexedAt = fromMicros(indexedAt)
	return d, restricted, err
}

// accessBatch is the number of access lists that one query reads.
const accessBatch = 500

// readAccess fills the access lists of restricted documents. A missing list is an error, because
// the file is then damaged.
func readAccess(ctx context.Context, tx *sql.Tx, documents []*retrieval.Document) error {
	for len(documents) > 0 {
		n := min(len(documents), accessBatch)
		byRevision := map[int64]*retrieval.Document{}
		args := make([]any, n)
		for i, d := range documents[:n] {
			byRevision[d.Revision], args[i] = d, d.Revision
		}
		rows, err := tx.QueryContext(ctx, `SELECT revision, kind, value FROM document_access
			WHERE revision IN (`+placeholders(n)+`) ORDER BY revision, kind, position`, args...)
		err = scanAll(rows, err, func(r *sql.Rows) error {
			var revision int64
			var kind int
			var value string
			if err := r.Scan(&revision, &kind, &value); err != nil {
				return err
			}
			d := byRevision[revision]
			if d == nil {
				return fmt.Errorf("read access lists: asked for other revisions than %d", revision)
			}
			d.Access = named(d.Access, kind, value)
			return nil
		})
		if err != nil {
			return err
		}
		for _, d := range documents[:n] {
			if !d.Access.Restricted() { // an error is better than a document that everyone may see
				return fmt.Errorf("read access lists: revision %d is restricted but has no access list", d.Revision)
			}
		}
		documents = documents[n:]
	}
	return nil
}

// placeholders returns n question marks separated by commas.
func placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat("?,", n), ",")
}
