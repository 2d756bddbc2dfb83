package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// Aside is a corpus in which documents can be rebuilt beside those that searches see.
type Aside interface {
	Corpus
	SwitchAside(ctx context.Context, namespace, generation string) (switched int, err error)
}

// RebuildReport is the result of a Rebuild.
type RebuildReport struct {
	Switched int          // documents that were rebuilt
	Resumed  int          // of them, those that an earlier Rebuild had made before it was cut short
	Pages    int          // of the others; a document without pages counts as one
	Chunks   int          // of the others
	Kept     []FileResult // documents that stay as they are, by name, because they could not be read
	Duration time.Duration
}

// Rebuild makes all documents again from their stored originals, with the same metadata, while searches see
// the old ones, and then switches to the new ones in one transaction. It does not read the files. A Rebuild that
// is cut short changes nothing visible, and the next one continues where it stopped. A document that can no
// longer be read stays as it is.
//
// Progress, which may be nil, is called from Rebuild's goroutine; the files that it counts are
// documents.
func (in *Ingester) Rebuild(ctx context.Context, aside Aside, progress func(Progress)) (report RebuildReport, err error) {
	_, err = in.locked("", func(spools string) (Report, error) {
		r := &rebuild{run: newRun(in.cfg, progress, time.Now(), spools), aside: aside}
		r.sites.store = in.cfg.Store
		began := time.Now()
		err := r.all(ctx)
		r.report.Duration = time.Since(began)
		report = r.report
		return Report{}, err
	})
	return report, err
}

// rebuild is the state of one Rebuild. It reads files like a run.
type rebuild struct {
	*run
	aside  Aside
	report RebuildReport
	sites  siteOptions
}

func (r *rebuild) all(ctx context.Context) error {
	r.meter.phase(Scanning)
	pending, err := r.pending(ctx)
	if err != nil {
		return err
	}
	r.meter.phase(Indexing)
	if err := r.makeAll(ctx, pending); err != nil {
		return err
	}
	if r.report.Switched, err = r.aside.SwitchAside(ctx, r.cfg.Namespace, r.cfg.generation); err != nil {
		return fmt.Errorf("switch to the new documents: %w", err)
	}
	slices.SortFunc(r.report.Kept, func(a, b FileResult) int { return cmp.Compare(a.Path, b.Path) })
	r.meter.finish()
	return nil
}

// pending returns the documents to rebuild, and removes documents that an earlier Rebuild made if their
// originals have changed since.
func (r *rebuild) pending(ctx context.Context) ([]retrieval.Document, error) {
	made, err := r.documents(ctx, retrieval.Aside(r.cfg.Namespace))
	if err != nil {
		return nil, err
	}
	current, err := r.documents(ctx, r.cfg.Namespace)
	if err != nil {
		return nil, err
	}
	done := make(map[string]bool, len(made))
	for _, d := range made {
		done[d.ID] = d.Generation == r.cfg.generation
	}
	var pending []retrieval.Document
	for _, d := range current {
		if id := retrieval.AsideID(d); done[id] {
			delete(done, id)
			r.report.Resumed++
			continue
		}
		pending = append(pending, d)
		r.meter.toRead(d.Size)
	}
	r.meter.add(func(p *Progress) {
		p.FilesTotal, p.FilesDone, p.Unchanged = len(current), r.report.Resumed, r.report.Resumed
	})
	b := retrieval.Batch{Namespace: retrieval.Aside(r.cfg.Namespace)}
	for id := range done {
		b.Delete = append(b.Delete, id)
	}
	if len(b.Delete) == 0 {
		return pending, nil
	}
	if err := r.aside.Apply(ctx, b); err != nil {
		return nil, fmt.Errorf("remove %d documents that an earlier run made: %w", len(b.Delete), err)
	}
	return pending, nil
}

// documents returns all documents of a namespace.
func (r *rebuild) documents(ctx context.Context, namespace string) (all []retrieval.Document, err error) {
	const limit = 1000
	for after := ""; ; after = all[len(all)-1].Name {
		page, err := r.cfg.Store.AllDocuments(ctx, namespace, after, limit)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all, nil
		}
	}
}

// remade is a rebuilt document, or the reason why it could not be rebuilt.
type remade struct {
	of    retrieval.Document
	put   retrieval.Put
	kept  *extract.Error // why the document stays as it is
	error error          // ends the run
}

// makeAll rebuilds documents with several workers, and commits them aside in batches.
func (r *rebuild) makeAll(ctx context.Context, pending []retrieval.Document) error {
	ctx, cancel := context.WithCancel(ctx)
	jobs, results := make(chan retrieval.Document), make(chan remade)
	var workers sync.WaitGroup
	workers.Go(func() {
		defer close(jobs)
		for _, d := range pending {
			select {
			case jobs <- d:
			case <-ctx.Done():
				return
			}
		}
	})
	for range min(r.cfg.Workers, len(pending)) {
		workers.Go(func() {
			for d := range jobs {
				r.meter.reading(d.Name)
				select {
				case results <- r.remake(ctx, d):
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()
	err := r.commitAll(ctx, results)
	cancel()
	for range results { // wait for the workers to end
	}
	return err
}

func (r *rebuild) commitAll(ctx context.Context, results <-chan remade) error {
	b := retrieval.Batch{Namespace: retrieval.Aside(r.cfg.Namespace)}
	text := 0
	flush := func() error {
		if len(b.Put) == 0 {
			return nil
		}
		if err := r.aside.Apply(ctx, b); err != nil {
			return fmt.Errorf("commit %d documents: %w", len(b.Put), err)
		}
		b.Put, text = nil, 0
		return nil
	}
	for m := range results {
		switch {
		case m.error != nil:
			return m.error
		case m.kept != nil:
			r.report.Kept = append(r.report.Kept, FileResult{Path: m.of.Name, Reason: m.kept.Reason, Detail: m.kept.Detail})
			r.meter.fail()
			r.meter.done(m.of.Size, 0, 0)
		default:
			b.Put = append(b.Put, m.put)
			for _, p := range m.put.Pages {
				text += len(p.Text)
			}
			pages := max(m.put.Document.Pages, 1)
			r.report.Pages += pages
			r.report.Chunks += len(m.put.Chunks)
			r.meter.done(m.of.Size, pages, len(m.put.Chunks))
		}
		r.meter.tell()
		if len(b.Put) >= maxBatchDocuments || text >= maxBatchText {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return flush()
}
