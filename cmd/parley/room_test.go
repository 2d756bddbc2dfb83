package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/test/needs"
)

// answerOf makes a request and decodes its answer.
func answerOf(t *testing.T, method, url, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: status %d, %v: %s", method, url, res.StatusCode, err, text)
	}
	if s, ok := into.(*string); ok {
		*s = string(text)
	} else if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestServe_BoundsWhatPeopleWithoutSignInStore(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	p := startServe(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--limits-chats", "20")
	waitServing(t, p.addr)
	base := "http://" + p.addr
	var session struct {
		ID string `json:"session_id"`
	}
	for i := range 100 {
		answerOf(t, http.MethodPost, base+"/chat/session", "", &session)
		var created any
		answerOf(t, http.MethodPost, base+"/api/chat-history", fmt.Sprintf(`{"title":"chat %d"}`, i), &created)
		answerOf(t, http.MethodPost, base+"/chat_history", fmt.Sprintf(`{"id":"h%d","answers":[["q",{}]]}`, i), &created)
	}
	var page string
	for range 600 {
		answerOf(t, http.MethodGet, base+"/metrics", "", &page)
		if strings.Contains(page, `parley_evicted_total{kind="conversations"} 80`) && strings.Contains(page, `parley_evicted_total{kind="chats"} 180`) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	var list struct {
		Sessions []struct {
			ID string `json:"session_id"`
		} `json:"sessions"`
	}
	answerOf(t, http.MethodGet, base+"/chat/sessions?limit=1000", "", &list)
	if len(list.Sessions) != 20 || list.Sessions[0].ID != session.ID {
		t.Errorf("%d sessions are left, the newest of them is not %s: %v", len(list.Sessions), session.ID, list.Sessions)
	}
}
