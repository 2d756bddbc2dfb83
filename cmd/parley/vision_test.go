package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/extract"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

// visionOf returns a function that has the model of a server read a picture and does not pause between attempts, the pauses that it
// skipped, and a function that returns the ledger's entries.
func visionOf(t *testing.T, url, model string) (read func() (string, error), waits *[]time.Duration, entries func() []ledger.Entry) {
	t.Helper()
	retries := visionRetries
	waits = new([]time.Duration)
	retries.Sleep = func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}
	cfg := DefaultConfig()
	cfg.OpenAIBaseURL, cfg.IngestOCRModel = url, "openai:"+model
	cfg.Prices = writeFile(t, "openai:\n  models:\n    eyes: {input: 10, cached: 1, output: 20}\n")
	if err := cfg.checkOCRModel(); err != nil {
		t.Fatal(err)
	}
	_, db := openLedger(t, cfg)
	vision := quiet(map[string]string{"OPENAI_API_KEY": "key"}).vision(cfg, db, retries)
	read = func() (string, error) { return vision.Read(t.Context(), []byte("\xff\xd8 a picture")) }
	entries = func() []ledger.Entry {
		all, err := db.State().Entries(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	return read, waits, entries
}

func TestVision_AModelGetsThePictureAndItsAnswerIsBilled(t *testing.T) {
	t.Parallel()
	u := llmtest.NewUpstream(t)
	read, _, entries := visionOf(t, u.URL, "eyes")
	text, err := read()
	if err != nil || !strings.HasPrefix(text, "tok0 tok1") {
		t.Fatalf("%q, %v", text, err)
	}
	body, _ := u.Last()
	var sent struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	var parts []struct {
		Type, Text string
		ImageURL   struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(sent.Messages[len(sent.Messages)-1].Content, &parts); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if len(parts) != 2 || parts[1].Type != "image_url" || parts[1].ImageURL.URL != "data:image/jpeg;base64,/9ggYSBwaWN0dXJl" ||
		!strings.Contains(parts[0].Text, "Add nothing") {
		t.Errorf("%s", body)
	}
	all := entries()
	if len(all) != 1 || all[0].Stage != chat.StageRecognise || all[0].Model != "eyes" || all[0].Status != ledger.Completed ||
		all[0].Cost.Micros <= 0 || all[0].TurnID != "" {
		t.Errorf("%+v", all)
	}
}

func TestVision_SaysWhetherOnePageIsRefusedOrNoneCanBeRead(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]extract.Reason{
		"400": extract.ScanOnly, "filter": extract.ScanOnly, "filtered": extract.ScanOnly, "401": "", "404": "", "html": "", "badjson": "",
	} {
		u := llmtest.NewUpstream(t)
		read, _, _ := visionOf(t, u.URL, fault)
		_, err := read()
		refused, isPage := errors.AsType[*extract.Error](err)
		if err == nil || isPage != (want != "") || isPage && refused.Reason != want {
			t.Errorf("%s: %v", fault, err)
		}
		if isPage && strings.Contains(refused.Detail, llmtest.Key) {
			t.Errorf("%s: %s", fault, refused.Detail)
		}
	}
}

func TestVision_WhatIsNoTranscriptionRefusesThePage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer llm.Completion
		err    error
		want   string
	}{
		"a page":            {answer: llm.Completion{Text: "# Fees\n\nSorry, we are closed.", FinishReason: "stop"}},
		"a page of regrets": {answer: llm.Completion{Text: "Sorry for the wait. " + strings.Repeat("We help you to read the fees. ", 20), FinishReason: "stop"}},
		"nothing":           {answer: llm.Completion{Text: " \n", FinishReason: "stop"}, want: "answers with nothing"},
		"an apology":        {answer: llm.Completion{Text: "I'm sorry, but I can't assist with that.", FinishReason: "stop"}, want: "refuses"},
		"a repetition":      {answer: llm.Completion{Text: strings.Repeat("the ", 9000), FinishReason: "length"}, want: "writes too much"},
		"a long reply":      {err: fmt.Errorf("%w: over 9 bytes", llm.ErrReplyTooLong), want: "writes too much"},
		"a late reply":      {err: context.DeadlineExceeded, want: "too long"},
		"silence":           {err: &llm.Error{Silent: true, Err: errors.New("no reply")}, want: "too long"},
	} {
		err := aboutPage(c.answer, c.err)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVision_WaitsForItsTurnAtABusyServer(t *testing.T) {
	t.Parallel()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls < 5 {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"# Fees"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	read, waits, entries := visionOf(t, s.URL+"/v1", "eyes")
	if text, err := read(); err != nil || text != "# Fees" || len(entries()) != 5 {
		t.Errorf("%q, %v, %+v", text, err, entries())
	}
	if len(*waits) != 4 || slices.Min(*waits) < 30*time.Second {
		t.Errorf("waits %v, want four of at least the 30 s that the server asks for", *waits)
	}
}

func TestVision_NeedsAModelThatMayReadPictures(t *testing.T) {
	t.Parallel()
	for model, ok := range map[string]bool{"": true, "openai:gpt-4.1-mini": true, "builtin:extractive": false, "nobody:x": false, "gpt": false} {
		cfg := DefaultConfig()
		if cfg.IngestOCRModel = model; (cfg.checkOCRModel() == nil) != ok {
			t.Errorf("%q: %v", model, cfg.checkOCRModel())
		}
	}
}
