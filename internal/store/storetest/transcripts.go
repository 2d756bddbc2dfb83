package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/transcript"
)

// Transcripts tests a transcript.Store.
func Transcripts(t *testing.T, open func(t *testing.T) transcript.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, transcripts)
	}{
		{"a saved chat comes back", testChatRoundTrip},
		{"a chat may grow, shrink and change", testChatChanges},
		{"a change that fails changes nothing", testChatFailingChange},
		{"an id belongs to its scope", testChatScopes},
		{"chats are listed, the last updated first", testChatList},
		{"a list goes on where it stopped", testChatPages},
		{"a search sees the scope's messages in order, and those with the words", testChatSearch},
		{"a deleted chat leaves nothing", testChatDelete},
		{"old chats of a kind expire", testChatExpire},
		{"a folder is emptied, and its chats stay", testChatFolders},
		{"a link leads to its chat until it is revoked", testChatLinked},
		{"concurrent changes lose nothing", testChatRace},
		{"a cancelled context saves no chat", testChatCancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, transcripts{tester{t}, open(t)}) })
	}
}

type transcripts struct {
	tester
	transcript.Store
}

// put saves a transcript unchanged.
func (s transcripts) put(scope transcript.Scope, want transcript.Transcript) transcript.Chat {
	s.Helper()
	c, err := s.Save(s.Context(), scope, want.ID, func(t *transcript.Transcript, _ bool) error {
		*t = want
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s transcripts) get(scope transcript.Scope, id string) transcript.Transcript {
	s.Helper()
	t, err := s.Transcript(s.Context(), scope, id)
	if err != nil {
		s.Fatal(err)
	}
	return t
}

var alices = transcript.Scope{Kind: transcript.ChatUI, Namespace: "ns", Owner: "alice"}

// aChat returns a chat of n messages with every field set.
func aChat(id string, n int) transcript.Transcript {
	t := transcript.Transcript{Chat: transcript.Chat{ID: id, Mode: "standard", Title: "Titel ü \x01", LastMessage: "letzte",
		Count: n, CreatedAt: started, UpdatedAt: started.Add(time.Duration(n) * time.Microsecond)}}
	for i := range n {
		t.Messages = append(t.Messages, transcript.Message{ID: fmt.Sprintf("m%d", i),
			Body: json.RawMessage(fmt.Sprintf(`{"id":"m%d","content":"Größe \u0000 %d","x":[1.50,null]}`, i, i))})
	}
	return t
}

func testChatRoundTrip(t *testing.T, s transcripts) {
	want := aChat("c", 3)
	want.Messages[1].ID = ""
	c, err := s.Save(t.Context(), alices, "c", func(t *transcript.Transcript, found bool) error {
		if found {
			s.Error("a new chat was found")
		}
		s.equal("a new chat", transcript.Transcript{Chat: transcript.Chat{ID: "c"}}, *t)
		*t = want
		t.ID, t.Count = "another", 77 // change can set neither
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.equal("what Save returns", want.Chat, c)
	s.equal("chat", want, s.get(alices, "c"))
	s.put(alices, transcript.Transcript{Chat: transcript.Chat{ID: "empty"}})
	s.equal("empty chat", transcript.Transcript{Chat: transcript.Chat{ID: "empty"}}, s.get(alices, "empty"))
}

func testChatChanges(t *testing.T, s transcripts) {
	for _, n := range []int{2, 5, 5, 1, 0, 4} {
		want := aChat("c", n)
		for i := range want.Messages {
			if i%2 == 0 {
				want.Messages[i].Body = json.RawMessage(fmt.Sprintf(`{"of":%d}`, n))
				want.Messages[i].ID = fmt.Sprintf("n%d", n)
			}
		}
		want.Title, want.Mode = fmt.Sprint("title ", n), "multiAgent"
		s.put(alices, want)
		s.equal("chat", want, s.get(alices, "c"))
	}
	_, err := s.Save(t.Context(), alices, "c", func(t *transcript.Transcript, found bool) error {
		if !found || len(t.Messages) != 4 || t.Title != "title 4" {
			s.Errorf("change got %+v, found %v", t, found)
		}
		t.Messages = append(t.Messages, transcript.Message{Body: json.RawMessage(`{}`)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.equal("number of messages", 5, len(s.get(alices, "c").Messages))
}

func testChatFailingChange(t *testing.T, s transcripts) {
	want := aChat("c", 2)
	s.put(alices, want)
	refusal := errors.New("no")
	for _, id := range []string{"c", "new"} {
		_, err := s.Save(t.Context(), alices, id, func(t *transcript.Transcript, _ bool) error {
			t.Title, t.Messages = "changed", nil
			return refusal
		})
		if !errors.Is(err, refusal) {
			t.Errorf("Save: %v, want the error of change", err)
		}
	}
	s.equal("chat", want, s.get(alices, "c"))
	if _, err := s.Transcript(t.Context(), alices, "new"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("a chat that was not saved: %v, want ErrNotFound", err)
	}
}

func testChatScopes(t *testing.T, s transcripts) {
	ctx := t.Context()
	mine := aChat("c", 1)
	s.put(alices, mine)
	strange := []transcript.Scope{
		{Kind: transcript.Azure, Namespace: "ns", Owner: "alice"},
		{Kind: transcript.ChatUI, Namespace: "ns", Owner: "bob"},
		{Kind: transcript.ChatUI, Namespace: "other", Owner: "alice"},
		{Kind: transcript.ChatUI, Namespace: "ns"},
		{Kind: transcript.ChatUI, Namespace: "nsa", Owner: "lice"},
	}
	for _, scope := range strange {
		if _, err := s.Transcript(ctx, scope, "c"); !errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("Transcript for %+v: %v, want ErrNotFound", scope, err)
		}
		if err := s.Delete(ctx, scope, "c"); !errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("Delete for %+v: %v, want ErrNotFound", scope, err)
		}
		chats, err := s.Chats(ctx, scope, transcript.List{})
		if err != nil || len(chats) > 0 {
			t.Errorf("Chats for %+v: %v, %v", scope, chats, err)
		}
	}
	for i, scope := range strange { // each scope stores a chat with the same id
		own := aChat("c", i)
		s.put(scope, own)
		s.equal("own chat", own, s.get(scope, "c"))
	}
	s.equal("alice's chat", mine, s.get(alices, "c"))
}

func testChatList(t *testing.T, s transcripts) {
	at := map[string]int{"a": 3, "b": 9, "c": 3, "d": 5}
	for id, minute := range at {
		c := aChat(id, 1)
		c.UpdatedAt = started.Add(time.Duration(minute) * time.Minute)
		if id == "a" || id == "d" {
			c.Mode = "multiAgent"
		}
		s.put(alices, c)
	}
	for mode, want := range map[string]string{"": "bdca", "multiAgent": "da", "standard": "bc", "none": ""} {
		chats, err := s.Chats(t.Context(), alices, transcript.List{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		s.equal("order of mode "+mode, want, ids(chats))
		for _, c := range chats {
			s.equal("chat in the list", s.get(alices, c.ID).Chat, c)
		}
	}
}

func ids(chats []transcript.Chat) (joined string) {
	for _, c := range chats {
		joined += c.ID
	}
	return joined
}

func testChatPages(t *testing.T, s transcripts) {
	for i, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		c := aChat(id, 1)
		c.UpdatedAt = started.Add(time.Duration(i/3) * time.Minute) // three at a time are equal
		s.put(alices, c)
	}
	var list transcript.List
	var got string
	for list.Limit = 2; ; {
		page, err := s.Chats(t.Context(), alices, list)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got += ids(page) + "|"
		last := page[len(page)-1]
		list.Before = &transcript.Place{UpdatedAt: last.UpdatedAt, ID: last.ID}
	}
	s.equal("pages", "gf|ed|cb|a|", got)
	for id, change := range map[string]func(*transcript.Transcript){
		"b": func(t *transcript.Transcript) { t.Pinned = true },
		"e": func(t *transcript.Transcript) { t.Folder = "x" },
	} {
		c := s.get(alices, id)
		change(&c)
		s.put(alices, c)
	}
	for part, want := range map[transcript.Part]string{transcript.Every: "gfedcba", transcript.Kept: "eb", transcript.Loose: "gfdca"} {
		page, err := s.Chats(t.Context(), alices, transcript.List{Part: part})
		if err != nil {
			t.Fatal(err)
		}
		s.equal(fmt.Sprint("part ", part), want, ids(page))
	}
}

func testChatLinked(t *testing.T, s transcripts) {
	ctx := t.Context()
	want := aChat("c", 3)
	want.Link = transcript.Link{ID: "secret", Messages: 2, At: started.Add(time.Microsecond)}
	s.equal("what Save returns", want.Chat, s.put(alices, want))
	s.put(alices, aChat("d", 1))
	scope, got, err := s.Linked(ctx, "secret")
	if err != nil {
		t.Fatal(err)
	}
	s.equal("scope", alices, scope)
	s.equal("linked chat", want, got)
	missing := func(link string) {
		t.Helper()
		if _, got, err := s.Linked(ctx, link); !errors.Is(err, transcript.ErrNotFound) || got.ID != "" {
			t.Errorf("the link %q leads to %q, %v", link, got.ID, err)
		}
	}
	for _, link := range []string{"", "Secret", "secret ", "secre%", "c"} {
		missing(link)
	}
	want.Link = transcript.Link{}
	s.put(alices, want)
	missing("secret")
	want.Link.ID = "another"
	s.put(alices, want)
	if err := s.Delete(ctx, alices, "c"); err != nil {
		t.Fatal(err)
	}
	missing("another")
}

func testChatFolders(t *testing.T, s transcripts) {
	for id, folder := range map[string]string{"a": "f", "b": "f", "c": "g", "d": ""} {
		c := aChat(id, 1)
		c.Folder = folder
		s.equal("what Save returns", c.Chat, s.put(alices, c))
	}
	bobs := alices
	bobs.Owner = "bob"
	other := aChat("a", 1)
	other.Folder = "f"
	s.put(bobs, other)
	if err := s.Unfile(t.Context(), alices, "f"); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": "", "b": "", "c": "g", "d": ""} {
		s.equal("folder of "+id, want, s.get(alices, id).Folder)
	}
	s.equal("folder of another owner's chat", "f", s.get(bobs, "a").Folder)
}

func testChatSearch(t *testing.T, s transcripts) {
	for id, minute := range map[string]int{"a": 1, "b": 3, "c": 2} {
		c := aChat(id, 0)
		c.UpdatedAt = started.Add(time.Duration(minute) * time.Minute)
		c.Pinned = id == "a"
		if id == "c" {
			c.Mode = "multiAgent"
		}
		for i, body := range []string{`{"content":"Größe der Pumpe"}`, `{"content":"100%_\\ of PUMP"}`} {
			c.Messages = append(c.Messages, transcript.Message{ID: fmt.Sprintf("%s%d", id, i), Body: json.RawMessage(body)})
		}
		c.Count = len(c.Messages)
		s.put(alices, c)
	}
	for _, other := range []transcript.Scope{{Kind: transcript.Azure, Namespace: "ns", Owner: "alice"}, {Kind: transcript.ChatUI, Namespace: "ns", Owner: "bob"},
		{Kind: transcript.ChatUI, Namespace: "other", Owner: "alice"}} {
		stranger := aChat("s", 1)
		stranger.Messages[0].Body = json.RawMessage(`{"content":"pump"}`)
		s.put(other, stranger)
	}
	search := func(mode string, words []string, most int) (seen string) {
		t.Helper()
		err := s.Search(t.Context(), alices, mode, words, func(h transcript.Hit) bool {
			if want := s.get(alices, h.Chat.ID); h.Chat != want.Chat || !slices.ContainsFunc(want.Messages, func(m transcript.Message) bool {
				return m.ID == h.Message.ID && string(m.Body) == string(h.Message.Body)
			}) {
				t.Errorf("%s of %+v is not as it was stored", h.Message.ID, h.Chat)
			}
			seen += h.Message.ID + " "
			most--
			return most > 0
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	s.equal("every message", "b0 b1 c0 c1 a0 a1 ", search("", nil, 100))
	s.equal("of a mode", "b0 b1 a0 a1 ", search("standard", nil, 100))
	s.equal("until it is enough", "b0 b1 c0 ", search("", nil, 3))
	for _, m := range []string{"b1", "c1", "a1"} {
		if got := search("", []string{"pump", "of"}, 100); !strings.Contains(got, m) {
			t.Errorf("a search for words of %s has seen %s", m, got)
		}
	}
}

func testChatDelete(t *testing.T, s transcripts) {
	s.put(alices, aChat("c", 3))
	kept := aChat("kept", 1)
	s.put(alices, kept)
	if err := s.Delete(t.Context(), alices, "c"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Transcript(t.Context(), alices, "c"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("Transcript of a deleted chat: %v, want ErrNotFound", err)
	}
	if err := s.Delete(t.Context(), alices, "c"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("Delete of a deleted chat: %v, want ErrNotFound", err)
	}
	again := aChat("c", 1)
	s.put(alices, again)
	s.equal("a chat of the same id", again, s.get(alices, "c"))
	s.equal("another chat", kept, s.get(alices, "kept"))
}

func testChatRace(t *testing.T, s transcripts) {
	const writers, each = 8, 6
	var wg sync.WaitGroup
	errs := make(chan error, writers*each)
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				_, err := s.Save(t.Context(), alices, "c", func(t *transcript.Transcript, _ bool) error {
					t.Messages = append(t.Messages, transcript.Message{ID: fmt.Sprint(w, "-", n), Body: json.RawMessage(`{}`)})
					return nil
				})
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	got := s.get(alices, "c")
	seen := map[string]bool{}
	for _, m := range got.Messages {
		seen[m.ID] = true
	}
	if len(seen) != writers*each || got.Count != writers*each {
		t.Errorf("of %d messages %d are there, and %d are counted", writers*each, len(seen), got.Count)
	}
}

func testChatCancelled(t *testing.T, s transcripts) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Save(ctx, alices, "c", func(*transcript.Transcript, bool) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Save: %v, want the context's error", err)
	}
	if _, err := s.Transcript(t.Context(), alices, "c"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("the chat was saved: %v", err)
	}
}

func testChatExpire(t *testing.T, s transcripts) {
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put := func(kind transcript.Kind, owner, id string, at time.Time) {
		c := transcript.Transcript{Chat: transcript.Chat{ID: id, CreatedAt: at, UpdatedAt: at}}
		c.Messages = []transcript.Message{{ID: "m", Body: json.RawMessage(`{}`)}}
		s.put(transcript.Scope{Kind: kind, Namespace: "default", Owner: owner}, c)
	}
	put(transcript.Responses, "anna", "a", old)
	put(transcript.Responses, "bert", "b", old.Add(time.Hour))
	put(transcript.Responses, "", "c", old.Add(2*time.Hour))
	put(transcript.ChatUI, "anna", "d", old)
	for _, want := range []int{1, 1, 0} {
		if n, err := s.Expire(t.Context(), transcript.Responses, old.Add(2*time.Hour), 1); n != want || err != nil {
			t.Errorf("expired %d, %v, want %d", n, err, want)
		}
	}
	s.get(transcript.Scope{Kind: transcript.Responses, Namespace: "default"}, "c")
	s.get(transcript.Scope{Kind: transcript.ChatUI, Namespace: "default", Owner: "anna"}, "d")
	if _, err := s.Transcript(t.Context(), transcript.Scope{Kind: transcript.Responses, Namespace: "default", Owner: "anna"}, "a"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("the old one is there: %v", err)
	}
}
