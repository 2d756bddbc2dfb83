package ingestapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"parley/internal/access"
	"parley/internal/documents/ingest"
	"parley/internal/retrieval"
)

func TestUpload_EveryFileGetsItsStateAndReason(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	accepted := s.decode(s.upload(
		file{"travel.md", "Book early."}, file{"old.pdf", "DAMAGED"}, file{"empty.txt", ""}, file{"x.bin", "\x00\x01"}), 200)
	if accepted.JobID == "" || accepted.Message == "" {
		t.Fatalf("the answer is %+v", accepted)
	}
	j := s.ended(accepted.JobID)
	if j.State != "partial" || j.FilesTotal != 4 || j.FilesDone != 4 || j.Indexed != 1 || j.Failed != 1 || j.Skipped != 2 {
		t.Errorf("the job ended as %+v", j)
	}
	var got []string
	for _, f := range j.Files {
		got = append(got, strings.TrimSpace(fmt.Sprint(f.Name, " ", f.State, " ", f.Reason)))
	}
	if want := []string{"travel.md indexed", "old.pdf failed damaged", "empty.txt skipped empty", "x.bin skipped unsupported"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	if got, want := s.uploaded(), `["empty.txt","old.pdf","travel.md","x.bin"]`; got != want {
		t.Errorf("uploaded are %s, want %s", got, want)
	}
	if !s.found(access.Anonymous, "travel.md") {
		t.Error("the file that was indexed is not found by its name")
	}
	var read body
	if err := json.Unmarshal(s.ofJob("GET /api/jobs/{id}", j.ID).Body.Bytes(), &read); err != nil || read.State != "partial" || len(read.Files) != 4 {
		t.Errorf("GET gives %+v, %v", read, err)
	}
}

func TestUpload_TheSameFileAgainCostsNothingAndAnotherOneReplacesIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	read := func() (n int) {
		for {
			select {
			case <-s.reader.read:
				n++
			default:
				return n
			}
		}
	}
	send := func(content string) body {
		return s.ended(s.decode(s.upload(file{"a.md", content}), 200).JobID)
	}
	if j := send("first"); j.State != "done" || j.Indexed != 1 || read() != 1 {
		t.Errorf("the first: %+v", j)
	}
	if j := send("first"); j.State != "done" || j.Unchanged != 1 || read() != 0 {
		t.Errorf("the same: %+v", j)
	}
	if j := send("second"); j.State != "done" || j.Indexed != 1 || read() != 1 {
		t.Errorf("another: %+v", j)
	}
	if stats, err := s.db.Corpus().Stats(t.Context(), "default"); err != nil || stats.Documents != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestUpload_NamesAreCleanedAndBadOnesRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	j := s.ended(s.decode(s.upload(file{"../../../etc/cron.d/evil.md", "x"}, file{`C:\docs\win.md`, "y"}, file{"hash#1.md", "z"}), 200).JobID)
	if j.State != "done" {
		t.Errorf("the job ended as %+v", j)
	}
	if got, want := s.uploaded(), `["evil.md","hash_1.md","win.md"]`; got != want {
		t.Errorf("uploaded are %s, want %s", got, want)
	}
	for _, bad := range []string{".htaccess", "parley.yaml", "x.md.parley.yaml", "CON.txt", strings.Repeat("n", 300) + ".md", "..", "nul\x00.md", "EVIL2.md"} {
		files := []file{{"good.md", "g"}, {bad, "b"}}
		if bad == "EVIL2.md" {
			files = append(files, file{"evil2.md", "two of one name"})
		}
		w := s.upload(files...)
		if e := s.decode(w, 400); e.Error == "" {
			t.Errorf("%q: %s", bad, w.Body)
		}
	}
	if stored := s.stored(); len(stored) != 3 {
		t.Errorf("stored are %q", stored)
	}
}

