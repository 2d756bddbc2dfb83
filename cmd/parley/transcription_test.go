package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/extract"
	"parley/internal/ledger"
)

func TestTranscription_IsBilledByTheMinute(t *testing.T) {
	t.Parallel()
	refused := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if refused {
			http.Error(w, `{"error":{"message":"no sound"}}`, http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, `{"text":"Hello.","duration":90,"segments":[{"start":0,"end":90,"text":"Hello."}]}`)
	}))
	t.Cleanup(s.Close)
	cfg := DefaultConfig()
	cfg.OpenAIBaseURL, cfg.IngestTranscriber = s.URL+"/v1", "openai:whisper-1"
	cfg.Prices = writeFile(t, "openai:\n  models:\n    whisper-1: {minute: 0.006}\n")
	_, db := openLedger(t, cfg)
	write := quiet(map[string]string{"OPENAI_API_KEY": "key"}).transcription(cfg, db).Write
	send := func() (string, error) { return write(t.Context(), "talk.mp3", strings.NewReader("ID3"), 3) }
	if vtt, err := send(); err != nil || !strings.Contains(vtt, "Hello.") {
		t.Fatalf("%q, %v", vtt, err)
	}
	refused = true
	if _, err := send(); err == nil {
		t.Fatal("a refused recording has no error")
	} else if _, ok := errors.AsType[*extract.Error](err); !ok {
		t.Errorf("%v", err)
	}
	entries, err := db.State().Entries(t.Context(), "")
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	want := map[ledger.Status]ledger.Cost{ledger.Completed: {Micros: 9000, Known: true}, ledger.Failed: {Known: true}}
	for _, e := range entries {
		if e.Stage != chat.StageTranscribe || e.Provider != "openai" || e.Model != "whisper-1" || e.Cost != want[e.Status] {
			t.Errorf("%+v", e)
		}
	}
}
