package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPage_KeepsConversationsInReach(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil)
	type search struct {
		Lines          int
		Snippet, Marks []string
	}
	var got struct {
		Today, WhileDeleted []string
		Found, Umlaut, None search
		Pinned              [][]string
		Back                string
		Gone                int
		Long                struct {
			First, Second, Afterwards, Whole, Different int
			Pinned                                      []string
			Title                                       string
		}
		Seen seenOnPage
	}
	onPage(t, "conversations", p.addr, nil, &got)
	got.Seen.check(t)
	if len(got.Today) != 3 {
		t.Errorf("today: %q", got.Today)
	}
	if f := got.Found; f.Lines != 1 || !strings.Contains(f.Snippet[0], "The lighthouse of Skagen is 46 metres") || strings.Join(f.Marks, " ") != "lighthouse Skagen" {
		t.Errorf("found: %+v", f)
	}
	if f := got.Umlaut; f.Lines != 1 || strings.Join(f.Marks, " ") != "GRÖSSE" || got.None.Lines != 0 {
		t.Errorf("found: %+v, and %+v of what nobody said", f, got.None)
	}
	for i, pinned := range got.Pinned {
		if strings.Join(pinned, "|") != "Dues?" {
			t.Errorf("pinned in tab %d: %q", i, pinned)
		}
	}
	if l := got.Long; l.First != 52 || l.Second != 102 || l.Afterwards < l.Second || l.Whole != 232 || l.Different != 232 {
		t.Errorf("of 232 conversations in a list, by pages: %+v", l)
	}
	if l := got.Long; strings.Join(l.Pinned, "|") != "Question 0 of many|Dues?" || l.Title != "Question 1 of many – Parley" {
		t.Errorf("an old conversation that is pinned: %q; one that is not listed is titled %q", l.Pinned, l.Title)
	}
	if len(got.WhileDeleted) != 1 || got.Back != "How high is it?" || got.Gone != 404 {
		t.Errorf("while deleted: %q, after undoing it: %q, in the end status %d", got.WhileDeleted, got.Back, got.Gone)
	}
}

func TestPage_AsksWhatWasChosen(t *testing.T) {
	pageTest(t)
	docs := folderOf(t, map[string]string{
		"skagen.md":  "# Skagen\n\nThe lighthouse of Skagen is 46 metres tall.\n",
		"harbour.md": "# Harbour\n\nThe harbour dues for sailing boats are 180 kroner a night.\n",
	})
	model := startScripted(t, []scriptedAnswer{{text: "The model says so. [harbour.md#page=1]"}})
	p := serveWithModel(t, model.URL, docs)
	type word struct {
		Question string `json:"question"`
		Title    string `json:"title"`
		Name     string `json:"name"`
	}
	words := []word{
		{"How tall is the lighthouse of Skagen?", "Skagen", "skagen.md"},
		{"What are the harbour dues for sailing boats?", "Harbour", "harbour.md"},
	}
	var got struct {
		Bar, Models, Chips, Quick, Named             []string
		FocusBack, Elsewhere, InScope, Draft, ByName string
		Asked, Versions, Regenerated, StillChosen    string
		Queued                                       struct {
			Text, Draft string
			Questions   int
		}
		Seen seenOnPage
	}
	onPage(t, "composer", p.addr, map[string]any{"words": words}, &got)
	got.Seen.check(t)
	if strings.Join(got.Bar, "|") != "All documents|test-model" {
		t.Errorf("the composer shows %q", got.Bar)
	}
	if all := strings.Join(got.Models, "|"); !strings.Contains(all, "OpenAI · $0.15 in, $0.60 out") || !strings.Contains(all, "Quotes only") {
		t.Errorf("models: %q", all)
	}
	if strings.Join(got.Chips, "|") != "Skagen" || strings.Contains(got.Elsewhere, "180 kroner") || got.InScope != "Skagen" || !strings.Contains(got.FocusBack, "scope") {
		t.Errorf("in scope: %q; elsewhere %q, inside %q; focus on %q", got.Chips, got.Elsewhere, got.InScope, got.FocusBack)
	}
	if strings.Join(got.Quick, "|") != "Skagen" {
		t.Errorf("named before the server has answered: %q", got.Quick)
	}
	if strings.Join(got.Named, "|") != "Harbour" || got.Draft != words[1].Question+" " || got.ByName != "Harbour" {
		t.Errorf("named: %q, the draft is %q, cited %q", got.Named, got.Draft, got.ByName)
	}
	if got.Queued.Questions != 4 || got.Queued.Draft != "" || !strings.Contains(got.Queued.Text, words[1].Question) || got.Asked != words[1].Question {
		t.Errorf("queued: %+v, asked at last: %q", got.Queued, got.Asked)
	}
	if !strings.Contains(got.Versions, "2/2") || !strings.Contains(got.Regenerated, "The model says so.") || got.StillChosen != "Quotes only" {
		t.Errorf("version %q: %q; then chosen: %q", got.Versions, got.Regenerated, got.StillChosen)
	}
}