func TestUpload_WhatIsNoUploadIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	contentType, whole := form(file{"a.md", strings.Repeat("text ", 100)})
	_, boundary, _ := strings.Cut(contentType, "boundary=")
	many := &bytes.Buffer{}
	for i := range 10_000 {
		fmt.Fprintf(many, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%d.md\"\r\n\r\nx\r\n", boundary, i)
	}
	fields := &bytes.Buffer{}
	for range 10_000 {
		fmt.Fprintf(fields, "--%s\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n", boundary)
	}
	cases := map[string]struct {
		contentType string
		body        []byte
		want        int
	}{
		"no form":          {"application/json", []byte(`{}`), 415},
		"no content type":  {"", whole, 415},
		"no boundary":      {"multipart/form-data", whole, 400},
		"another boundary": {"multipart/form-data; boundary=x", whole, 400},
		"empty body":       {contentType, nil, 400},
		"no files":         {contentType, []byte("--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ntext\r\n--" + boundary + "--\r\n"), 400},
		"cut in a file":    {contentType, whole[:len(whole)/2], 400},
		"cut at the end":   {contentType, whole[:len(whole)-6], 400},
		"too large":        {contentType, func() []byte { _, b := form(file{"a.md", strings.Repeat("x", 1<<20)}); return swap(b, boundary) }(), 413},
		"10,000 files":     {contentType, many.Bytes(), 413},
		"10,000 fields":    {contentType, fields.Bytes(), 413},
		"endless header":   {contentType, []byte("--" + boundary + "\r\nX: " + strings.Repeat("x", 1<<19)), 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			defer func(outer *testing.T) { s.t = outer }(s.t)
			s.t = t
			w := s.post("POST /upload", c.contentType, c.body)
			if w.Code != c.want {
				t.Errorf("status %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if stored := s.stored(); len(stored) > 0 {
				t.Errorf("stored are %q", stored)
			}
		})
	}
	if got := s.uploaded(); got != "[]" {
		t.Errorf("uploaded are %s", got)
	}
}

// swap replaces the boundary of a form.
func swap(body []byte, boundary string) []byte {
	line, _, _ := bytes.Cut(body, []byte("\r\n"))
	return bytes.ReplaceAll(body, line[2:], []byte(boundary))
}

