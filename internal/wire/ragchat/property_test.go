package ragchat

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/store"
	"parley/internal/turn"
	"parley/internal/wire/wiretest"
)

// realHandler is a Handler with a real engine, runner and store. Only search and models are fakes.
func realHandler(t *testing.T) http.Handler {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), t.TempDir(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	k := newKitchen(t)
	books := ledger.New(db.State(), ledger.Options{Log: log, Price: func(_, _ string, u llm.Usage) ledger.Cost {
		return ledger.Cost{Micros: int64(u.Input + 4*u.Output), Known: true}
	}})
	k.wrap = func(m llm.Model) llm.Model { return books.Meter("test", m) }
	runner := turn.NewRunner(k.engine, db.State(), turn.Options{Log: log})
	return serve(handlerOf(runner, nil, func(c *Config) {
		c.Sessions, c.Ledger, c.Defaults = db.State(), db.State(), k.engine.Defaults()
		c.NewID, c.SessionID, c.Now = nil, nil, time.Now
	}))
}

func send(t *testing.T, h http.Handler, path string, body map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, wiretest.Request(t, "POST "+path+"\nContent-Type: application/json\n\n"+string(raw)))
	if w.Code != http.StatusOK {
		t.Fatalf("POST %s: status %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// randomParams draws some parameters at random.
func randomParams(r *rand.Rand) map[string]any {
	all := map[string]any{
		"top_k": 1 + r.IntN(2), "score_threshold": r.Float64() / 2, "raw_tail_turns": r.IntN(4),
		"summarizer_max_input_tokens": 20 + r.IntN(500), "summarizer_max_output_tokens": 10 + r.IntN(100),
		"temperature": r.Float64(), "top_p": r.Float64(), "max_output_tokens": 1 + r.IntN(600), "render_html": r.IntN(2) == 0,
		"enable_query_rewrite": r.IntN(3) > 0, "rewrite_confidence_threshold": r.Float64(), "rewrite_tail_turns": r.IntN(3),
		"rewrite_summary_turns": r.IntN(4), "clarify": r.IntN(4) == 0, "use_tools": r.IntN(2) == 0, "use_web_search": r.IntN(4) == 0,
		"show_sources": r.IntN(2) == 0, "prompt_domain": []string{"default", "legal"}[r.IntN(2)],
		"model_keys": map[string]string{"inference": fmt.Sprintf("test:m%d", r.IntN(3)), "rerank": []string{"", "test:r"}[r.IntN(2)]},
	}
	for key := range all {
		if r.IntN(3) == 0 {
			delete(all, key)
		}
	}
	return all
}

// TestChat_ASessionAnswersLikeTheStatelessCall holds a conversation in a session, and the same one with
// the history in the body, at another server and with the opposite setting for showing steps. All
// responses must be equal to the byte.
func TestChat_ASessionAnswersLikeTheStatelessCall(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			stateful, stateless := realHandler(t), realHandler(t)
			var session sessionID
			if err := json.Unmarshal([]byte(send(t, stateful, "/chat/session", map[string]any{})), &session); err != nil {
				t.Fatal(err)
			}
			history := []map[string]string{}
			for i := range 6 {
				question := fmt.Sprintf("How high is Mount Whitney (%d)?", i)
				params, shown := randomParams(r), r.IntN(2) == 0
				params["query_id"], params["show_processing_steps"] = "q", shown
				got := send(t, stateful, "/chat/"+session.ID, map[string]any{"message": question, "params": params})
				params["conversation_id"], params["show_processing_steps"] = "c1", !shown
				want := send(t, stateless, "/chat", map[string]any{"message": question, "params": params, "history": history})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("turn %d, %v (-stateless +session): %s", i, params, diff)
				}
				var answer struct{ Answer string }
				if err := json.Unmarshal([]byte(want), &answer); err != nil || answer.Answer == "" {
					t.Fatalf("%v: %s", err, want)
				}
				history = append(history, map[string]string{"role": "user", "content": question},
					map[string]string{"role": "assistant", "content": answer.Answer})
			}
		})
	}
}
