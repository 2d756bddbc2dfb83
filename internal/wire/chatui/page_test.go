package chatui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/internal/transcript"
)

// said is a message as the web page reads it.
type said struct {
	MessageID string  `json:"messageId"`
	Parent    *string `json:"parentId,omitempty"`
	Role      string  `json:"role"`
}

// messagesOf reads messages from words such as "q2:a1" (q2 follows a1), "q1:" (a first one), "x" (without a parent).
func messagesOf(t *testing.T, words string) (all []transcript.Message) {
	t.Helper()
	for word := range strings.FieldsSeq(words) {
		id, parent, named := strings.Cut(word, ":")
		m := said{MessageID: id, Role: "user"}
		if named {
			m.Parent = &parent
		}
		switch id[0] {
		case 'a':
			m.Role = "assistant"
		case 's':
			m.Role = "system"
		}
		body, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, transcript.Message{ID: id, Body: body})
	}
	return all
}

func idsOf(messages []transcript.Message) (ids []string) {
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// allPages follows a chat from its end to its beginning.
func allPages(t *testing.T, all []transcript.Message, limit int) (pages [][]transcript.Message) {
	t.Helper()
	for id := ""; ; {
		page, next, ok := pageBefore(all, id, limit)
		if !ok {
			t.Fatalf("before %q there is nothing", id)
		}
		pages = append(pages, page)
		if id = next; id == "" {
			return pages
		}
	}
}

func TestPageBefore_CutsWhereNoVersionIsTornOff(t *testing.T) {
	for _, c := range []struct{ name, words, want string }{
		{"one after the other", "q1: a1:q1 q2:a1 a2:q2 q3:a2 a3:q3", "q3 a3|q2 a2|q1 a1"},
		{"without parents", "q1 a1 q2 a2 q3 a3", "q3 a3|q2 a2|q1 a1"},
		{"an answer that was asked for again", "q1: a1:q1 q2:a1 a2:q2 q3:a2 a3:q3 b3:q3", "q3 a3 b3|q2 a2|q1 a1"},
		{"an old question that was edited", "q1: a1:q1 q2:a1 a2:q2 q3:a2 a3:q3 p2:a1 a4:p2 q5:a4 a5:q5", "q5 a5|a1 q2 a2 q3 a3 p2 a4|q1"},
		{"a first question that was edited", "q1: a1:q1 q2:a1 a2:q2 p1: a4:p1 q5:a4 a5:q5", "q5 a5|q1 a1 q2 a2 p1 a4"},
		{"an old version that was gone on with is not what is shown", "q1: a1:q1 b1:q1 q2:a1 a2:q2 q3:a2 a3:q3", "q1 a1 b1 q2 a2 q3 a3"},
		{"a parent that is missing", "q1: a1:q1 q2:a1 a2:q2 q3:lost a3:q3", "q1 a1 q2 a2 q3 a3"},
		{"a child before its parent", "q1: a1:q1 q2:a1 a2:q3 q3:a1 a3:q3", "a1 q2 a2 q3 a3|q1"},
		{"a circle", "q1:a1 a1:q1 q2:a1 a2:q2", "q1 a1 q2 a2"},
		{"messages that are not shown", "s0 q1: a1:q1 s1 q2:a1 a2:q2", "q2 a2|a1 s1|s0 q1"},
		{"ids that two have", "q1 a1 q1 a2 q3 a3", "q1 a1 q1 a2 q3 a3"},
		{"none", "", ""},
	} {
		all := messagesOf(t, c.words)
		var got []string
		for _, page := range allPages(t, all, 2) {
			got = append(got, strings.Join(idsOf(page), " "))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if page, next, ok := pageBefore(messagesOf(t, "q1 a1"), "q9", 2); ok {
		t.Errorf("before a message that is not there: %v, %q", page, next)
	}
}

// shownOf returns the messages that the web page shows of a part of a chat: from the first one's parent on, the last
// version each time.
func shownOf(messages []transcript.Message) (ids []string) {
	t, _ := treeOf(messages)
	last := map[int]int{}
	for i := range t.ids {
		last[t.parents[i]] = i
	}
	if len(messages) == 0 {
		return nil
	}
	for at, found := last[t.parents[0]]; found && !slices.Contains(ids, t.ids[at]); at, found = last[at] {
		ids = append(ids, t.ids[at])
	}
	return ids
}

func TestPageBefore_ShowsOfEachPartWhatIsShownOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	cut := 0
	for range 2000 {
		var words []string
		for i := range 3 + random.IntN(30) {
			parent := i - 1
			if i > 0 && random.IntN(12) == 0 {
				parent = random.IntN(i)
			}
			if i == 0 || random.IntN(100) == 0 {
				words = append(words, fmt.Sprintf("q%d:", i))
				continue
			}
			words = append(words, fmt.Sprintf("q%d:q%d", i, parent))
		}
		all := messagesOf(t, strings.Join(words, " "))
		whole := shownOf(all)
		limit := 1 + random.IntN(8)
		pages := allPages(t, all, limit)
		var part []transcript.Message
		for i, page := range pages {
			if part = slices.Concat(page, part); len(page) < limit && i < len(pages)-1 {
				t.Fatalf("%q: page %d of %d is shorter than %d", words, i, len(pages), limit)
			}
			if shown := shownOf(part); len(shown) > len(whole) || !slices.Equal(shown, whole[len(whole)-len(shown):]) {
				t.Fatalf("%q from %s on: %q is shown, of the whole %q", words, part[0].ID, shown, whole)
			}
		}
		if !slices.Equal(idsOf(part), idsOf(all)) {
			t.Fatalf("%q in pages is %q", words, idsOf(part))
		}
		cut += len(pages) - 1
	}
	if cut < 2000 {
		t.Errorf("only %d cuts in 2000 chats", cut)
	}
}

func TestMessages_ComeInPagesForThoseWhoAsk(t *testing.T) {
	h := serve(handlerOf(nil, nil))
	var c summary
	called(t, h, "POST", "/api/chat-history", `{}`, &c)
	path := "/api/chat-history/" + c.ID + "/messages"
	list := make([]string, 0, 9)
	for i := range 9 {
		role, parent := "user", ""
		if i%2 == 1 {
			role = "assistant"
		}
		if i > 0 {
			parent = fmt.Sprintf("m%d", i-1)
		}
		list = append(list, fmt.Sprintf(`{"messageId":"m%d","id":"m%d","role":%q,"parentId":%q,"content":"%d"}`, i, i, role, parent, i))
	}
	called(t, h, "PUT", path, `{"messages":[`+strings.Join(list, ",")+`]}`, &summary{})
	get := func(path string) (int, string, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		link, _, _ := strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
		return w.Code, w.Body.String(), link
	}
	want := []string{strings.Join(list[5:], ","), strings.Join(list[1:5], ","), list[0]}
	var got []string
	for next := path + "?limit=4"; next != ""; {
		var body string
		_, body, next = get(next)
		got = append(got, strings.Trim(body, "[]\n"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("in pages of 4: %q\nwant %q", got, want)
	}
	if _, body, next := get(path); strings.Trim(body, "[]\n") != strings.Join(list, ",") || next != "" {
		t.Errorf("without a limit: %s, next %q", body, next)
	}
	for _, bad := range []string{"limit=0", "limit=501", "limit=x", "before=m3", "limit=2&before=m99"} {
		if status, body, _ := get(path + "?" + bad); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", bad, status, body)
		}
	}
	if status, _, _ := get("/api/chat-history/none/messages?limit=4"); status != http.StatusNotFound {
		t.Errorf("of no chat: status %d", status)
	}
}

func TestPageBefore_GoesByTheIDsThatTheChatKeeps(t *testing.T) {
	var all []transcript.Message
	for i := range 6 { // ids are numbers, and there is another field of that name
		body := fmt.Sprintf(`{"messageId":%d,"id":"other%d","role":"user","parentId":%d}`, i+1, i, i)
		if i == 0 {
			body = `{"messageId":1,"id":"other0","role":"user"}`
		}
		all = append(all, transcript.Message{ID: strconv.Itoa(i + 1), Body: json.RawMessage(body)})
	}
	page, next, ok := pageBefore(all, "", 2)
	if !ok || len(page) != 2 || next != "5" {
		t.Fatalf("the last page has %d messages, next %q, %v", len(page), next, ok)
	}
	if page, next, ok = pageBefore(all, next, 2); !ok || len(page) != 2 || next != "3" {
		t.Errorf("the page before it has %d messages, next %q, %v", len(page), next, ok)
	}
}
