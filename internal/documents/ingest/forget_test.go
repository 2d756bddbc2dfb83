package ingest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/internal/documents/ingest"
	"parley/internal/retrieval"
)

func TestForget_RemovesAPageForGood(t *testing.T) {
	s := newSite(t)
	s.page("/", "Start", prose, "/a")
	s.page("/a", "A", prose+"a", "/b")
	s.page("/b", "B", prose+"b")
	all := ingest.Site{URL: "/", Depth: 2}
	s.crawl(all)
	if n, err := s.in.Forget(t.Context(), strings.TrimPrefix(s.base, "http://")+"/a#x"); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	s.wantNames("", "b")
	s.take()
	s.wantRun(s.crawl(all), 0, 0, 2, 0)
	if asked, _ := s.take(); slices.Contains(asked, "/a") || slices.Contains(asked, "/a if changed") {
		t.Errorf("asked for what was removed: %q", asked)
	}
	s.wantNames("", "b")
	s.wantRun(s.crawl(ingest.Site{URL: "/a"}), 1, 0, 0, 0)
	s.wantNames("", "a", "b")
	s.forget("/", 1)
	s.wantNames("a", "b")
	again, err := s.in.Sites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.in.RunSites(t.Context(), again, nil); err != nil {
		t.Fatal(err)
	}
	s.wantNames("a", "b") // nobody has asked for the first page
	s.wantRun(s.crawl(all), 1, 0, 2, 0)
	s.forget("/", 1)
	s.forget("/a", 1)
	s.forget("/b", 1)
	s.wantNames()
	if known, err := s.in.Sites(t.Context()); len(known) != 0 || err != nil { // the site goes with its last page
		t.Errorf("sites %+v, %v", known, err)
	}
	for _, url := range []string{s.base, "https://example.com/", "::", ""} {
		if _, err := s.in.Forget(t.Context(), url); !errors.Is(err, retrieval.ErrNotFound) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// forget deletes the page at a path, and expects that it had so many documents.
func (s *site) forget(path string, documents int) {
	s.t.Helper()
	if n, err := s.in.Forget(s.t.Context(), s.base+path); n != documents || err != nil {
		s.t.Fatalf("forget %s: %d, %v", path, n, err)
	}
}

func TestForget_WorksWhileASiteIsRead(t *testing.T) {
	s := newSite(t)
	s.page("/", "Start", prose, "/a", "/b")
	s.page("/a", "A", prose+"a")
	s.page("/b", "B", prose+"b")
	all := ingest.Site{URL: "/", Depth: 1}
	s.crawl(all)
	var n int
	var err error
	s.onGet = func(path string) {
		if path == "/b" {
			n, err = s.in.Forget(t.Context(), s.base+"/a")
		}
	}
	s.crawl(all)
	if n != 1 || !errors.As(err, new(*ingest.LockedError)) {
		t.Errorf("while the site is read: %d, %v", n, err)
	}
	s.onGet = nil
	s.wantNames("", "b")
	if n, err := s.in.Forget(t.Context(), s.base+"/a"); n != 0 || !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("once more: %d, %v", n, err)
	}
}
