package library

import (
	"context"
	"encoding/json"
	"errors"

	"parley/internal/attribute"
	"parley/internal/retrieval"
	"parley/internal/shelf"
)

// Searcher searches a corpus. In a vector store, conditions apply to the attributes of its files, which replace the
// documents' own attributes.
type Searcher struct {
	*retrieval.Corpus
	Library   *Library
	Documents interface {
		EachDocument(ctx context.Context, namespace string, revisions []int64, f func(retrieval.Document)) error
	}
}

// Search is Corpus.Search. A store of somebody else has no passages.
func (s Searcher) Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error) {
	if q.Where == nil || !IsStore(q.Namespace) {
		return s.Corpus.Search(ctx, q)
	}
	store, err := s.Library.Store(ctx, q.Principal.Subject, q.Namespace)
	if errors.Is(err, ErrNotFound) {
		return retrieval.Result{Mode: retrieval.Text}, nil
	}
	if err != nil {
		return retrieval.Result{}, err
	}
	within, err := s.meeting(ctx, store, q.Where)
	if err != nil {
		return retrieval.Result{}, err
	}
	q.Where, q.Within = nil, q.Within.Both(within)
	return s.Corpus.Search(ctx, q)
}

// meeting returns the documents of a store that meet a condition.
func (s Searcher) meeting(ctx context.Context, store Store, where *attribute.Condition) (*retrieval.Revisions, error) {
	members, err := s.Library.every(ctx, store, shelf.List{})
	if err != nil {
		return nil, err
	}
	revisions, err := s.Library.cfg.Documents.UploadRevisions(ctx, store.scope())
	if err != nil {
		return nil, err
	}
	attributes := map[int64]json.RawMessage{}
	for _, m := range members {
		for _, r := range revisions[m.Name] {
			attributes[r] = m.Attributes
		}
	}
	var documents []retrieval.Document
	err = s.Documents.EachDocument(ctx, store.ID, nil, func(d retrieval.Document) { documents = append(documents, d) })
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, d := range documents {
		d.Attributes = attributes[d.Revision]
		if where.Holds(d.AllAttributes().Prepared()) {
			ids = append(ids, d.Revision)
		}
	}
	return retrieval.NewRevisions(ids), nil
}
