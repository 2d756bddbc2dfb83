package ingestapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/documentstest"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire"
	"parley/internal/wire/ingestapi"
	"parley/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// reader is an Extractor for files that tell how they are read. A file that begins with DAMAGED cannot
// be read, one that begins with WAIT only after the gate opens.
type reader struct {
	gate chan struct{}
	read chan string // receives the name of each file that was read, if there is room
}

func (e *reader) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	data, err := os.ReadFile(r.Path)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte(pdfStart))
	select {
	case e.read <- r.Name:
	default:
	}
	switch {
	case bytes.HasPrefix(data, []byte("DAMAGED")):
		return nil, &extract.Error{Reason: extract.Damaged, Detail: "it is broken"}
	case len(data) == 0:
		return nil, &extract.Error{Reason: extract.Empty, Detail: "the file has no bytes"}
	case bytes.HasPrefix(data, []byte("WAIT")):
		select {
		case <-e.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	text := strings.ToValidUTF8(string(data), "?")
	return &extract.Result{Document: &extract.Document{Format: "text", Title: r.Name,
		Pages: []extract.Page{{Text: text, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(text)}}}}}}, nil
}

// site is a Handler with a data folder. Its jobs run as in the server.
type site struct {
	t        *testing.T
	data     string
	db       *store.DB
	corpus   *retrieval.Corpus
	service  *documents.Service
	http     http.Handler
	closed   bool
	protocol wire.Protocol
	reader   *reader
	who      access.Principal // the caller of the requests
	busy     func() error     // the error of ingestions; nil for none
}

func newSite(t *testing.T, change func(*ingestapi.Config)) *site {
	t.Helper()
	return newSiteWith(t, documents.Quota{}, change)
}

func newSiteWith(t *testing.T, quota documents.Quota, change func(*ingestapi.Config)) *site {
	t.Helper()
	s := &site{t: t, data: t.TempDir(), reader: &reader{gate: make(chan struct{}), read: make(chan string, 100)}}
	var err error
	if s.db, err = store.Open(t.Context(), s.data, nil); err != nil {
		t.Fatal(err)
	}
	if s.corpus, err = retrieval.Open(t.Context(), s.db.Corpus(), nil); err != nil {
		t.Fatal(err)
	}
	s.service = documents.New(documents.Config{
		Data: s.data, Jobs: s.db.Jobs(), Store: s.db.Corpus(), Corpus: s.corpus, Disk: documentstest.Disk{Full: errFull}, Quota: quota,
		Reader: documentstest.Reader{OnRead: s.read, OnSurvey: survey},
	})
	cfg := ingestapi.Config{
		Service: s.service, MaxUpload: 1 << 20, MaxBody: 4 << 10, Wait: patience,
		Cost: func(tokens int) (float64, bool) { return 0, tokens != unpriced },
	}
	if change != nil {
		change(&cfg)
	}
	s.protocol = ingestapi.New(cfg).Protocol()
	s.http = wiretest.MountFor(s.protocol, slog.New(slog.DiscardHandler),
		func(_ *http.Request, right wire.Right) (access.Principal, error) {
			if right == wire.Edit && s.closed {
				return s.who, &chat.Error{Kind: chat.Forbidden}
			}
			who := s.who
			if who.Subject != "" {
				who.Role = cmp.Or(who.Role, access.Editor) // as the gate admits them for Edit
			}
			return who, nil
		})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.service.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if err := s.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var errFull = errors.New("no space left on device")

// read ingests uploads. For a site, the address tells what the reading does.
func (s *site) read(ctx context.Context, w documents.Work) (ingest.Report, error) {
	if len(w.Sites) > 0 {
		url := w.Sites[0].URL
		switch {
		case strings.Contains(url, "gone"):
			w.Outcome(ingest.Outcome{Path: url, First: true, Reason: extract.Unreadable, Detail: "the server answered with 404"})
		case strings.Contains(url, "broken"):
			return ingest.Report{}, errors.New("secret")
		default:
			w.Outcome(ingest.Outcome{Path: url, First: true, DocumentID: "d", Chunks: 3, Tokens: 70})
		}
		return ingest.Report{}, nil
	}
	if s.busy != nil {
		if err := s.busy(); err != nil {
			return ingest.Report{}, err
		}
	}
	c := ingest.Config{
		Corpus: s.corpus, Store: s.db.Corpus(), Blobs: s.db.Blobs(), Extractor: s.reader, Workers: 2,
		Namespace: w.Namespace, Owner: w.Owner, DataDir: s.data, Uploads: w.Uploads, Outcome: w.Outcome,
		Supports: func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".bin") },
	}
	if w.Owner != "" {
		c.Access = access.List{Users: []string{w.Owner}}
	}
	return ingest.New(c).Run(ctx, []string{w.Uploads}, nil)
}

