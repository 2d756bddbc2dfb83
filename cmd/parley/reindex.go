package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"parley/internal/documents/ingest"
)

// reindexCmd rebuilds all documents.
type reindexCmd struct{}

// Run rebuilds every document of the namespace from its stored original while searches use the old
// version, and then switches to the new ones at once. It returns errPartial if some could not be
// read.
func (c reindexCmd) Run(ctx context.Context, p *program) error {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	d := newDisplay(p.stderr, time.Now)
	p.log = newLogger(d, p.config.LogLevel)
	in, err := p.open(ctx, withBuiltin(p.config))
	if err != nil {
		return err
	}
	defer in.Close()
	if err := p.announceReindex(ctx, in); err != nil {
		return err
	}
	report, err := in.documents.Rebuild(ctx, d.Update)
	d.Finish()
	if err != nil {
		return interrupted(err)
	}
	writeRebuild(p, report)
	if err := p.embedNow(ctx, in, p.stdout, d); err != nil {
		return interrupted(err)
	}
	if len(report.Kept) > 0 {
		return errPartial
	}
	return nil
}

// announceReindex prints what will be done and how much space it needs.
func (p *program) announceReindex(ctx context.Context, in *instance) error {
	stats, err := in.db.Corpus().Stats(ctx, in.cfg.Namespace)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(in.cfg.Data, "corpus.db*"))
	if err != nil {
		return fmt.Errorf("look for the database of documents: %w", err)
	}
	size := int64(0)
	for _, f := range files {
		if st, err := os.Stat(f); err == nil { // its log may disappear
			size += st.Size()
		}
	}
	fmt.Fprintf(p.stdout, "Rebuilding %s (%s) while the old ones are searched. Until the old ones are removed, the database "+
		"needs up to twice its %d MiB; the space is reused later.\n",
		plural(stats.Documents, "document"), plural(stats.Chunks, "chunk"), max(size>>20, 1))
	return nil
}

func writeRebuild(p *program, r ingest.RebuildReport) {
	fmt.Fprintf(p.stdout, "Switched to %s rebuilt (%s, %s) in %v", plural(r.Switched, "document"),
		plural(r.Pages, "page"), plural(r.Chunks, "chunk"), rounded(r.Duration))
	if r.Resumed > 0 {
		fmt.Fprintf(p.stdout, "; %d of them by an earlier run", r.Resumed)
	}
	fmt.Fprintln(p.stdout, ".")
	writeResults(p.stdout, "Kept as they are", r.Kept)
}