func TestUpload_AClientThatLeavesLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	contentType, whole := form(file{"a.md", strings.Repeat("text ", 100)})
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(bytes.NewReader(whole[:200]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	r.Header.Set("Content-Type", contentType)
	if w := s.call("POST /upload", r); w.Code != 400 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if stored := s.stored(); len(stored) > 0 {
		t.Errorf("stored are %q", stored)
	}
}

func TestUpload_WhereTheServerIsClosedNothingComesIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.closed = true
	for name, w := range map[string]*httptest.ResponseRecorder{
		"upload": s.upload(file{"a.md", "x"}), "delete": s.json("POST /delete_uploaded", `{"filename":"a.md"}`),
		"index": s.json("POST /index", `{"urls":["https://example.com"]}`), "pdf": s.json("POST /pdf", `{"file":"AAAA"}`),
		"retry": s.ofJob("POST /api/jobs/{id}/retry", "x"), "cancel": s.ofJob("POST /api/jobs/{id}/cancel", "x"),
	} {
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
	if got := s.uploaded(); got != "[]" {
		t.Errorf("uploaded are %s", got)
	}
}

func TestDeleteUploaded_TakesFileAndDocumentsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.ended(s.decode(s.upload(file{"a.md", "x"}, file{"b.md", "y"}), 200).JobID)
	if got := s.decode(s.json("POST /delete_uploaded", `{"filename":"a.md"}`), 200); got.Message == "" {
		t.Errorf("the answer is %+v", got)
	}
	if s.found(access.Anonymous, "a.md") || !s.found(access.Anonymous, "b.md") || s.uploaded() != `["b.md"]` || len(s.stored()) != 1 {
		t.Errorf("left are %s and %q", s.uploaded(), s.stored())
	}
	for body, want := range map[string]int{
		`{"filename":"a.md"}`: 404, `{"filename":"../b.md/.."}`: 404, `{"filename":""}`: 400, `{"filename":7}`: 400, `{}`: 400, `[]`: 400, `{`: 400,
		`{"filename":"` + strings.Repeat("x", 5000) + `"}`: 413, `{"filename":` + strings.Repeat("[", 100) + `}`: 400,
	} {
		if w := s.json("POST /delete_uploaded", body); w.Code != want {
			t.Errorf("%.40s: status %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
}

func TestDeleteUploaded_AlsoWhileTheFileIsBeingRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.decode(s.upload(file{"a.md", "WAIT"}, file{"b.md", "y"}), 200).JobID
	for name := range s.reader.read {
		if name == "a.md" {
			break
		}
	}
	s.decode(s.json("POST /delete_uploaded", `{"filename":"a.md"}`), 200)
	close(s.reader.gate)
	j := s.ended(id)
	if s.found(access.Anonymous, "a.md") || !s.found(access.Anonymous, "b.md") || s.uploaded() != `["b.md"]` {
		t.Errorf("the file came back; the job ended as %+v", j)
	}
}

func TestUpload_BelongsToWhoHasUploadedIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ann, bob := access.Principal{Subject: "ann"}, access.Principal{Subject: "bob"}
	s.who = ann
	id := s.decode(s.upload(file{"a.md", "---\nusers: [bob]\n---\nsecret"}), 200).JobID
	if j := s.ended(id); j.State != "done" {
		t.Fatalf("the job ended as %+v", j)
	}
	if !s.found(ann, "a.md") || s.found(bob, "a.md") || s.found(access.Anonymous, "a.md") {
		t.Error("others than its owner find it")
	}
	for _, who := range []access.Principal{bob, access.Anonymous} {
		s.who = who
		if got := s.uploaded(); got != "[]" {
			t.Errorf("%v sees %s", who, got)
		}
		for name, w := range map[string]*httptest.ResponseRecorder{
			"delete": s.json("POST /delete_uploaded", `{"filename":"a.md"}`), "job": s.ofJob("GET /api/jobs/{id}", id), "cancel": s.ofJob("POST /api/jobs/{id}/cancel", id),
			"retry": s.ofJob("POST /api/jobs/{id}/retry", id), "events": s.ofJob("GET /api/jobs/{id}/events", id), "delete by name": s.delete("a.md"),
		} {
			if w.Code != http.StatusNotFound {
				t.Errorf("%s by %v: status %d: %s", name, who, w.Code, w.Body)
			}
		}
		if w := s.call("GET /api/jobs", httptest.NewRequest(http.MethodGet, "/", nil)); strings.TrimSpace(w.Body.String()) != `{"jobs":[],"next":null}` {
			t.Errorf("%v sees jobs %s", who, w.Body)
		}
	}
	// The same name again is another file.
	s.who = bob
	if j := s.ended(s.decode(s.upload(file{"a.md", "bob's"}), 200).JobID); j.State != "done" || s.uploaded() != `["a.md"]` {
		t.Errorf("the job ended as %+v", j)
	}
	s.who = ann
	s.decode(s.json("POST /delete_uploaded", `{"filename":"a.md"}`), 200)
	if s.found(ann, "a.md") || !s.found(bob, "uploads/a.md") {
		t.Error("not exactly ann's file is gone")
	}
}

func TestJobs_WaitBehindAnotherIngestionAndSaySo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var looks atomic.Int32
	s.busy = func() error {
		if looks.Add(1) <= 6 {
			return &ingest.LockedError{DataDir: s.data, Doing: "ingesting into"}
		}
		return nil
	}
	id := s.decode(s.upload(file{"a.md", "x"}), 200).JobID
	if got := s.uploaded(); got != `["a.md"]` {
		t.Errorf("a file that waits is not listed: %s", got)
	}
	events := s.events(id)
	said := slices.ContainsFunc(events, func(b body) bool { return b.State == "queued" && strings.Contains(b.Message, "another ingestion") })
	if last := events[len(events)-1]; !said || last.State != "done" {
		t.Errorf("the events are %+v", events)
	}
}

func TestJobs_CancelledKeepWhatIsIndexedAndCanBeTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.decode(s.upload(file{"a.md", "fast"}, file{"slow.md", "WAIT"}), 200).JobID
	for deadline := time.Now().Add(patience); !s.found(access.Anonymous, "a.md"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first file is not indexed")
		}
	}
	s.decode(s.ofJob("POST /api/jobs/{id}/cancel", id), 200)
	j := s.ended(id)
	if j.State != "cancelled" || j.Indexed != 1 || s.uploaded() != `["a.md"]` || !s.found(access.Anonymous, "a.md") {
		t.Errorf("the job ended as %+v, uploaded are %s", j, s.uploaded())
	}
	s.decode(s.ofJob("POST /api/jobs/{id}/cancel", id), 409)
	close(s.reader.gate)
	// Another upload does not delete the file.
	if j := s.ended(s.decode(s.upload(file{"c.md", "x"}), 200).JobID); j.State != "done" || s.found(access.Anonymous, "slow.md") {
		t.Errorf("the next job ended as %+v", j)
	}
	s.decode(s.ofJob("POST /api/jobs/{id}/retry", id), 200)
	if j := s.ended(id); j.State != "done" || j.Indexed != 2 || !s.found(access.Anonymous, "slow.md") {
		t.Errorf("the job that was tried again ended as %+v", j)
	}
	s.decode(s.ofJob("POST /api/jobs/{id}/retry", id), 409)
}

