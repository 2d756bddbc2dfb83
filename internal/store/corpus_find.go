package store

import (
	"context"

	"parley/internal/retrieval"
)

// maxAt is how many documents with one address are returned.
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
	return c.documents(ctx, condition+" AND url IN ("+placeholders(len(urls))+")", args, maxAt)
}

// FilesOf returns the rows of the files that produced a document, in whichever namespace the rows
// are.
func (c *Corpus) FilesOf(ctx context.Context, namespace, documentID string) ([]retrieval.File, error) {
	all, err := c.files(ctx, `document_id = ? AND document_id <> '' AND
		CASE put_in WHEN '' THEN namespace ELSE put_in END = ? ORDER BY namespace, root, path`, documentID, namespace)
	return all, c.db.fail("read files", err)
}
