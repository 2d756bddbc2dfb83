package store

import (
	"context"

	"parley/internal/retrieval"
)

// maxAt is the maximum number of documents with one address that are returned.
const maxAt = 1000

// DocumentsAt returns the documents with one of these addresses that the filter admits, sorted by
// name.
func (c *Corpus) DocumentsAt(ctx context.Context, f retrieval.Filter, urls []string) ([]retrieval.Document, error) {
	if len(urls) == 0 {
		return nil, nil
	}
	condition, args := visible(f)
	for _, u := range urls {
		args = append(args, u)
	}
	return c.documents(ctx, condition+" AND url IN ("+placeholders(len(urls))+")", args, byName, maxAt)
}

// FileRevisions returns the revisions of the documents that the files below a root have in its namespace, by the
// path of each file.
func (c *Corpus) FileRevisions(ctx context.Context, namespace, root string) (map[string]int64, error) {
	rows, err := c.db.read.QueryContext(ctx, `SELECT f.path, d.revision FROM files f
		JOIN documents d ON d.namespace = f.namespace AND d.id = f.document_id WHERE f.namespace = ? AND f.root = ?`, namespace, root)
	all, err := pairs[string, int64](rows, err)
	return all, c.db.fail("read the revisions of files", err)
}

// FilesOf returns the rows of the files that produced a document, in whichever namespace the rows
// are.
func (c *Corpus) FilesOf(ctx context.Context, namespace, documentID string) ([]retrieval.File, error) {
	all, err := c.files(ctx, `document_id = ? AND document_id <> '' AND
		CASE put_in WHEN '' THEN namespace ELSE put_in END = ? ORDER BY namespace, root, path`, documentID, namespace)
	return all, c.db.fail("read files", err)
}
