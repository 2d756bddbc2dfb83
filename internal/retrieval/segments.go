package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"parley/internal/lexical"
)

// buildSegment returns a segment that covers the documents, which have their revisions.
func buildSegment(puts []Put) Segment {
	revisions := make([]lexical.Revision, len(puts))
	for i, p := range puts {
		revisions[i] = indexed(p.Document, p.Chunks)
	}
	return newSegment(revisions)
}

// newSegment returns a segment that covers the revisions, which must ascend.
func newSegment(revisions []lexical.Revision) Segment {
	s := Segment{Generation: lexical.Generation, Data: lexical.Build(revisions)}
	for _, r := range revisions {
		s.Revisions = append(s.Revisions, r.ID)
		s.Chunks += len(r.Chunks)
	}
	return s
}

// indexed returns the words by which the chunks of a document are found: their text, and the title and the file name of the
// document. Headings are already in the text of the chunk that they open, and so in the windows around it; counting them again
// for every chunk below was measured to be worse.
func indexed(d Document, chunks []Chunk) lexical.Revision {
	base := path.Base(d.Name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	rev := lexical.Revision{ID: d.Revision, Chunks: make([]lexical.Chunk, len(chunks))}
	titles := namesOf(d)
	for i, c := range chunks {
		rev.Chunks[i] = lexical.Chunk{Body: c.Text, Titles: titles, Name: stem, Page: c.PageAt(0)}
	}
	return rev
}

// namesOf returns the file name of a document in words, and its title if that says something else.
func namesOf(d Document) []string {
	base := path.Base(d.Name)
	names := []string{strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(base)}
	if !strings.EqualFold(d.Title, base) && !strings.EqualFold(d.Title, strings.TrimSuffix(base, path.Ext(base))) {
		names = append(names, d.Title)
	}
	return names
}

// The limits of one repairing transaction: whichever is reached first ends it.
const (
	repairChunks    = 8192
	repairDocuments = 2048
)

// repair indexes the missing revisions, which ascend, anew from their stored chunks, and drops broken segments. It calls after
// for each transaction.
func (c *Corpus) repair(ctx context.Context, namespace string, missing, broken []int64, after func(Applied) error) error {
	b := Batch{Namespace: namespace, DropSegments: broken}
	var revisions []lexical.Revision
	chunks := 0
	flush := func() error {
		if len(revisions) > 0 {
			sortRevisions(revisions)
			b.AddSegments = []Segment{newSegment(revisions)}
		}
		done, err := c.store.Apply(ctx, b)
		b, revisions, chunks = Batch{Namespace: namespace}, nil, 0
		if err != nil {
			return err
		}
		return after(done)
	}
	for d, err := range c.documents(ctx, namespace, missing) {
		if err != nil {
			return err
		}
		stored, err := c.store.RevisionChunks(ctx, d.Revision)
		if err != nil {
			return fmt.Errorf("read the chunks of %q: %w", d.Name, err)
		}
		revisions = append(revisions, indexed(d, stored))
		chunks += len(stored)
		if chunks >= repairChunks || len(revisions) >= repairDocuments {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(revisions) == 0 && len(b.DropSegments) == 0 {
		return nil
	}
	return flush()
}

func sortRevisions(revisions []lexical.Revision) {
	slices.SortFunc(revisions, func(x, y lexical.Revision) int { return cmp.Compare(x.ID, y.ID) })
}

// documents ranges over the documents of a namespace with the wanted revisions, which ascend. An
// error is the last item.
func (c *Corpus) documents(ctx context.Context, namespace string, wanted []int64) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		if len(wanted) == 0 {
			return
		}
		for d, err := range c.everyDocument(ctx, namespace) {
			if _, ok := slices.BinarySearch(wanted, d.Revision); (ok || err != nil) && !yield(d, err) {
				return
			}
		}
	}
}

// everyDocument ranges over the documents of a namespace by name. An error is the last item.
func (c *Corpus) everyDocument(ctx context.Context, namespace string) iter.Seq2[Document, error] {
	const page = 1000
	return func(yield func(Document, error) bool) {
		for after, more := "", true; more; {
			all, err := c.store.AllDocuments(ctx, namespace, after, page)
			if err != nil {
				yield(Document{}, fmt.Errorf("list documents: %w", err))
				return
			}
			for _, d := range all {
				after = d.Name
				if !yield(d, nil) {
					return
				}
			}
			more = len(all) == page
		}
	}
}
