package filesapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/documents/documentstest"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader extracts text. A form feed begins a page; a file that begins with DAMAGED cannot be read.
type reader struct{}

func (reader) Extract(_ context.Context, r extract.Request) (*extract.Result, error) {
	data, err := os.ReadFile(r.Path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("DAMAGED")) {
		return nil, &extract.Error{Reason: extract.Damaged, Detail: "it is broken"}
	}
	doc := &extract.Document{Format: "text", Title: r.Name}
	pages := strings.Split(string(data), "\f")
	for i, text := range pages {
		p := extract.Page{Text: text, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(text)}}}
		if len(pages) > 1 {
			p.Number = i + 1
		}
		doc.Pages = append(doc.Pages, p)
	}
	return &extract.Result{Document: doc}, nil
}

// site is a Handler with a data folder. Only settle runs its jobs.
type site struct {
	*testing.T
	db       *store.DB
	corpus   *retrieval.Corpus
	service  *documents.Service
	library  *library.Library
	protocol wire.Protocol
	http     http.Handler
	data     string
}

func newSite(t *testing.T, quota documents.Quota) *site {
	t.Helper()
	s := &site{T: t, data: t.TempDir()}
	var err error
	if s.db, err = store.Open(t.Context(), s.data, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.db.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.corpus, err = retrieval.Open(t.Context(), s.db.Corpus(), nil); err != nil {
		t.Fatal(err)
	}
	s.service = documents.New(documents.Config{
		Data: s.data, Jobs: s.db.Jobs(), Store: s.db.Corpus(), Corpus: s.corpus, Disk: documentstest.Disk{}, Quota: quota,
		Reader: documentstest.Reader{OnRead: s.read},
	})
	s.library = library.New(library.Config{
		Items: s.db.Shelf(), Documents: s.service, NewID: wiretest.IDs(),
		Now: func() time.Time { return time.Unix(1706301586, 0) },
	})
	s.protocol = filesapi.New(filesapi.Config{
		Library: s.library,
		Search:  s.corpus.Search, MaxUpload: 1 << 16,
	}).Protocol()
	s.http = wiretest.Mount(s.protocol, slog.New(slog.DiscardHandler))
	return s
}

func (s *site) read(ctx context.Context, w documents.Work) (ingest.Report, error) {
	c := ingest.Config{
		Corpus: s.corpus, Store: s.db.Corpus(), Blobs: s.db.Blobs(), Extractor: reader{}, Workers: 1,
		Namespace: w.Namespace, Owner: w.Owner, DataDir: s.data, Uploads: w.Uploads, Outcome: w.Outcome,
		Supports: func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".bin") },
	}
	if w.Owner != "" {
		c.Access = access.List{Users: []string{w.Owner}}
	}
	return ingest.New(c).Run(ctx, []string{w.Uploads}, nil)
}

// settle runs the waiting jobs.
func (s *site) settle() {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.service.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	all, err := s.db.Jobs().Unfinished(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, j := range all {
		for now, err := range s.service.Jobs().Watch(s.Context(), j.Owner, j.ID, time.Minute) {
			if err != nil {
				s.Fatal(err)
			}
			j = now
		}
		if !j.State.Final() {
			s.Fatalf("a job is %s", j.State)
		}
	}
}

// send makes a request and returns the reply. A body of JSON gets the content type of JSON.
func (s *site) send(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}
