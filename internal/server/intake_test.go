package server

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/documentstest"
	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/job/jobtest"
	"parley/internal/documents/source"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/ingestapi"
)

// storedURL is the address of the only document in the tests' intake.
const storedURL = "https://example.com/handbook"

// The existing jobs: one has ended, under the id that all stored things have, and one is waiting.
const waitingJob = "01JCHAT0000000000000000002"

// quickJobs is a job.Store in which new jobs are done at once.
type quickJobs struct{ jobtest.Memory }

func (q *quickJobs) Add(ctx context.Context, j job.Job) error {
	for i := range j.Files {
		j.Files[i].State = job.FileIndexed
	}
	j.Count()
	j.State, j.EndedAt = job.Done, j.CreatedAt
	return q.Memory.Add(ctx, j)
}

// shelf is the corpus of the tests' intake.
type shelf struct{ documents.Store }

func (shelf) Document(context.Context, retrieval.Filter, string) (retrieval.Document, error) {
	return retrieval.Document{}, retrieval.ErrNotFound
}

func (shelf) DocumentsAt(_ context.Context, _ retrieval.Filter, urls []string) ([]retrieval.Document, error) {
	if urls[0] != storedURL {
		return nil, nil
	}
	return []retrieval.Document{{ID: "d", Namespace: "default", URL: storedURL}}, nil
}

func (shelf) FilesOf(context.Context, string, string) ([]retrieval.File, error) {
	return []retrieval.File{{FileKey: retrieval.FileKey{Root: "/docs", Path: "handbook.html"}, DocumentID: "d"}}, nil
}

func (shelf) Files(_ context.Context, _, root string) ([]retrieval.File, error) {
	return []retrieval.File{{FileKey: retrieval.FileKey{Root: root, Path: "travel.md"}, DocumentID: "t"}}, nil
}

func (shelf) Roots(context.Context, string) ([]retrieval.Root, error) {
	return []retrieval.Root{{Path: "git+https://git.example.com/handbook.git"}}, nil
}

// listing is a remote source with one object.
type listing struct{ source.Source }

func (listing) Objects(context.Context) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) { yield(source.Object{Path: "travel.md", Size: 4000}, nil) }
}

func (listing) Close() error { return nil }

type sink struct{ ingest.Aside }

func (sink) Apply(context.Context, retrieval.Batch) error { return nil }

func intakeOf(t testing.TB) wire.Protocol {
	t.Helper()
	jobs := &quickJobs{}
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, j := range []job.Job{
		{ID: stored, Kind: documents.Upload, State: job.Failed, Error: "It failed.", EndedAt: at,
			Files: []job.File{{Name: "a.pdf", State: job.FileFailed, Reason: "damaged", Detail: "It is."}}},
		{ID: waitingJob, Kind: documents.Upload, State: job.Queued},
	} {
		j.Namespace, j.CreatedAt, j.QueuedAt = "default", at, at
		j.Count()
		if err := jobs.Memory.Add(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	service := documents.New(documents.Config{
		Data: t.TempDir(), Jobs: jobs, Store: shelf{}, Corpus: sink{}, Disk: documentstest.Disk{},
		Open: func(context.Context, source.Address, source.Options) (source.Source, error) { return listing{}, nil },
		Reader: documentstest.Reader{OnSurvey: func(context.Context, documents.Work) (documents.Estimate, error) {
			return documents.Estimate{Documents: 1, Chunks: 3, Tokens: 500}, nil
		}},
	})
	cost := func(tokens int) (float64, bool) { return .01, true }
	return ingestapi.New(ingestapi.Config{Service: service, Cost: cost}).Protocol()
}

func isIntake(path string) bool {
	for _, prefix := range []string{"/upload", "/delete_uploaded", "/index", "/pdf", "/mediawiki/", "/api/jobs", "/api/sources"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func TestIntake_ErrorsHaveTheShapeOfTheirFamily(t *testing.T) {
	s := newServer(t, options{closed: true})
	for path, errorIn := range map[string]func(*testing.T, []byte) string{
		"/upload":                 func(t *testing.T, b []byte) string { return errorOf(t, b) },
		"/delete_uploaded":        func(t *testing.T, b []byte) string { return errorOf(t, b) },
		"/api/jobs/x/cancel":      func(t *testing.T, b []byte) string { return errorOf(t, b) },
		"/index":                  detailOf,
		"/index/":                 detailOf,
		"/pdf":                    detailOf,
		"/mediawiki/url":          detailOf,
		"/delete/https://x.y/z?q": detailOf,
	} {
		method := http.MethodPost
		if strings.HasPrefix(path, "/delete/") {
			method = http.MethodDelete
		}
		w := do(s, method, path, "{}")
		if got := errorIn(t, w.Body.Bytes()); w.Code != http.StatusForbidden || !strings.Contains(got, "uploads.enabled") {
			t.Errorf("%s %s: status %d, %q", method, path, w.Code, got)
		}
	}
}

func TestIntake_OtherPagesMayNotChangeAnything(t *testing.T) {
	s := newServer(t, options{})
	for _, path := range []string{"/upload", "/delete_uploaded", "/index", "/pdf", "/mediawiki/url", "/api/jobs/" + waitingJob + "/cancel"} {
		w := do(s, http.MethodPost, path, "{}", "Origin", "https://evil.example", "Content-Type", "text/plain")
		if w.Code != http.StatusForbidden {
			t.Errorf("POST %s from another site: status %d", path, w.Code)
		}
	}
}

func TestIntake_AnAddressInThePathIsTakenAsItIs(t *testing.T) {
	s := newServer(t, options{})
	for target, want := range map[string]int{
		"/delete/https://example.com/handbook":         200,
		"/delete/https%3A%2F%2Fexample.com%2Fhandbook": 200,
		"/delete/https:/example.com/handbook":          200, // as proxies write it that clean paths
		"/delete/https://example.com/handbook?page=2":  404,
		"/delete/https://example.com/a/../handbook":    404,
		"/delete/": 400,
		"/delete/https%3A%2F%2Fexample.com%2F?namespace=%00": 400,
	} {
		if w := do(s, http.MethodDelete, target, ""); w.Code != want {
			t.Errorf("DELETE %s: status %d, want %d: %s", target, w.Code, want, w.Body)
		}
	}
}
