package main

import (
	"fmt"
	"net/http"
	"testing"
)

// evaluation is a body with two questions that a model rewrites.
func evaluation(user string) string {
	const question = `{"question":"How high is it?","gold":["peaks.md"],"history":[
		{"role":"user","content":"Do you know Mount Everest?"},{"role":"assistant","content":"It is a mountain in Nepal."}]}`
	return fmt.Sprintf(`{"user_id":%q,"modes":["text","hybrid"],"model_keys":{"rewrite":"openai:gpt-4o-mini"},"questions":[%s,%s]}`, user, question, question)
}

// An evaluation counts as one request for budgets, and its model calls are in the ledger.
func TestRetrievalEvals_AreOnTheBillOfTheirUser(t *testing.T) {
	t.Parallel()
	flags := []string{"--budgets-user-requests", "2"}
	s := startRAGChat(t, flags...)
	for _, path := range []string{"/retrieval-evals/run", "/p/ragchat/retrieval-evals/run"} {
		r, err := s.send(path, evaluation("u1"))
		if err != nil || r.status != http.StatusOK || r.Turn.Totals.Cost.Total == 0 {
			t.Fatalf("%s: status %d, %v: %s", path, r.status, err, r.body)
		}
		_, spent := s.usage(t, "user")
		want := micros(r.Turn.Totals.Cost.Total)
		if path != "/retrieval-evals/run" {
			want *= 2
		}
		if rows, _ := s.usage(t, "turn"); spent != want || len(rows) == 0 {
			t.Errorf("%s: %d micro-dollars are on the bill, want %d: %v", path, spent, want, rows)
		}
	}
	if calls := s.openai.Calls(); calls != 8 {
		t.Errorf("the model was called %d times, want once for each question in each mode", calls)
	}
	if r, err := s.send("/retrieval-evals/run", evaluation("u1")); err != nil || r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "" {
		t.Errorf("over the budget: status %d, %v: %s", r.status, err, r.body)
	}
	if r, err := s.send("/retrieval-evals/run", evaluation("u2")); err != nil || r.status != http.StatusOK {
		t.Errorf("another user: status %d, %v: %s", r.status, err, r.body)
	}
}

func TestRetrievalEvals_MayNameWhatTheServerAllowsOnly(t *testing.T) {
	t.Parallel()
	s := startRAGChat(t, "--models-allow", "gemini:*")
	if r, err := s.send("/retrieval-evals/run", evaluation("u1")); err != nil || r.status != http.StatusBadRequest || s.openai.Calls() != 0 {
		t.Errorf("status %d, %v: %s", r.status, err, r.body)
	}
}
