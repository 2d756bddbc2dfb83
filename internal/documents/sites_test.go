package documents

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/store"
)

// patience limits the time that a test waits for something that must happen.
const patience = time.Minute

// fakeReader is a Reader made of functions.
type fakeReader struct {
	Reader // nil: the tests need no other method
	read   func(context.Context, Work) (ingest.Report, error)
	forget func(ctx context.Context, namespace, url string) (int, error)
}

func (r *fakeReader) Read(ctx context.Context, w Work) (ingest.Report, error) { return r.read(ctx, w) }

func (r *fakeReader) Forget(ctx context.Context, namespace, url string) (int, error) {
	return r.forget(ctx, namespace, url)
}

// bench runs a Service on a data folder, and can restart it as if the server had been stopped.
type bench struct {
	*testing.T
	cfg     Config
	reader  *fakeReader
	service *Service
	stop    func()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	data := t.TempDir()
	db, err := store.Open(t.Context(), data, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &fakeReader{}
	b := &bench{T: t, stop: func() {}, reader: r, cfg: Config{
		Reader: r,
		Data:   data, Jobs: db.Jobs(), Store: db.Corpus(), Disk: db,
	}}
	t.Cleanup(func() {
		b.stop()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// start stops the running server, if any, and starts another one.
func (b *bench) start() {
	b.stop()
	b.service = New(b.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.service.Run(ctx)
	}()
	b.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// ended returns a job once it has ended.
func (b *bench) ended(id string) job.Job {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	var last job.Job
	for j, err := range b.service.Jobs().Watch(ctx, "", id, time.Second) {
		if err != nil {
			b.Fatal(err)
		}
		last = j
	}
	if !last.State.Final() {
		b.Fatalf("the job has not ended: %+v", last)
	}
	return last
}

// The start of a site, and its pages.
const first, pageA, pageB = "https://example.com/", "https://example.com/a", "https://example.com/b"

func (b *bench) add() job.Job {
	b.Helper()
	j, err := b.service.AddSites(b.Context(), upload.Scope{Namespace: "default"}, Index, []ingest.Site{{URL: first, Depth: 1}}, false)
	if err != nil {
		b.Fatal(err)
	}
	return j
}

func states(j job.Job) map[string]job.FileState {
	all := map[string]job.FileState{}
	for _, f := range j.Files {
		all[f.Name] = f.State
	}
	return all
}

func TestReadSites_ASiteThatWasCutShortIsWalkedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	told, runs := make(chan struct{}), 0
	b.reader.read = func(ctx context.Context, c Work) (ingest.Report, error) {
		runs++
		c.Outcome(ingest.Outcome{Path: first, First: true, DocumentID: "1", Unchanged: runs > 1})
		c.Outcome(ingest.Outcome{Path: pageA, DocumentID: "2", Unchanged: runs > 1})
		if runs == 1 {
			close(told)
			<-ctx.Done()
			return ingest.Report{}, ctx.Err()
		}
		c.Outcome(ingest.Outcome{Path: pageB, DocumentID: "3"})
		return ingest.Report{}, nil
	}
	b.start()
	j := b.add()
	<-told
	b.start()
	j = b.ended(j.ID)
	want := map[string]job.FileState{first: job.FileUnchanged, pageA: job.FileIndexed, pageB: job.FileIndexed}
	if diff := cmp.Diff(want, states(j)); diff != "" || len(j.Files) != 3 || j.State != job.Done || runs != 2 {
		t.Errorf("after %d runs the job is %s, with %d files (-want +got):\n%s", runs, j.State, len(j.Files), diff)
	}
}

func TestReadSites_ARetryReadsThePagesThatFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runs := 0
	b.reader.read = func(_ context.Context, c Work) (ingest.Report, error) {
		runs++
		c.Outcome(ingest.Outcome{Path: first, First: true, DocumentID: "1", Unchanged: runs > 1})
		switch runs {
		case 1:
			c.Outcome(ingest.Outcome{Path: pageA, Reason: "status"})
			c.Outcome(ingest.Outcome{Path: pageB, Reason: "status"})
		case 2:
			c.Outcome(ingest.Outcome{Path: pageA, DocumentID: "2"})
		case 3:
			c.Outcome(ingest.Outcome{Path: pageB, Reason: extract.Empty})
		}
		return ingest.Report{}, nil
	}
	b.start()
	j := b.ended(b.add().ID)
	for _, want := range []map[string]job.FileState{
		{first: job.FileIndexed, pageA: job.FileFailed, pageB: job.FileFailed},
		{first: job.FileIndexed, pageA: job.FileIndexed, pageB: job.FileSkipped}, // no page links to it
		{first: job.FileIndexed, pageA: job.FileIndexed, pageB: job.FileSkipped},
	} {
		if diff := cmp.Diff(want, states(j)); diff != "" || j.State != job.Partial {
			t.Errorf("run %d: the job is %s (-want +got):\n%s", runs, j.State, diff)
		}
		if runs == 3 {
			break
		}
		if _, err := b.service.Jobs().Retry(t.Context(), "", j.ID); err != nil {
			t.Fatal(err)
		}
		j = b.ended(j.ID)
	}
	if runs != 3 {
		t.Errorf("%d runs", runs)
	}
}

func TestForget_IsDoneAgainAfterTheRunThatWasAtWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	errs := []error{errors.Join(&ingest.LockedError{}, errors.New("no such document")), nil}
	calls := make(chan page, len(errs)+1)
	b.reader.forget = func(_ context.Context, namespace, url string) (int, error) {
		calls <- page{namespace, url}
		err := errs[0]
		errs = slices.Delete(errs, 0, 1)
		return 1, err
	}
	b.start()
	b.service.forgotten.add(page{"hr", pageA})
	for range 2 {
		select {
		case p := <-calls:
			if p != (page{"hr", pageA}) {
				t.Errorf("forgotten was %v", p)
			}
		case <-time.After(patience):
			t.Fatal("it was not forgotten once more")
		}
	}
}

// A page may be deleted during a run and then added again. It must not be deleted after that run.
func TestForget_IsNotDoneAgainWhereThePageIsWantedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.reader.forget = func(context.Context, string, string) (int, error) { return 0, &ingest.LockedError{} }
	b.start()
	at := upload.Scope{Namespace: "hr"}
	b.service.forgotten.add(page{"hr", pageA})
	b.service.forgotten.add(page{"other", pageA})
	if _, err := b.service.AddSites(t.Context(), at, Index, []ingest.Site{{URL: pageA}}, false); err != nil {
		t.Fatal(err)
	}
	if all := b.service.forgotten.all(); slices.Contains(all, page{"hr", pageA}) || !slices.Contains(all, page{"other", pageA}) {
		t.Errorf("to be deleted again: %v", all)
	}
}