func TestJobs_CancelledLeaveEarlierVersionsInTheirPlaces(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	size := func() int64 {
		d, err := s.db.Corpus().Document(t.Context(), retrieval.Filter{Namespace: "default"}, "a.md")
		if err != nil {
			t.Fatal(err)
		}
		return d.Size
	}
	s.ended(s.decode(s.upload(file{"a.md", "the first version"}), 200).JobID)
	<-s.reader.read
	id := s.decode(s.upload(file{"a.md", "WAIT"}), 200).JobID
	<-s.reader.read
	s.decode(s.ofJob("POST /api/jobs/{id}/cancel", id), 200)
	s.ended(id)
	s.ended(s.decode(s.upload(file{"b.md", "x"}), 200).JobID)
	if s.uploaded() != `["a.md","b.md"]` || size() != 17 {
		t.Errorf("uploaded are %s, and a.md has %d bytes", s.uploaded(), size())
	}
	close(s.reader.gate)
	s.decode(s.ofJob("POST /api/jobs/{id}/retry", id), 200)
	if j := s.ended(id); j.State != "done" || size() != 4 || len(s.stored()) != 2 {
		t.Errorf("tried again it ended as %+v; a.md has %d bytes, stored are %q", j, size(), s.stored())
	}
}

func TestJobs_ARetryReadsAgainWhatHasFailed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.decode(s.upload(file{"a.md", "x"}, file{"b.md", "DAMAGED"}), 200).JobID
	s.ended(id)
	for len(s.reader.read) > 0 {
		<-s.reader.read
	}
	s.decode(s.ofJob("POST /api/jobs/{id}/retry", id), 200)
	if j := s.ended(id); j.State != "partial" || len(s.reader.read) != 1 || <-s.reader.read != "b.md" {
		t.Errorf("the job ended as %+v", j)
	}
}

func TestJobs_ArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var want []string
	for i := range 5 {
		id := s.decode(s.upload(file{fmt.Sprint(i, ".md"), fmt.Sprint(i)}), 200).JobID
		s.ended(id)
		want = append([]string{id}, want...)
	}
	var got []string
	for before := ""; ; {
		w := s.call("GET /api/jobs", httptest.NewRequest(http.MethodGet, "/api/jobs?limit=2&before="+before, nil))
		var page struct {
			Jobs []body
			Next *string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Jobs {
			got = append(got, j.ID)
			if j.Files != nil || j.FilesTotal != 1 {
				t.Errorf("a job of a list is %+v", j)
			}
		}
		if page.Next == nil {
			break
		}
		before = *page.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("the jobs are %v, want %v", got, want)
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=x"} {
		if w := s.call("GET /api/jobs", httptest.NewRequest(http.MethodGet, "/api/jobs?"+query, nil)); w.Code != 400 {
			t.Errorf("%s: status %d", query, w.Code)
		}
	}
	for _, answer := range []string{"GET /api/jobs/{id}", "GET /api/jobs/{id}/events", "POST /api/jobs/{id}/cancel", "POST /api/jobs/{id}/retry"} {
		s.decode(s.ofJob(answer, "01JNOJOB"), 404)
	}
	if w := s.ofJob("GET /api/jobs/{id}/events", want[0], "Last-Event-ID", "1"); w.Code != http.StatusNoContent {
		t.Errorf("a client that has seen the end gets %d", w.Code)
	}
}

func TestJobs_AFullDiskFailsTheJobWithARemedy(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	full := true
	s.busy = func() error {
		if full {
			return fmt.Errorf("commit: %w", errFull)
		}
		return nil
	}
	id := s.decode(s.upload(file{"a.md", "x"}), 200).JobID
	j := s.ended(id)
	if text, _ := j.Error.(string); j.State != "failed" || !strings.Contains(text, "disk") || strings.Contains(text, "commit") {
		t.Errorf("the job ended as %+v", j)
	}
	full = false
	s.decode(s.ofJob("POST /api/jobs/{id}/retry", id), 200)
	if j := s.ended(id); j.State != "done" {
		t.Errorf("with room again the job ended as %+v", j)
	}
}
