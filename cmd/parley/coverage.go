package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// coverage tells users which documents there are, and which are still missing. Its fields except the corpus are set
// before the first turn.
type coverage struct {
	corpus    *store.Corpus
	namespace string // namespace of questions that name none
	log       *slog.Logger

	progress func(namespace string) (done, total int, running bool)   // nil if nothing is being read
	waiting  func(ctx context.Context, namespace string) (int, error) // files whose text is still to be recognised; nil if there are none
	uploads  bool                                                     // documents may come in over the network
}

var _ chat.Coverage = (*coverage)(nil)

// Reading implements chat.Coverage.
func (c *coverage) Reading(namespace string) string {
	if c.progress == nil {
		return ""
	}
	done, total, running := c.progress(namespace)
	switch {
	case !running:
		return ""
	case total == 0:
		return "Documents are still being read, and the answer may be in one of them. Please ask again in a moment."
	}
	return fmt.Sprintf("Documents are still being read (%d of %d so far), and the answer may be in one of them. Please ask again in a moment.",
		done, total)
}

// Empty implements chat.Coverage. The sentence leaves out the name of the namespace, because it
// comes from the user.
func (c *coverage) Empty(ctx context.Context, namespace string) string {
	all, err := c.corpus.Namespaces(ctx)
	if err != nil {
		c.log.ErrorContext(ctx, "list the namespaces", "error", err)
		return ""
	}
	if c.waiting != nil && !slices.Contains(all, namespace) {
		if n, err := c.waiting(ctx, namespace); err == nil && n > 0 {
			return "The text on the pages of " + plural(n, "scanned document") + " is still being recognised. Please ask again later."
		}
	}
	switch {
	case slices.Contains(all, namespace):
		return ""
	case namespace != c.namespace:
		return "There are no documents in the namespace that was asked. Please check its name; " +
			"parley ingest PATH --namespace NAME, on the server's machine, adds documents to one."
	case len(all) > 0:
		return "There are no documents in the namespace that answers come from by default, but there are in others. " +
			"Please name one of those with the question; with --namespace NAME the server answers from it by default."
	case c.uploads:
		return "There are no documents yet. Add some on the server's web page, " +
			"or with parley ingest PATH on its machine."
	}
	return "There are no documents yet. To add some, run parley ingest PATH on the server's machine, " +
		"or start it with parley serve PATH."
}

// Documents implements chat.Coverage.
func (c *coverage) Documents(ctx context.Context, f retrieval.Filter, limit int) (names []string, total int) {
	all, total, err := c.corpus.FindDocuments(ctx, f, "", "", limit)
	if err != nil {
		c.log.ErrorContext(ctx, "list the documents", "error", err)
		return nil, 0
	}
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names, total
}

// reading returns the progress of reading documents into a namespace: of the ingestion at the
// server's start, which may add to any namespace, or else of the running jobs.
func (s *serving) reading(namespace string) (done, total int, running bool) {
	s.mu.Lock()
	running, done, total = s.running, s.progress.FilesDone, s.progress.FilesTotal
	s.mu.Unlock()
	if running {
		return done, total, true
	}
	for _, j := range s.documents.Jobs().Running() {
		if j.Namespace == namespace && j.Kind != documents.Reindex { // a rebuilt document stays searchable meanwhile
			done, total, running = done+j.Counts.Done, total+j.Counts.Total, true
		}
	}
	return done, total, running
}