func TestPage_OpensALongConversationAtItsEndAndLosesNothing(t *testing.T) {
	pageTest(t)
	p := serveIngested(t, nil, pageDocuments(t))
	var got struct {
		First  int
		Opened struct {
			Last, Button string
			AtEnd        bool
			InPage       int
		}
		Jumps    []float64
		Scrolled struct {
			IDs    []string
			Parts  []int
			Button int
		}
		Asked struct {
			History int
			Last    string
			AtEnd   bool
			Kept    []string
		}
		Edited   struct{ History, Kept int }
		Reloaded struct {
			First          int
			Versions, Last string
		}
		Printed  int
		Exported int
		Flat     struct {
			Parent   string
			Messages int
		}
		Kept []string
		Seen seenOnPage
	}
	const messages = 400
	onPage(t, "longchat", p.addr, map[string]any{"messages": messages, "question": "How tall is the lighthouse of Skagen?"}, &got)
	got.Seen.check(t)
	all := make([]string, messages)
	for i := range all {
		all[i] = fmt.Sprintf("m%d", i)
	}
	if o := got.Opened; got.First != 100 || o.Last != "m399" || !o.AtEnd || o.InPage != 200 || o.Button != "Show earlier messages (200)" {
		t.Errorf("opened with %d messages: %+v", got.First, o)
	}
	if s := got.Scrolled; !slices.Equal(s.IDs, all) || !slices.Equal(s.Parts, []int{100, 100, 100, 100}) || s.Button != 0 || len(got.Jumps) > 0 {
		t.Errorf("scrolled to the beginning, with jumps of %v: %+v", got.Jumps, s)
	}
	if a := got.Asked; a.History != 60 || a.Last != "Answer 399" || !a.AtEnd || len(a.Kept) != messages+2 || !slices.Equal(a.Kept[:messages], all) {
		t.Errorf("asked when the end was loaded: %+v", a)
	}
	if e := got.Edited; e.History != 60 || e.Kept != messages+4 {
		t.Errorf("edited an old question: %+v", e)
	}
	if r := got.Reloaded; r.First != 100 || r.Versions != "2/2" || !strings.HasPrefix(r.Last, "An edited question?") {
		t.Errorf("after a reload: %+v", r)
	}
	if shown := messages - 60 + 2; got.Printed != shown {
		t.Errorf("%d messages are printed of %d that are shown", got.Printed, shown)
	}
	if got.Flat.Parent != "f149" || got.Flat.Messages != 252 {
		t.Errorf("edited in a chat whose messages name no parents: %+v", got.Flat)
	}
	if got.Exported != messages+4 || len(got.Kept) != messages+4 || !slices.Equal(got.Kept[:messages], all) {
		t.Errorf("%d messages are exported, and %d are kept of %d", got.Exported, len(got.Kept), messages+4)
	}
}
