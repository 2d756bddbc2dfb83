package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"parley/test/needs"
)

// uiShown is a message as a page made with the AI SDK shows it; aisdk.mjs prints it.
type uiShown struct {
	ID, Text    string
	URLs, Files []string
	Model       string
}

// uiCall is the record of a call that aisdk.mjs prints.
type uiCall struct {
	Answer, Next, Resumed, Regenerated, Final, Stopped uiShown
	Attached                                           uiShown
	Failed, Refused, Thrown, Status                    string
	Messages                                           int
	Ran                                                []string
	Ended                                              *json.RawMessage
}

// held is a model that waits in the middle of its answer to a question with HOLD, until /go is asked for.
type held struct {
	up *upstream
	on chan bool
}

func (h held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/go" {
		h.on <- true
		return
	}
	body, _ := io.ReadAll(r.Body)
	switch text := string(body); {
	case strings.Contains(text, "HOLD"):
		w.Header().Set("Content-Type", "text/event-stream")
		writePiece(w, upstreamPieces[0])
		select {
		case <-h.on:
		case <-r.Context().Done():
			return
		}
		writePiece(w, upstreamPieces[1]+upstreamPieces[2])
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(text, "WEATHER") {
			able(w, r)
		} else {
			h.up.serve(w, r)
		}
	}
}

func TestSDK_TheAISDKUnderstandsEveryAnswer(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	model := held{&upstream{}, make(chan bool)}
	up := httptest.NewServer(model)
	t.Cleanup(up.Close)
	docs := folderOf(t, map[string]string{"lighthouse.md": "# The lighthouse\n\nThe lighthouse is 46 metres tall.\n"})
	for name, client := range map[string]string{"ai5": "ai5", "ai6": "ai6", "ai": "ai", "react": "@ai-sdk/react"} {
		t.Run(name, func(t *testing.T) {
			dir := requireSDK(t, client)
			p := startServe(t, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + up.URL + "/v1"},
				docs, "--data", t.TempDir(), "--model", "openai:test-model")
			if err := awaitIngested(p.addr); err != nil {
				t.Fatal(err)
			}
			got := callAISDK(t, dir, "http://"+p.addr+"/api/chat", up.URL, name)
			if got.Thrown != "" {
				t.Fatalf("the client threw %s", got.Thrown)
			}
			const answer = "The lighthouse is 46 metres tall [lighthouse.md]."
			shows := func(what string, m uiShown) {
				want := []string{"http://" + p.addr + "/content/lighthouse.md"}
				if m.Text != answer || !slices.Equal(m.URLs, want) || !slices.Equal(m.Files, []string{"lighthouse.md"}) || m.Model != "test-model" {
					t.Errorf("%s shows as %+v", what, m)
				}
			}
			shows("the answer", got.Answer)
			const failed = "The model is not available at the moment."
			if !strings.Contains(got.Failed, failed) || strings.Contains(got.Failed, "{") || strings.Contains(got.Failed, upstreamSecret) {
				t.Errorf("a failure shows as %q", got.Failed)
			}
			if name == "react" {
				shows("the answer that was asked for again", got.Regenerated)
				if a := got.Attached; a.Text != answer || len(a.URLs) > 0 || !slices.Equal(a.Files, []string{"lighthouse.md"}) {
					t.Errorf("the answer from an attached document shows as %+v", a)
				}
				slices.Sort(got.Ran)
				if got.Messages != 2 || got.Regenerated.ID == got.Answer.ID || !slices.Equal(got.Ran, []string{"Bergen", "Oslo"}) ||
					!strings.Contains(got.Final.Text, "20 in Oslo") || !strings.Contains(got.Stopped.Text, upstreamPieces[0]) || got.Status != "ready" {
					t.Errorf("the page shows %+v", got)
				}
				return
			}
			shows("the second answer", got.Next)
			shows("an answer that was read again", got.Resumed)
			if got.Ended != nil || !strings.Contains(got.Refused, `{"error":"`) {
				t.Errorf("the page sees %+v", got)
			}
		})
	}
}

func callAISDK(t *testing.T, dir, api, upstream, client string) (got uiCall) {
	t.Helper()
	cmd := exec.Command("node", "aisdk.mjs", api, upstream, client)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run aisdk.mjs: %v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("read %s: %v", out, err)
	}
	return got
}
