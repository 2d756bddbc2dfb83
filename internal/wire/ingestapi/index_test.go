package ingestapi_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/wire/ingestapi"
)

// delete deletes a document by its address or name.
func (s *site) delete(address string) *httptest.ResponseRecorder {
	return s.call("DELETE /delete/", httptest.NewRequest(http.MethodDelete, "/delete/"+url.PathEscape(address), nil))
}

// pdfStart is the beginning of a PDF. The tests' reader reads the rest.
const pdfStart = "%PDF-1.7\n"

func pdfBody(content, more string) string {
	return `{"file":"` + base64.StdEncoding.EncodeToString([]byte(pdfStart+content)) + `"` + more + `}`
}

func TestPDF_AFileInBase64BecomesAnUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cases := map[string]struct{ body, name string }{
		"the name behind the file": {pdfBody("one", `,"filename":"a b/Report.pdf","force_delete":false,"max_chunks":"0"`), "Report.pdf"},
		"the name before it":       {`{"filename":"two.pdf", "file" : "` + base64.StdEncoding.EncodeToString([]byte(pdfStart+"two")) + `"}`, "two.pdf"},
		"no name":                  {pdfBody("three", ""), "upload.pdf"},
		"the end of its address":   {pdfBody("four", `,"url":"https://example.com/docs/four.pdf?x=1"`), "four.pdf"},
		"base64url, no padding":    {`{"file":"` + base64.RawURLEncoding.EncodeToString([]byte(pdfStart+"five\xfb\xff\xbf")) + `","filename":"5.pdf"}`, "5.pdf"},
		"a data URL":               {`{"file":"data:application\/pdf;base64,` + base64.StdEncoding.EncodeToString([]byte(pdfStart+"six")) + `","filename":"6.pdf"}`, "6.pdf"},
		"lines":                    {`{"file":"JVBERi0xLjcKc2V2\r\nZW4=\n","filename":"7.pdf"}`, "7.pdf"},
		"a key that looks like it": {`{"x":{"file":"!"},"y":["file","file"],"\"file":"file","file":"JVBERi0xLjcKZWlnaHQ=","filename":"8.pdf"}`, "8.pdf"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			defer func(outer *testing.T) { s.t = outer }(s.t)
			s.t = t
			got := s.decode(s.json("POST /pdf", c.body), 200)
			if got.State != "done" || got.ChunksIndexed != 1 || got.JobID == "" || !s.found(access.Anonymous, c.name) {
				t.Errorf("%+v, and %s is found: %v", got, c.name, s.found(access.Anonymous, c.name))
			}
		})
	}
	if got := s.decode(s.json("POST /pdf", pdfBody("one", `,"filename":"Report.pdf"`)), 200); !strings.Contains(got.Message, "already") {
		t.Errorf("the same again: %+v", got)
	}
	if w := s.delete("file://Report.pdf"); w.Code != 200 || s.found(access.Anonymous, "Report.pdf") || strings.Contains(s.uploaded(), "Report.pdf") {
		t.Errorf("DELETE: status %d: %s; uploaded are %s", w.Code, w.Body, s.uploaded())
	}
}

func TestPDF_AnEstimateWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, body := range []string{pdfBody("four", `,"estimate":true`), `{"estimate":"true","file":"JVBERi0xLjcKZm91cg=="}`} {
		got := s.decode(s.json("POST /pdf", body), 200)
		if got.Message != "Estimate only" || got.ChunksPlanned != 1 || got.Tokens != 4 {
			t.Errorf("%s: %+v", body, got)
		}
	}
	if s.uploaded() != "[]" || len(s.stored()) > 0 {
		t.Errorf("stored are %q", s.stored())
	}
	if w := s.call("GET /api/jobs", httptest.NewRequest(http.MethodGet, "/", nil)); strings.TrimSpace(w.Body.String()) != `{"jobs":[],"next":null}` {
		t.Errorf("jobs are %s", w.Body)
	}
}

func TestPDF_AnEstimateDoesNotTellWhereTheServerKeepsFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	got := s.decode(s.json("POST /pdf", pdfBody("DAMAGED", `,"filename":"a b.pdf","estimate":true`)), 200)
	if len(got.Errors) != 2 || got.Errors[0].URL != "a b.pdf" || got.Errors[0].Reason != "damaged" || got.Errors[1].URL != "a b.pdf/in.bin" {
		t.Errorf("%+v", got)
	}
}

