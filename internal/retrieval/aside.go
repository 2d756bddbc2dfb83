package retrieval

import (
	"context"
	"fmt"
	"strconv"

	"parley/internal/lexical"
)

// asideMark begins the names of namespaces that no search sees and Namespaces does not list. It
// sorts after every name that people give.
const asideMark = "\U0010FFFF"

// Aside returns the name of the namespace in which documents of another one are rebuilt, while searches still
// see the old ones. Documents are put there under their AsideID, and SwitchAside moves them to their places.
func Aside(namespace string) string { return asideMark + "new/" + namespace }

// Replaced returns the name of the namespace that holds the replaced documents until Store.SweepReplaced
// removes them.
func Replaced(namespace string) string { return asideMark + "old/" + namespace }

// EndOfNames is a name that sorts after those of all namespaces but these.
const EndOfNames = asideMark

// AsideID is the id under which the document is rebuilt. It includes the revision, so that a document that has
// changed meanwhile is not replaced.
func AsideID(d Document) string { return strconv.FormatInt(d.Revision, 10) + "/" + d.ID }

// Switch replaces documents with their rebuilt versions.
type Switch struct {
	Namespace   string
	Generation  string    // the new Generation of these documents' files; a part after + in their old one stays
	AddSegments []Segment // that cover the documents that are not replaced
}

// SwitchAside replaces the documents of a namespace with their rebuilt versions, all in one transaction, and
// returns how many it replaced. Documents that were not rebuilt, or have changed since, stay as they are.
func (c *Corpus) SwitchAside(ctx context.Context, namespace, generation string) (switched int, err error) {
	c.write.Lock()
	defer c.write.Unlock()
	defer c.use(namespace)()
	s := Switch{Namespace: namespace, Generation: generation}
	if s.AddSegments, err = c.keptSegments(ctx, namespace); err != nil {
		return 0, err
	}
	done, switched, err := c.store.SwitchAside(ctx, s)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.drop(c.spaces[Aside(namespace)])
	c.mu.Unlock()
	sp := c.space(namespace)
	c.skip(map[*space]bool{sp: true}, done)
	sp.load.Lock()
	_, err = c.reload(ctx, namespace, sp)
	sp.load.Unlock()
	if err != nil {
		return switched, fmt.Errorf("load the new index: %w", err)
	}
	if c.embedding == nil {
		return switched, nil
	}
	return switched, c.refreshVectors(ctx, namespace, true)
}

// keptSegments returns segments that cover the documents of a namespace that were not made anew.
func (c *Corpus) keptSegments(ctx context.Context, namespace string) (all []Segment, err error) {
	anew := make(map[string]bool)
	for d, err := range c.everyDocument(ctx, Aside(namespace)) {
		if err != nil {
			return nil, err
		}
		anew[d.ID] = true
	}
	var revisions []lexical.Revision
	chunks := 0
	flush := func() {
		sortRevisions(revisions)
		all = append(all, newSegment(revisions))
		revisions, chunks = nil, 0
	}
	for d, err := range c.everyDocument(ctx, namespace) {
		if err != nil {
			return nil, err
		}
		if anew[AsideID(d)] {
			continue
		}
		stored, err := c.store.RevisionChunks(ctx, d.Revision)
		if err != nil {
			return nil, fmt.Errorf("read the chunks of %q: %w", d.Name, err)
		}
		revisions = append(revisions, indexed(d, stored))
		if chunks += len(stored); chunks >= repairChunks {
			flush()
		}
	}
	if len(revisions) > 0 {
		flush()
	}
	return all, nil
}
