package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// maxLoaded is the limit in bytes of a first load as it is sent: files, answers and their headers.
const maxLoaded = 88_000

func TestPage_IsLightAlsoWhereThereAreDocumentsAndConversations(t *testing.T) {
	pageTest(t)
	files := map[string]string{}
	for i := range 120 {
		var b strings.Builder
		fmt.Fprintf(&b, "# Report %d of the harbour\n", i)
		for part := range 6 {
			fmt.Fprintf(&b, "\n## Section %d-%d\n", i, part)
			for line := range 30 {
				fmt.Fprintf(&b, "\nBoat %x of quay %x pays %d kroner.", (i+1)*(line+7)*7919, (part+3)*(line+1)*104729, i*line)
			}
		}
		files[fmt.Sprintf("report-%03d.md", i)] = b.String()
	}
	p := serveIngested(t, nil, folderOf(t, files))
	for i := range 100 {
		storeChat(t, p.addr,
			map[string]any{"messageId": "q", "role": "user", "content": fmt.Sprintf("What did boat %x pay at quay %x?", (i+1)*7919*7919, (i+3)*104729*31)},
			map[string]any{"messageId": "a", "role": "assistant", "content": fmt.Sprintf("It paid %d kroner.", i*i), "parentId": "q"})
	}
	for _, locale := range []string{"en-US", "ar"} { // the texts in Arabic are the longest
		var got struct {
			Bytes, Requests float64
			Conversations   int
			Questions       int
		}
		onPage(t, "bench", p.addr, map[string]any{"kind": "load", "locale": locale}, &got)
		t.Logf("in %s %.0f bytes in %.0f requests", locale, got.Bytes, got.Requests)
		if got.Bytes > maxLoaded || got.Conversations < 50 || got.Questions != 4 {
			t.Errorf("in %s %.0f bytes are loaded, at most %d are allowed; %d conversations and %d questions are shown",
				locale, got.Bytes, maxLoaded, got.Conversations, got.Questions)
		}
	}
}

// storeChat stores a conversation and returns its id.
func storeChat(t *testing.T, addr string, messages ...map[string]any) string {
	t.Helper()
	chats := "http://" + addr + "/api/chat-history"
	var chat struct{ ID string }
	status, body, err := call(http.MethodPost, chats, `{"mode":"standard"}`)
	if err != nil || json.Unmarshal([]byte(body), &chat) != nil || chat.ID == "" {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	raw, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err = call(http.MethodPut, chats+"/"+chat.ID+"/messages", string(raw)); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return chat.ID
}