func survey(_ context.Context, w documents.Work) (documents.Estimate, error) {
	if len(w.Sites) > 0 {
		return documents.Estimate{Documents: 1, Chunks: 3, Tokens: 70, ToEmbed: unpriced}, nil
	}
	data, err := os.ReadFile(w.Path)
	data = bytes.TrimPrefix(data, []byte(pdfStart))
	if bytes.HasPrefix(data, []byte("DAMAGED")) {
		return documents.Estimate{Refused: []ingest.FileResult{
			{Path: w.Path, Reason: extract.Damaged, Detail: "it is broken"}, {Path: w.Path + "/in.bin", Reason: extract.Unsupported},
		}}, nil
	}
	return documents.Estimate{Documents: 1, Chunks: 1, Tokens: len(data)}, err
}

// unpriced is a number of tokens whose price is unknown.
const unpriced = 1_000_000

// call sends a request to a route. A request without a path gets the route's method and path.
func (s *site) call(route string, r *http.Request) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(route, " ")
	if r.Method = method; r.URL.Path == "/" {
		r.URL.Path = path
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	return w
}

// file is a part of an upload.
type file struct{ name, content string }

func form(files ...file) (contentType string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range files {
		part, err := w.CreateFormFile("file", f.name)
		if err == nil {
			_, err = io.WriteString(part, f.content)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func (s *site) upload(files ...file) *httptest.ResponseRecorder {
	contentType, body := form(files...)
	return s.post("POST /upload", contentType, body)
}

func (s *site) post(route string, contentType string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return s.call(route, r)
}

func (s *site) json(route string, body string) *httptest.ResponseRecorder {
	return s.post(route, "application/json", []byte(body))
}

// ofJob calls a route of a job.
func (s *site) ofJob(route string, id string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return s.call(strings.Replace(route, "{id}", id, 1), r)
}

// body has the members of jobs and other replies.
type body struct {
	ID            string `json:"id"`
	JobID         string `json:"job_id"`
	State         string
	Message       string
	Error         any
	FilesTotal    int `json:"files_total"`
	FilesDone     int `json:"files_done"`
	Indexed       int
	Unchanged     int
	Skipped       int
	Failed        int
	ChunksIndexed int `json:"chunks_indexed"`
	ChunksPlanned int `json:"chunks_planned"`
	Tokens        int `json:"tokens_used"`
	Files         []struct{ Name, State, Reason, Detail string }
	Errors        []struct{ URL, Reason, Error string }
}

func (s *site) decode(w *httptest.ResponseRecorder, status int) body {
	s.t.Helper()
	if w.Code != status {
		s.t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	var b body
	if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
		s.t.Fatalf("%v: %s", err, w.Body)
	}
	return b
}

// ended follows the events of a job to its end, and returns the last one.
func (s *site) ended(id string) body {
	s.t.Helper()
	events := s.events(id)
	return events[len(events)-1]
}

func (s *site) events(id string) (all []body) {
	s.t.Helper()
	w := s.ofJob("GET /api/jobs/{id}/events", id)
	for _, event := range strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		data, id, last := strings.Cut(strings.TrimPrefix(event, "data: "), "\nid: ")
		var b body
		if strings.HasPrefix(event, ":") {
			continue
		}
		if err := json.Unmarshal([]byte(data), &b); err != nil || last && id != "1" {
			s.t.Fatalf("the event %q: %v", event, err)
		}
		all = append(all, b)
	}
	return all
}

// uploaded returns the list of uploaded files.
func (s *site) uploaded() string {
	s.t.Helper()
	w := s.call("GET /list_uploaded", httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusOK {
		s.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return strings.TrimSpace(w.Body.String())
}

// found reports whether a caller finds a document, both by name and by a search for its content.
func (s *site) found(who access.Principal, name string) bool {
	s.t.Helper()
	_, err := s.db.Corpus().Document(s.t.Context(), retrieval.Filter{Principal: who, Namespace: "default"}, name)
	if err != nil && !errors.Is(err, retrieval.ErrNotFound) {
		s.t.Fatal(err)
	}
	return err == nil
}

// stored returns the files below the folder of uploads.
func (s *site) stored() (paths []string) {
	s.t.Helper()
	_ = filepath.WalkDir(filepath.Join(s.data, "uploads"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, filepath.Base(path))
		}
		return nil
	})
	return paths
}
