package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// startListener starts an OpenAI-compatible server that answers everything alike. heard returns the system messages that it got.
func startListener(t *testing.T) (url string, heard func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, "no request", http.StatusBadRequest)
			return
		}
		mu.Lock()
		for _, m := range request.Messages {
			if m.Role == "system" {
				all = append(all, m.Content)
			}
		}
		mu.Unlock()
		scriptedAnswer{text: "It is 46 metres tall [skagen.md]."}.send(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestPage_OwnersSayWhatModelsAreTold(t *testing.T) {
	pageTest(t)
	url, heard := startListener(t)
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + url + "/v1"}
	addr, keys := serveWithRoles(t, env, "--model", "openai:test-model", "--stages-rewrite", "builtin:rules", "--stages-summary", "builtin:none")
	const text = "Give heights in feet, too.\n<img src=x onerror=__ran()> $1"
	var got struct {
		Findings            []string
		Saved, Read, Answer string
		Fields              int
		Removed             string
		Arabic              []any
		Seen                seenOnPage
	}
	onPage(t, "instructions", addr, map[string]any{"admin": keys["admin"], "reader": keys["reader"], "text": text, "shots": os.Getenv("PARLEY_UI_SHOTS")}, &got)
	got.Seen.check(t)
	for _, finding := range got.Findings {
		t.Error(finding)
	}
	if got.Saved != text || got.Read != text || got.Fields != 0 || got.Removed != "" {
		t.Errorf("saved %q; a reader sees %q and %d fields; removed: %q", got.Saved, got.Read, got.Fields, got.Removed)
	}
	if all := heard(); len(all) != 2 || !strings.Contains(all[0], "\n\n"+text) || strings.Contains(all[1], "in feet") || !strings.Contains(got.Answer, "46 metres") {
		t.Errorf("the model heard %q; answer %q", all, got.Answer)
	}
	if len(got.Arabic) != 3 || got.Arabic[0] != "rtl" || got.Arabic[1] != false || got.Arabic[2] != "تعليمات المجموعة الرئيسية" {
		t.Errorf("in Arabic: %v", got.Arabic)
	}
}
