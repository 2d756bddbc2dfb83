package webapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/transcript"
)

// storeChat stores a chat of the caller with these messages.
func (s *site) storeChat(id string, bodies ...string) {
	s.t.Helper()
	scope := transcript.Scope{Kind: transcript.ChatUI, Namespace: "default", Owner: s.who.Subject}
	_, err := s.db.Transcripts().Save(s.t.Context(), scope, id, func(t *transcript.Transcript, _ bool) error {
		t.Title = "Pumps"
		for i, b := range bodies {
			t.Messages = append(t.Messages, transcript.Message{ID: fmt.Sprint("m", len(t.Messages)+i), Body: json.RawMessage(b)})
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

type linkOf struct {
	Link            string
	Messages, Newer int
}

func (s *site) share(id string) (l linkOf) {
	s.t.Helper()
	w := s.call(http.MethodPut, "/api/chats/"+id+"/link")
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != http.StatusOK {
		s.t.Fatalf("%d %s", w.Code, w.Body)
	}
	return l
}

type sharedChat struct {
	Title    string
	Messages []struct {
		ID      string `json:"messageId"`
		Content string
		Parley  struct {
			Status    string
			LeftOut   bool `json:"left_out"`
			Citations []struct {
				Label, Title, Quote, Passage, URL string
				ContentURL                        string `json:"content_url"`
			}
		}
	}
}

func (c sharedChat) contents() (all []string) {
	for _, m := range c.Messages {
		all = append(all, m.Content)
	}
	return all
}

var (
	ann = access.Principal{Subject: "ann"}
	bob = access.Principal{Subject: "bob"}
)

// sharedSite has a public document and one that only Ann may see, and a chat of hers with both.
func sharedSite(t *testing.T) *site {
	s := newSite(t)
	s.who = ann
	s.put("OPEN", "default", "open.pdf", "application/pdf", access.List{}, "The pump makes 900 turns.")
	s.put("SECRET", "default", "secret.pdf", "application/pdf", access.List{Users: []string{"ann"}}, "The pump costs 4711 crowns.")
	s.storeChat("c",
		`{"messageId":"q1","role":"user","content":"Tell me of the pump","parentId":""}`,
		`{"messageId":"old","role":"assistant","content":"An earlier try","parentId":"q1"}`,
		`{"messageId":"a1","role":"assistant","parentId":"q1","content":"It is dear.\nIt turns fast [open.pdf#page=1]. It costs 4711 crowns [secret.pdf#page=1]. Both [open.pdf#page=1] [secret.pdf#page=1].\n\nIn short: 4711.",
		  "sources":[{"id":"secret.pdf#page=1","snippet":"4711 crowns"}],
		  "parley":{"status":"completed","turn":"T","reasoning":"4711","model":"m","feedback":{"good":true},"followUps":["Why 4711?"],"citations":[
		   {"n":1,"label":"open.pdf#page=1","document_id":"OPEN","name":"open.pdf","namespace":"default","page":1,"title":"4711","quote":"900 turns","passage":"4711","url":"javascript:alert(1)","content_url":"//evil.example","supported":true,"spans":[{"quote":"4711"},{"quote":"900 turns"}]},
		   {"n":2,"label":"secret.pdf#page=1","document_id":"SECRET","name":"secret.pdf","namespace":"default","page":1,"quote":"4711 crowns","spans":[]}]}}`)
	return s
}

func TestShare_ShowsAnotherReaderOnlyWhatTheirSourcesSupport(t *testing.T) {
	s := sharedSite(t)
	l := s.share("c")
	if l.Messages != 3 || len(l.Link) < 30 {
		t.Fatalf("the link is %+v", l)
	}
	full := get[sharedChat](s, "/api/shared/"+l.Link)
	if a := full.Messages[1]; a.Parley.LeftOut || !strings.Contains(a.Content, "In short: 4711.") || len(a.Parley.Citations) != 2 {
		t.Errorf("Ann sees %+v", a)
	}
	s.who = bob
	w := s.call(http.MethodGet, "/api/shared/"+l.Link)
	for _, hidden := range []string{"4711", "secret", "SECRET", "javascript", "evil", "earlier try", "ann"} {
		if strings.Contains(w.Body.String(), hidden) {
			t.Errorf("Bob is told %q: %s", hidden, w.Body)
		}
	}
	got := get[sharedChat](s, "/api/shared/"+l.Link)
	if diff := cmp.Diff([]string{"Tell me of the pump", "It is dear.\nIt turns fast [open.pdf#page=1]."}, got.contents()); diff == "" {
		t.Error("a line without a source was kept")
	}
	if diff := cmp.Diff([]string{"Tell me of the pump", "It turns fast [open.pdf#page=1]."}, got.contents()); diff != "" {
		t.Error(diff)
	}
	a := got.Messages[1].Parley
	if !a.LeftOut || len(a.Citations) != 1 || a.Citations[0].Title != "Title of open.pdf" || a.Citations[0].Quote != "900 turns" ||
		a.Citations[0].ContentURL != "/content/open.pdf#page=1" {
		t.Errorf("%+v", a)
	}
}

// Words before a label that a reader may see can come from a source that they may not see.
func TestShare_KeepsWholeSentencesOfSeenSourcesOnly(t *testing.T) {
	s := sharedSite(t)
	for id, c := range map[string]struct{ said, kept string }{
		"c1":  {"The CFO leaves in May. The pump turns fast [open.pdf#page=1]. It is dear [secret.pdf#page=1].", "The pump turns fast [open.pdf#page=1]."},
		"c2":  {"As [secret.pdf#page=1] says, it is dear, and the pump turns fast [open.pdf#page=1].", ""},
		"c3":  {"It is dear [secret.pdf#page=1]. The pump turns fast [open.pdf#page=1] and well [open.pdf#page=1].", "The pump turns fast [open.pdf#page=1] and well [open.pdf#page=1]."},
		"c4":  {"甲[secret.pdf#page=1]。乙。丙[open.pdf#page=1]。", "丙[open.pdf#page=1]。"},
		"c5":  {"甲[secret.pdf#page=1]，乙！丙。[open.pdf#page=1] 丁[secret.pdf#page=1]", "丙。[open.pdf#page=1]"},
		"c6":  {"क [secret.pdf#page=1]। ख। ग [open.pdf#page=1]।", "ग [open.pdf#page=1]।"},
		"c8":  {"As [secret.pdf#page=1] says, and [open.pdf#page=1] agrees, it costs 4711 [open.pdf#page=1].", ""},
		"c9":  {"As [secret.pdf#page=1] says,\\nit is dear, and the pump turns fast [open.pdf#page=1].\\nIt is new [open.pdf#page=1].", "It is new [open.pdf#page=1]."},
		"c10": {"As [secret.pdf#page=1] says:\\n\\n- The pump turns fast [open.pdf#page=1]", "- The pump turns fast [open.pdf#page=1]"},
		"c11": {"泵[secret.pdf#page=1]（4711克朗。含税），转速快[open.pdf#page=1]。", ""},
		"c12": {"He says [secret.pdf#page=1] “it is dear. It leaks” (and turns fast) [open.pdf#page=1].", ""},
		"c7":  {"It is dear [secret.pdf#page=1]. “The CFO leaves.” The pump turns fast [open.pdf#page=1].", "The pump turns fast [open.pdf#page=1]."},
	} {
		s.who = ann
		s.storeChat(id, `{"messageId":"q","role":"user","content":"What?","parentId":""}`,
			`{"messageId":"a","role":"assistant","parentId":"q","content":"`+c.said+`","parley":{"status":"completed","citations":[]}}`)
		l := s.share(id)
		s.who = bob
		if got := get[sharedChat](s, "/api/shared/"+l.Link).contents(); len(got) != 2 || got[1] != c.kept {
			t.Errorf("%s: %q", c.said, got)
		}
	}
}

func TestShare_ALinkShowsTheChatAsItWasAndEndsWhenItIsRevoked(t *testing.T) {
	s := sharedSite(t)
	l := s.share("c")
	s.storeChat("c", `{"messageId":"q2","role":"user","content":"And a private matter","parentId":"a1"}`)
	if got := get[sharedChat](s, "/api/shared/"+l.Link); len(got.Messages) != 2 {
		t.Errorf("a later message is shared: %q", got.contents())
	}
	if now := get[linkOf](s, "/api/chats/c/link"); now != (linkOf{l.Link, 3, 1}) {
		t.Errorf("the link is %+v", now)
	}
	if again := s.share("c"); again != (linkOf{l.Link, 4, 0}) {
		t.Errorf("the renewed link is %+v", again)
	}
	if got := get[sharedChat](s, "/api/shared/"+l.Link); len(got.Messages) != 3 {
		t.Errorf("a renewed link shows %q", got.contents())
	}
	s.who = bob
	foreign := s.call(http.MethodDelete, "/api/chats/c/link")
	if missing := s.call(http.MethodDelete, "/api/chats/d/link"); foreign.Code != http.StatusNotFound || foreign.Body.String() != missing.Body.String() {
		t.Errorf("Bob revokes: %d %s; a missing chat: %s", foreign.Code, foreign.Body, missing.Body)
	}
	s.who = ann
	if w := s.call(http.MethodDelete, "/api/chats/c/link"); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	revoked := s.call(http.MethodGet, "/api/shared/"+l.Link)
	for _, link := range []string{"x", "c", strings.Repeat("A", 38), strings.Repeat("A", 5000), "%00", "..%2f", "%ff"} {
		if w := s.call(http.MethodGet, "/api/shared/"+link); w.Code != http.StatusNotFound || w.Body.String() != revoked.Body.String() {
			t.Errorf("%.50q: %d %s, a revoked link: %s", link, w.Code, w.Body, revoked.Body)
		}
	}
	if next := s.share("c"); next.Link == l.Link {
		t.Error("a revoked link works again")
	}
}

func TestShare_TakesWhateverClientsHaveStored(t *testing.T) {
	s := newSite(t)
	s.put("OPEN", "default", "open.pdf", "application/pdf", access.List{}, "Said.")
	for i, bodies := range [][]string{
		{`{"messageId":"a","parentId":"b","role":"user","content":"x"}`, `{"messageId":"b","parentId":"a","role":"user","content":"y"}`}, // a circle
		{`{"messageId":"a","parentId":"a","role":"USER","content":"x"}`},
		{`{"messageId":7,"role":[],"content":{}}`, `{}`, `{"id":"z","role":"assistant","content":5,"parley":[1],"sources":"no"}`},
		{`{"id":"z","role":"assistant","content":"Gone [x.pdf#page=3]. Here [open.pdf#page=1].","parley":{"status":"streaming","citations":[null,{}]}}`},
	} {
		id := fmt.Sprint("c", i)
		s.storeChat(id, bodies...)
		got := get[sharedChat](s, "/api/shared/"+s.share(id).Link)
		if len(got.Messages) > len(bodies) || i == 3 && (got.Messages[0].Content != "Here [open.pdf#page=1]." || got.Messages[0].Parley.Status != "cancelled") {
			t.Errorf("%d: %+v", i, got)
		}
	}
}
