package webapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/transcript"
)

type keptThing struct{ ID, Text, Name string }

// keep sends a request with a body as a caller, and decodes the answer.
func (s *site) keep(who access.Principal, method, path, body string, into any) int {
	s.t.Helper()
	s.who = who
	w := s.send(method, path, body)
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			s.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	return w.Code
}

func TestPrompts_AreKeptForTheirOwnerOnly(t *testing.T) {
	s := newSite(t)
	var one, same, two keptThing
	if code := s.keep(ann, "POST", "/api/prompts", `{"text":" Answer in\n\u202ea table. "}`, &one); code != http.StatusCreated || one.Text != "Answer in\na table." || one.ID == "" {
		t.Fatalf("%d %+v", code, one)
	}
	if code := s.keep(ann, "POST", "/api/prompts", `{"text":"Answer in\na table."}`, &same); code != http.StatusOK || same != one {
		t.Errorf("a prompt that is kept: %d %+v, want %+v", code, same, one)
	}
	s.keep(ann, "POST", "/api/prompts", `{"text":"Be brief."}`, &two)
	at := "/api/prompts/" + one.ID
	for _, stranger := range []access.Principal{bob, {}} {
		var list []keptThing
		if s.keep(stranger, "GET", "/api/prompts", "", &list); len(list) != 0 {
			t.Errorf("%q sees %+v", stranger.Subject, list)
		}
		if put, gone := s.keep(stranger, "PUT", at, `{"text":"mine"}`, nil), s.keep(stranger, "DELETE", at, "", nil); put != http.StatusNotFound || gone != http.StatusNotFound {
			t.Errorf("%q changes with %d, deletes with %d", stranger.Subject, put, gone)
		}
	}
	if code := s.keep(ann, "PUT", at, `{"text":"Answer in a list."}`, &one); code != http.StatusOK || one.Text != "Answer in a list." {
		t.Errorf("changed: %d %+v", code, one)
	}
	var list []keptThing
	s.keep(ann, "GET", "/api/prompts", "", &list)
	if diff := cmp.Diff([]keptThing{two, one}, list); diff != "" {
		t.Error(diff)
	}
	if code := s.keep(ann, "DELETE", at, "", nil); code != http.StatusOK {
		t.Error(code)
	}
	if code := s.keep(ann, "DELETE", at, "", nil); code != http.StatusNotFound {
		t.Errorf("deleted again: %d", code)
	}
}

func TestFolders_LeaveTheirChatsWhenTheyAreDeleted(t *testing.T) {
	s := newSite(t)
	var f keptThing
	s.keep(ann, "POST", "/api/folders", `{"name":"Pumps \n and  more"}`, &f)
	if f.Name != "Pumps and more" {
		t.Errorf("%+v", f)
	}
	s.storeChat("c", `{"role":"user","content":"x"}`)
	scope := transcript.Scope{Kind: transcript.ChatUI, Namespace: "default", Owner: "ann"}
	if _, err := s.db.Transcripts().Save(t.Context(), scope, "c", func(c *transcript.Transcript, _ bool) error {
		c.Folder = f.ID
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.keep(ann, "DELETE", "/api/folders/"+f.ID, "", nil)
	c, err := s.db.Transcripts().Transcript(t.Context(), scope, "c")
	if err != nil || c.Folder != "" || len(c.Messages) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestKept_HasLimits(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ path, body string }{
		{"prompts", `{}`}, {"prompts", `[]`}, {"prompts", `{"text":7}`}, {"prompts", `{"text":" "}`}, {"prompts", `{"text":"` + strings.Repeat("ä", 4001) + `"}`},
		{"folders", `{"name":null}`}, {"folders", `{"name":"` + strings.Repeat("ä", 101) + `"}`}, {"folders", `{"name":"\u200b\u202e"}`},
	} {
		if code := s.keep(ann, "POST", "/api/"+c.path, c.body, nil); code != http.StatusBadRequest {
			t.Errorf("%s %.40s: %d", c.path, c.body, code)
		}
	}
	for i := range 200 {
		if code := s.keep(ann, "POST", "/api/folders", fmt.Sprintf(`{"name":"%d"}`, i), nil); code != http.StatusCreated {
			t.Fatalf("%d: %d", i, code)
		}
	}
	if code := s.keep(ann, "POST", "/api/folders", `{"name":"more"}`, nil); code != http.StatusConflict {
		t.Errorf("one too many: %d", code)
	}
	if code := s.keep(bob, "POST", "/api/folders", `{"name":"more"}`, nil); code != http.StatusCreated {
		t.Errorf("somebody else's first: %d", code)
	}
}

func TestKept_HasItsLimitForRequestsThatComeAtOnce(t *testing.T) {
	s := newSite(t)
	for i := range 190 {
		s.keep(ann, "POST", "/api/folders", fmt.Sprintf(`{"name":"%d"}`, i), nil)
	}
	var adding sync.WaitGroup
	for i := range 50 {
		adding.Go(func() { s.send("POST", "/api/folders", fmt.Sprintf(`{"name":"more %d"}`, i)) })
	}
	adding.Wait()
	var list []keptThing
	if s.keep(ann, "GET", "/api/folders", "", &list); len(list) > 200 {
		t.Errorf("%d are kept", len(list))
	}
}

func TestPrompts_ThatComeTwiceAtOnceAreKeptOnce(t *testing.T) {
	s := newSite(t)
	s.who = ann
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.send("POST", "/api/prompts", `{"text":"Be brief."}`) })
	}
	all.Wait()
	var list []keptThing
	if s.keep(ann, "GET", "/api/prompts", "", &list); len(list) != 1 {
		t.Fatalf("kept %+v", list)
	}
}
