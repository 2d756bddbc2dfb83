package webapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

const covered = "Contact lenses are covered up to €150 each year."

func TestTurn_ShowsWhatWasSaidAndWhere(t *testing.T) {
	s := newSite(t)
	page := "😀 Vision care is part of every plan. " + covered + " Glasses are not."
	s.put("D", "default", "plan.pdf", "application/pdf", access.List{}, "Nothing of interest stands here.", page)
	v := get[turnJSON](s, "/api/turns/"+s.ask("Are contact lenses covered?"))
	if v.Status != "completed" || v.Question != "Are contact lenses covered?" || !strings.Contains(v.Answer, covered) || v.FinishedAt == nil {
		t.Errorf("%+v", v)
	}
	if len(v.Citations) != 1 {
		t.Fatalf("%+v", v.Citations)
	}
	c := v.Citations[0]
	if c.N != 1 || c.Label != "plan.pdf#page=2" || c.DocumentID != "D" || c.Page != 2 || c.Quote != covered || !c.Supported || c.Stale ||
		c.ContentURL != "/content/plan.pdf#page=2" || c.URL != "" || c.Passage != page || slice(page, c.Start, c.End) != covered {
		t.Errorf("%+v", c)
	}
	if th := v.Thoughts; th == nil || th.Query.Original != v.Question || len(th.Passages) == 0 || th.Passages[0].Label != "plan.pdf#page=2" ||
		th.Passages[0].Rank != 1 || th.Passages[0].RankBefore != 1 || !th.Passages[0].Sent || th.Prompt == nil || len(th.Prompt.Messages) < 2 {
		t.Errorf("thoughts %+v", v.Thoughts)
	}
	if len(v.Stages) < 4 || v.Conversation != nil {
		t.Errorf("stages %+v, conversation %+v", v.Stages, v.Conversation)
	}
}

func TestTurn_SaysWhatHasBecomeOfItsSources(t *testing.T) {
	s := newSite(t)
	put := func(acl access.List, text string) { s.put("D", "default", "plan.pdf", "application/pdf", acl, text) }
	put(access.List{}, covered)
	id := s.ask("Are contact lenses covered?")
	citation := func() struct {
		id, quote  string
		start, end int
		stale      bool
	} {
		t.Helper()
		v := get[turnJSON](s, "/api/turns/"+id)
		if len(v.Citations) != 1 || !strings.Contains(v.Answer, covered) || v.Citations[0].Passage == "" {
			t.Fatalf("%+v", v)
		}
		c := v.Citations[0]
		return struct {
			id, quote  string
			start, end int
			stale      bool
		}{c.DocumentID, c.Quote, c.Start, c.End, c.Stale}
	}
	if c := citation(); c.stale || c.start != 0 {
		t.Errorf("unchanged: %+v", c)
	}
	moved := "😀 A new first sentence. " + covered
	put(access.List{}, moved)
	if c := citation(); c.stale || slice(moved, c.start, c.end) != covered {
		t.Errorf("moved: %+v", c)
	}
	put(access.List{}, "Contact lenses are not covered any more.")
	if c := citation(); !c.stale || c.quote != covered || c.start != 0 || c.end != 0 || c.id != "D" {
		t.Errorf("changed: %+v", c)
	}
	put(access.List{Users: []string{"ann"}}, covered)
	if c := citation(); !c.stale || c.quote != covered || c.id != "" {
		t.Errorf("not to be seen any more: %+v", c)
	}
	if err := s.corpus.Apply(t.Context(), retrieval.Batch{Namespace: "default", Delete: []string{"D"}}); err != nil {
		t.Fatal(err)
	}
	if c := citation(); !c.stale || c.quote != covered || c.id != "" {
		t.Errorf("deleted: %+v", c)
	}
	s.put("NEW", "default", "plan.pdf", "application/pdf", access.List{}, covered)
	if c := citation(); c.stale || c.id != "NEW" {
		t.Errorf("read again: %+v", c)
	}
}

func TestTurn_KeepsTheCitationsOfAnAnswerThatWasStopped(t *testing.T) {
	s := newSite(t)
	s.put("D", "default", "plan.pdf", "application/pdf", access.List{}, covered)
	req := chat.Request{TurnID: "01JSTOPPED", Principal: s.who, Options: chat.Options{Top: 3, Mode: retrieval.Text},
		Messages: []chat.Message{chat.TextMessage(llm.User, "Are contact lenses covered?")}}
	for e := range s.runner.Run(t.Context(), &req) {
		if d, ok := e.(chat.TextDelta); ok && strings.Contains(d.Text, "]") {
			break // the client leaves before the message has ended
		}
	}
	v := get[turnJSON](s, "/api/turns/01JSTOPPED")
	if v.Status != "cancelled" || len(v.Citations) != 1 || v.Citations[0].Label != "plan.pdf#page=1" || v.Citations[0].Quote != covered {
		t.Errorf("%s %q: %+v", v.Status, v.Answer, v.Citations)
	}
}

func TestTurn_KeepsItsCitationsWhenItsThoughtsAreForgotten(t *testing.T) {
	s := newSite(t)
	s.put("D", "default", "plan.pdf", "application/pdf", access.List{}, covered)
	id := s.ask("Are contact lenses covered?")
	if _, err := s.db.State().ForgetSaid(t.Context(), time.Now().Add(time.Hour), 10); err != nil {
		t.Fatal(err)
	}
	v := get[turnJSON](s, "/api/turns/"+id)
	if v.Thoughts != nil || v.Question == "" || !strings.Contains(v.Answer, covered) || len(v.Stages) < 4 {
		t.Errorf("%+v", v)
	}
	if len(v.Citations) != 1 || v.Citations[0].Quote != covered || v.Citations[0].End == 0 || v.Citations[0].Passage == "" {
		t.Errorf("%+v", v.Citations)
	}
}

func TestTurn_BelongsToWhoAsked(t *testing.T) {
	s := newSite(t)
	s.put("D", "default", "plan.pdf", "application/pdf", access.List{}, covered)
	s.who = access.Principal{Subject: "ann"}
	id := s.ask("Are contact lenses covered?")
	get[turnJSON](s, "/api/turns/"+id)
	unknown := func() string { return s.call(http.MethodGet, "/api/turns/01JNOTHING").Body.String() }
	for _, who := range []access.Principal{access.Anonymous, {Subject: "bob"}, {Groups: []string{"ann"}}} {
		s.who = who
		if w := s.call(http.MethodGet, "/api/turns/"+id); w.Code != http.StatusNotFound || w.Body.String() != unknown() {
			t.Errorf("as %+v: %d %s", who, w.Code, w.Body)
		}
	}
}
