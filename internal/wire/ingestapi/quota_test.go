package ingestapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/documents"
)

// wantQuota checks that an upload was refused for a quota, and that nothing of it was stored.
func (s *site) wantQuota(w *httptest.ResponseRecorder, whose string) {
	s.t.Helper()
	if w.Code != http.StatusInsufficientStorage || !strings.Contains(w.Body.String(), "With this upload "+whose) || !strings.HasPrefix(w.Body.String(), `{"error":`) && !strings.HasPrefix(w.Body.String(), `{"detail":`) {
		s.t.Errorf("status %d: %s", w.Code, w.Body)
	}
	for _, path := range s.stored() {
		if strings.Contains(path, "staged") {
			s.t.Errorf("%s is left", path)
		}
	}
}

func (s *site) wantDone(w *httptest.ResponseRecorder) {
	s.t.Helper()
	if j := s.ended(s.decode(w, 200).JobID); j.State != "done" {
		s.t.Errorf("the job ended as %+v", j)
	}
}

func TestUpload_StopsAtTheQuotaOfItsOwner(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, documents.Quota{Owner: 1000}, nil)
	s.who = access.Principal{Subject: "ann"}
	text := func(n int) string { return strings.Repeat("word ", n/5) }
	s.wantDone(s.upload(file{"a.md", text(600)}))
	s.wantQuota(s.upload(file{"b.md", text(405)}), "your uploaded files")
	s.wantQuota(s.upload(file{"b.md", text(300)}, file{"c.md", text(105)}), "your uploaded files")
	s.wantDone(s.upload(file{"b.md", text(400)}))
	s.wantQuota(s.upload(file{"c.md", "x"}), "your uploaded files")
	s.wantDone(s.upload(file{"a.md", text(595) + "other"})) // replaces the first one
	if got := s.uploaded(); got != `["a.md","b.md"]` {
		t.Errorf("there are %s", got)
	}
	list := s.call("GET /list_uploaded", httptest.NewRequest(http.MethodGet, "/", nil))
	if used, limit := list.Header().Get("X-Uploads-Used"), list.Header().Get("X-Uploads-Limit"); used != "1000" || limit != "1000" {
		t.Errorf("%s of %s bytes are used", used, limit)
	}
	s.who = access.Principal{Subject: "bob"} // bob has a quota of his own
	s.wantDone(s.upload(file{"c.md", text(900)}))
	s.who = access.Principal{Subject: "ann"}
	s.decode(s.json("POST /delete_uploaded", `{"filename":"a.md"}`), 200)
	s.wantDone(s.upload(file{"c.md", text(600)}))
}

func TestUpload_StopsAtTheQuotaOfAll(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, documents.Quota{All: 1000, Owner: 800}, nil)
	for _, who := range []string{"ann", "bob"} {
		s.who = access.Principal{Subject: who}
		s.wantDone(s.upload(file{"a.md", strings.Repeat("x", 450)}))
	}
	s.wantQuota(s.upload(file{"b.md", strings.Repeat("x", 101)}), "all uploaded files of this server")
	s.wantQuota(s.json("POST /pdf", pdfBody(strings.Repeat("x", 101), "")), "all uploaded files of this server")
}

// Files that wait for their job count for the quota, whatever the job's state, and can be deleted in
// each state.
func TestUpload_WhatWaitsCountsForTheQuota(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, documents.Quota{Owner: 1000}, nil)
	s.who = access.Principal{Subject: "ann"}
	id := s.decode(s.upload(file{"a.md", "WAIT" + strings.Repeat("x", 796)}), 200).JobID
	over := func() {
		t.Helper()
		if w := s.upload(file{"b.md", strings.Repeat("x", 300)}); w.Code != http.StatusInsufficientStorage {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	}
	over()
	s.decode(s.ofJob("POST /api/jobs/{id}/cancel", id), 200)
	if j := s.ended(id); j.State != "cancelled" {
		t.Fatalf("the job ended as %+v", j)
	}
	over()
	s.decode(s.json("POST /delete_uploaded", `{"filename":"a.md"}`), 200)
	s.wantDone(s.upload(file{"b.md", strings.Repeat("x", 300)}))
	s.decode(s.ofJob("POST /api/jobs/{id}/retry", id), 200)
	if j := s.ended(id); j.State != "cancelled" && j.State != "failed" || len(j.Files) != 1 || j.Files[0].Reason != "deleted" {
		t.Errorf("the job whose file was deleted ended as %+v", j)
	}
}
