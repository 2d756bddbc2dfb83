package store

import (
	"context"
	"database/sql"

	"parley/internal/retrieval"
)

// maxAt bounds how many documents may have the same address.
const maxAt = 1000

// DocumentsAt returns the documents with one of these addresses that the filter lets through, sorted
// by name.
func (c *Corpus) DocumentsAt(ctx context.Context, f retrieval.Filter, urls []string) ([]retrieval.Document, error) {
	if len(urls) == 0 {
		return nil, nil
	}
	condition, args := visible(f)
	for _, u := range urls {
		args = append(args, u)
	}
	return c.documents(ctx, condition+" AND url IN ("+placeholders(len(urls))+")", args, maxAt)
}

// FilesOf returns the rows of the files that gave a document.
func (c *Corpus) FilesOf(ctx context.Context, namespace, documentID string) (all []retrieval.File, err error) {
	rows, err := c.db.read.QueryContext(ctx, `SELECT root, path, size, mod_time, sha256, document_id, reason, detail,
		generation, state FROM files WHERE namespace = ? AND document_id = ? ORDER BY root, path`, namespace, documentID)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var f retrieval.File
		var modTime int64
		err := r.Scan(&f.Root, &f.Path, &f.Size, &modTime, &f.SHA256, &f.DocumentID, &f.Reason, &f.Detail, &f.Generation, &f.State)
		f.ModTime = fromNanos(modTime)
		all = append(all, f)
		return err
	})
	return all, c.db.fail("read files", err)
}