func TestPDF_WhatCannotBeMeantIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for body, want := range map[string]int{
		``: 400, `[]`: 400, `{`: 400, `{"file":"JVBERi0x"`: 400, `{"file":"JVBERi0x`: 400, `{}`: 422, `{"file":7}`: 422, `{"file":null,"url":null}`: 422,
		`{"file":"@@@@"}`: 400, `{"file":"A"}`: 400, `{"file":"AAAA=AAA"}`: 400, `{"file":"AA\u0041A"}`: 400, `{"file":"data:,"}`: 422,
		`{"file":"AAAA"}`: 422, `{"file":"JVBERi0x","file":"BBBB"}`: 400, `{"url":"ftp://x"}`: 422, `{"url":["x"]}`: 422,
		`{"file":"JVBERi0x","max_chunks":1.5}`: 422, `{"file":"JVBERi0x","skip_sections":"References"}`: 422, `{"file":"JVBERi0x","skip_sections":[1]}`: 422,
		`{"file":"JVBERi0x","filename":".hidden"}`: 400, `{"file":"JVBERi0x","filename":{}}`: 422, `{"file":"JVBERi0x","estimate":"perhaps"}`: 422,
		`{"file":"JVBERi0x","namespace":"` + strings.Repeat("n", 200) + `"}`:                       400,
		`{"file":"JVBERi0x","x":"` + strings.Repeat("x", 5000) + `"}`:                              413,
		`{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`:                        400,
		`{"file":"JVBERi0x` + strings.Repeat("AAAA", 400_000) + `"}`:                               413,
		`{"file":"JVBERi0x` + strings.Repeat("AAAA", 300_000)[:1_199_990] + `=="}` + "   trailing": 400,
	} {
		w := s.json("POST /pdf", body)
		if w.Code != want {
			t.Errorf("%.60s: status %d, want %d: %s", body, w.Code, want, w.Body)
		}
		if stored := s.stored(); len(stored) > 0 {
			t.Fatalf("%.60s: stored are %q", body, stored)
		}
	}
}

func TestIndex_AnswersWithWhatBecameOfThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	got := s.decode(s.json("POST /index", `{"urls":["HTTPS://Example.com:443/a","https://example.com/gone"],"doc_type":"HTML","force_crawl":true,"max_chunks":0}`), 200)
	if got.State != "partial" || got.ChunksIndexed != 3 || got.Tokens != 70 || len(got.Errors) != 1 || got.Errors[0].URL != "https://example.com/gone" || got.Errors[0].Reason != "unreadable" {
		t.Errorf("%+v", got)
	}
	j := s.ended(got.JobID)
	if len(j.Files) != 2 || j.Files[0].Name != "https://example.com/a" || j.Files[0].State != "indexed" {
		t.Errorf("the job is %+v", j)
	}
	if w := s.json("POST /index", `{"urls":["https://example.com/gone"]}`); w.Code != 422 || !strings.Contains(w.Body.String(), "404") {
		t.Errorf("one that is gone: status %d: %s", w.Code, w.Body)
	}
	if w := s.json("POST /index", `{"urls":["https://example.com/broken"]}`); w.Code != 503 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("one on which the server fails: status %d: %s", w.Code, w.Body)
	}
	if got := s.decode(s.json("POST /mediawiki/url", `{"url":"https://en.wikipedia.org/wiki/Zebra","skip_sections":["References"]}`), 200); got.State != "done" {
		t.Errorf("%+v", got)
	}
	if got := s.decode(s.json("POST /index", `{"urls":["https://example.com/a"],"estimate":true}`), 200); got.ChunksPlanned != 3 || got.Message != "Estimate only" {
		t.Errorf("%+v", got)
	}
	for body, want := range map[string]int{
		`{}`: 422, `{"urls":[]}`: 422, `{"urls":"https://x.y"}`: 422, `{"urls":[1]}`: 422, `{"urls":["x"]}`: 422, `{"urls":["file:///etc/passwd"]}`: 422,
		`{"urls":["https://x.y"],"doc_type":"DOC"}`: 422, `{"urls":["https://x.y"],"depth":-1}`: 422, `{"urls":["https://x.y"],"depth":1000}`: 422,
		`{"urls":[` + strings.Repeat(`"https://x.y",`, 100) + `"https://x.y"]}`: 422, `[]`: 400,
	} {
		if w := s.json("POST /index", body); w.Code != want {
			t.Errorf("%.60s: status %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
}

func TestPDF_AJobThatTakesLongIs202WithAPlaceToAsk(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *ingestapi.Config) { c.Wait = 300 * time.Millisecond })
	got := s.decode(s.json("POST /pdf", pdfBody("WAIT", `,"filename":"w.pdf"`)), 202)
	close(s.reader.gate)
	if j := s.ended(got.JobID); j.State != "done" {
		t.Errorf("the job ended as %+v", j)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(pdfBody("x", "")))
	r.Header.Set("Prefer", "respond-async")
	w := s.call("POST /pdf", r)
	got = s.decode(w, 202)
	if location := w.Header().Get("Location"); location != "/api/jobs/"+got.JobID {
		t.Errorf("Location is %q", location)
	}
	s.ended(got.JobID)
}

func TestDelete_OfAFileInAFolderHoldsUntilItChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for i := range 3 {
		s.ended(s.decode(s.upload(file{fmt.Sprint(i, ".md"), fmt.Sprint("content ", i)}), 200).JobID)
	}
	for _, address := range []string{"9.md", "https://example.com/none", "../1.md", "%", "file:///etc/passwd"} {
		if w := s.delete(address); w.Code != 404 {
			t.Errorf("DELETE %s: status %d: %s", address, w.Code, w.Body)
		}
	}
	if w := s.delete("http://example.com/content/0.md?namespace=other"); w.Code == 200 {
		t.Errorf("DELETE in another namespace: status %d: %s", w.Code, w.Body)
	}
	if w := s.delete("http://example.com/content/2%2Emd#page=1"); w.Code != 200 || s.found(access.Anonymous, "2.md") {
		t.Errorf("DELETE of a link to the content: status %d: %s", w.Code, w.Body)
	}
	if w := s.delete("1.md"); w.Code != 200 || s.found(access.Anonymous, "1.md") || s.uploaded() != `["0.md"]` {
		t.Errorf("DELETE: status %d: %s; uploaded are %s", w.Code, w.Body, s.uploaded())
	}
}
