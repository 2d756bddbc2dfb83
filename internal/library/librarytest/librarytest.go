// Package librarytest has a library with all that is below it, on a data folder of a test.
package librarytest

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/documents/documentstest"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// Reader extracts text. A form feed begins a page; a file that begins with DAMAGED cannot be read.
type Reader struct{}

// Extract reads a text file.
func (Reader) Extract(_ context.Context, r extract.Request) (*extract.Result, error) {
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

// Site is a library. Only Settle and Work run its jobs.
type Site struct {
	testing.TB
	DB      *store.DB
	Corpus  *retrieval.Corpus
	Service *documents.Service
	Library *library.Library
	Data    string
	At      time.Time // what the clock of the library says
}

// New returns a library whose clock stands still until At changes. newID makes the ids.
func New(t testing.TB, quota documents.Quota, newID func() string) *Site {
	t.Helper()
	s := &Site{TB: t, Data: t.TempDir(), At: time.Unix(1706301586, 0)}
	var err error
	if s.DB, err = store.Open(t.Context(), s.Data, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.DB.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.Corpus, err = retrieval.Open(t.Context(), s.DB.Corpus(), nil); err != nil {
		t.Fatal(err)
	}
	s.Service = documents.New(documents.Config{
		Data: s.Data, Jobs: s.DB.Jobs(), Store: s.DB.Corpus(), Corpus: s.Corpus, Disk: documentstest.Disk{}, Quota: quota,
		Reader: documentstest.Reader{OnRead: s.read},
	})
	s.Library = library.New(library.Config{
		Items: s.DB.Shelf(), Documents: s.Service, NewID: newID,
		Now: func() time.Time { return s.At },
	})
	return s
}

func (s *Site) read(ctx context.Context, w documents.Work) (ingest.Report, error) {
	c := ingest.Config{
		Corpus: s.Corpus, Store: s.DB.Corpus(), Blobs: s.DB.Blobs(), Extractor: Reader{}, Workers: 1,
		Namespace: w.Namespace, Owner: w.Owner, DataDir: s.Data, Uploads: w.Uploads, Outcome: w.Outcome,
		Supports: func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".bin") },
	}
	if w.Owner != "" {
		c.Access = access.List{Users: []string{w.Owner}}
	}
	return ingest.New(c).Run(ctx, []string{w.Uploads}, nil)
}

// Work runs jobs until the end of the test.
func (s *Site) Work() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Service.Run(ctx)
	}()
	s.Cleanup(func() {
		cancel()
		<-done
	})
}

// Settle runs the waiting jobs.
func (s *Site) Settle() {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Service.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	all, err := s.DB.Jobs().Unfinished(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, j := range all {
		for now, err := range s.Service.Jobs().Watch(s.Context(), j.Owner, j.ID, time.Minute) {
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

// Searcher searches the corpus of the library.
func (s *Site) Searcher() library.Searcher {
	return library.Searcher{Corpus: s.Corpus, Library: s.Library, Documents: s.DB.Corpus()}
}
