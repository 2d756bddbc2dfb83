package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"parley/internal/documents/crawl"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// The limits of one batch. It is committed when it reaches one of them.
const (
	maxBatchDocuments = 64
	maxBatchText      = 4 << 20 // bytes
	maxBatchAge       = 500 * time.Millisecond
)

// index reads the pending files with several workers and commits the results. Only Run's own goroutine
// writes. Both channels are bounded, so that no more texts are in memory than those of the workers and
// of one batch.
func (r *run) index(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	return r.work(ctx, min(r.cfg.Workers, len(r.pending)), func(_ context.Context, read func(*candidate) bool, _ func(result) bool) {
		for _, c := range r.pending {
			if !read(c) {
				return
			}
		}
	})
}

// producer finds files. It passes each file to read, or its result to done. When either returns false,
// it stops.
type producer func(ctx context.Context, read func(*candidate) bool, done func(result) bool)

// work reads the files of a producer with several workers and commits the results.
func (r *run) work(ctx context.Context, workers int, produce producer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := r.startWorkers(ctx, workers, produce)
	err := r.write(ctx, results)
	cancel()
	for range results { // wait for the workers to end
	}
	return err
}

// startWorkers reads the files of a producer. The returned channel is closed when everything has been
// read, or soon after ctx has ended.
func (r *run) startWorkers(ctx context.Context, n int, produce producer) <-chan result {
	jobs, results := make(chan *candidate), make(chan result)
	send := func(res result) bool {
		select {
		case results <- res:
			return res.error == nil
		case <-ctx.Done():
			return false
		}
	}
	give := func(c *candidate) bool {
		select {
		case jobs <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var workers sync.WaitGroup
	workers.Go(func() {
		defer close(jobs)
		produce(ctx, give, send)
	})
	for range n {
		workers.Go(func() {
			for c := range jobs {
				r.meter.reading(c.display())
				if !r.take(ctx, c, send) {
					return
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()
	return results
}

// write commits results in batches until there are no more.
func (r *run) write(ctx context.Context, results <-chan result) error {
	w := writer{run: r}
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			r.meter.tell()
			if len(w.results) > 0 && time.Since(w.oldest) >= maxBatchAge {
				if err := w.flush(ctx); err != nil {
					return err
				}
			}
		case res, ok := <-results:
			if !ok {
				if err := ctx.Err(); err != nil {
					return err
				}
				return w.flush(ctx)
			}
			if res.error != nil {
				return r.abort(ctx, &w, res.error)
			}
			if w.add(res); w.full() {
				if err := w.flush(ctx); err != nil {
					return err
				}
			}
		}
	}
}

// abort commits the results so far after an error that ends the run.
func (r *run) abort(ctx context.Context, w *writer, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if flushErr := w.flush(ctx); flushErr != nil {
		r.cfg.Logger.Warn("commit the last batch", "error", flushErr)
	}
	return err
}

// writer collects results for the next batch.
type writer struct {
	run     *run
	results []result
	text    int       // bytes of their pages
	oldest  time.Time // when the first one arrived
}

func (w *writer) add(res result) {
	if len(w.results) == 0 {
		w.oldest = time.Now()
	}
	w.results = append(w.results, res)
	if res.put != nil {
		for _, p := range res.put.Pages {
			w.text += len(p.Text)
		}
	}
}

func (w *writer) full() bool {
	return len(w.results) >= maxBatchDocuments || w.text >= maxBatchText
}

// flush commits the collected results in one batch, and then counts them.
func (w *writer) flush(ctx context.Context) error {
	if len(w.results) == 0 {
		return nil
	}
	b, documents := retrieval.Batch{Namespace: w.run.cfg.Namespace}, 0
	drop := func(f retrieval.File) {
		if f.DocumentID != "" {
			in := b.In(f.In())
			in.Delete = append(in.Delete, f.DocumentID)
		}
	}
	for _, res := range w.results {
		if res.leave {
			continue
		}
		if res.gone {
			b.DropFiles = append(b.DropFiles, res.file.FileKey)
			drop(res.file)
			continue
		}
		b.PutFiles = append(b.PutFiles, res.file)
		if res.put != nil {
			in := b.In(res.namespace)
			in.Put = append(in.Put, *res.put)
			documents++
		}
		if known := res.from.known; !res.same && known.DocumentID != res.file.DocumentID {
			drop(known.File)
		}
	}
	if len(b.PutFiles)+len(b.DropFiles) > 0 {
		if err := w.run.cfg.Corpus.Apply(ctx, b); err != nil {
			return fmt.Errorf("commit %d documents: %w", documents, err)
		}
	}
	for _, res := range w.results {
		w.run.count(res)
	}
	w.results, w.text = nil, 0
	return nil
}

// count enters a committed result in the report.
func (r *run) count(res result) {
	if res.file.Reason == string(siteFile) {
		return
	}
	r.tally(res)
	if res.gone {
		return
	}
	if res.waiting != nil && !res.leave {
		r.report.Waiting++
		r.cfg.Recognition.Waiting(*res.waiting)
	}
	pages, chunks := 0, 0
	if res.put != nil {
		pages, chunks = max(res.put.Document.Pages, 1), len(res.put.Chunks)
	}
	r.report.Pages += pages
	r.report.Chunks += chunks
	r.meter.done(r.effort(res.from), pages, chunks)
}

// tally counts a result by its outcome.
func (r *run) tally(res result) {
	known := res.from.known
	if res.gone {
		if res.file.DocumentID != "" {
			r.report.Deleted++
		}
		return
	}
	r.report.noteFormat(res)
	if res.file.PutIn != "" {
		r.report.noteElsewhere(res.file.PutIn, 1)
	}
	r.tellOutcome(res)
	if res.partly() {
		r.report.Partly = append(r.report.Partly, FileResult{Path: res.from.display(), Detail: res.file.Detail, Known: res.same})
	}
	switch {
	case res.file.Reason == string(crawl.IsDuplicate):
		r.report.Duplicates++
		if !res.same && known.DocumentID != "" {
			r.report.Deleted++
		}
	case res.waiting != nil && res.file.Reason != "": // it has not failed yet: see Report.Waiting
		if !res.same && !res.leave && known.DocumentID != "" {
			r.report.Deleted++
		}
	case res.file.Reason != "":
		r.fail(FileResult{
			Path: res.from.display(), Reason: extract.Reason(res.file.Reason), Detail: res.file.Detail, Known: res.same, Named: res.first,
		})
		if !res.same && !res.leave && known.DocumentID != "" {
			r.report.Deleted++
		}
	case res.put == nil && res.file.DocumentID == "": // the files inside it are the documents
		if !res.same && known.DocumentID != "" {
			r.report.Deleted++
		}
	case res.same:
		r.report.Unchanged++
	case known.DocumentID != "":
		r.report.Updated++
	default:
		r.report.Indexed++
	}
}
