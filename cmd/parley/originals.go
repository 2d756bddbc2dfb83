package main

import (
	"context"
	"io"

	"parley/internal/retrieval"
	"parley/internal/server"
	"parley/internal/store"
)

// originals finds the originals of documents for HTTP handlers.
type originals struct{ db *store.DB }

var _ server.Documents = originals{}

// Document returns the named document if the filter admits it.
func (d originals) Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error) {
	return d.db.Corpus().Document(ctx, f, name)
}

// OpenBlob opens the original with that hash. The caller closes it.
func (d originals) OpenBlob(sha256 string) (io.ReadSeekCloser, error) {
	return d.db.Blobs().Open(sha256)
}
