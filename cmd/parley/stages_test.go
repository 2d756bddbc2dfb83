package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/turn"
)

func TestStages_AreCheckedLikeTheModel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"stages: {rewrite: ['gpt']}":                          `"gpt" is not provider:model`,
		"stages: {rewrite: ['oracle:x']}":                     `"oracle:x" names an unknown provider`,
		"stages: {rewrite: ['builtin:rules', 'ollama:x']}":    `"builtin:rules" never fails`,
		"stages: {rewrite: ['builtin:extractive']}":           `there is builtin:rules`,
		"stages: {summary: ['ollama:x', 'builtin:rules']}":    `there is builtin:none`,
		"stages: {rerank: ['builtin:lexical', 'ollama:x']}":   `"builtin:lexical" never fails`,
		"stages: {rerank: ['oracle:x']}":                      `"oracle:x" names an unknown provider`,
		"stages: {judge: ['builtin:extractive']}":             `there is builtin:words`,
		"models: {allow: ['gpt*']}":                           `"gpt*" is not provider:model`,
		"models: {allow: ['ollama:*', 'oracle:*']}":           `"oracle:*" names an unknown provider`,
		"stages: {summarize: ['ollama:x']}":                   `unknown key "stages.summarize"`,
		"stages: {rewrite: ['ollama:x', 'ollama:y', 'gpt:']}": `"gpt:" is not provider:model`,
	} {
		code, _, stderr := effective(t, nil, "--config", writeFile(t, text))
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %q", text, code, stderr, want)
		}
	}
	code, out, stderr := effective(t, map[string]string{"PARLEY_STAGES_SUMMARY": "ollama:x,builtin:none"}, "--stages-rewrite", "builtin:rules")
	if code != exitOK || !strings.Contains(out, "rewrite: ['builtin:rules']") || !strings.Contains(out, "summary: ['ollama:x', 'builtin:none']") {
		t.Errorf("exit %d: %s\n%s", code, stderr, out)
	}
}

func TestStages_NeedTheKeysOfTheirModels(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.StagesSummary = []string{"ollama:x", "anthropic:y"}
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	if _, err := p.newRouter(cfg, ledger.New(nil, ledger.Options{})); !isUsage(err) || !strings.Contains(err.Error(), "anthropic:y needs an API key") {
		t.Errorf("error = %v", err)
	}
}

func TestStages_HaveFallbacksOfTheirOwn(t *testing.T) {
	t.Parallel()
	down, small, big := llmtest.NewUpstream(t), llmtest.NewUpstream(t), llmtest.NewUpstream(t)
	cfg := DefaultConfig()
	cfg.Model, cfg.OpenAIBaseURL, cfg.Fallback = "openai:400", down.URL, []string{"big:none"}
	cfg.StagesRewrite = []string{"openai:400", "small:none", "builtin:rules"}
	cfg.StagesJudge = []string{"openai:400", "small:none"}
	if err := cfg.Providers.UnmarshalText([]byte(`{small: {base_url: "` + small.URL + `"}, big: {base_url: "` + big.URL + `"}}`)); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	r, err := p.newRouter(cfg, ledger.New(db.State(), ledger.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stage      chat.Stage
		small, big int
	}{
		{chat.StageRewrite, 1, 0},
		{chat.StageSummarize, 1, 1}, // it has no models of its own
		{chat.StageGenerate, 1, 2},
		{chat.StageVerify, 2, 2},
	} {
		m, name, err := r.ResolveFor(string(c.stage), "openai:400")
		if err != nil {
			t.Fatal(err)
		}
		if got := llmtest.Ask(t.Context(), m, llmtest.Question(name)); got.Err != nil {
			t.Errorf("%s: %v", c.stage, got.Err)
		}
		if small.Calls() != c.small || big.Calls() != c.big {
			t.Errorf("after %s: %d calls of its own fallback, %d of the other", c.stage, small.Calls(), big.Calls())
		}
	}
}

func TestPrompts_ListsAndPrintsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "legal", "answer.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("You help lawyers.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	prompts := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"prompts", "--prompts", dir}, args...), &stdout, &stderr, environment(nil))
		return code, stdout.String(), stderr.String()
	}
	code, out, _ := prompts()
	if code != exitOK || !strings.Contains(out, "default/answer (built in)\n") || !strings.Contains(out, "legal/answer ("+file+")\n") ||
		!strings.Contains(out, "legal/rewrite (built in)\n") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if code, out, _ := prompts("default/followups"); code != exitOK || !strings.Contains(out, "suggest {{.Questions}} very brief") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if code, _, stderr := prompts("legal/sing"); code != exitUsage || !strings.Contains(stderr, "there are default/answer, ") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(file, []byte("You help\n{{.Lawyers}}.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"prompts"}, {"serve", "--data", t.TempDir()}} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append(command, "--prompts", dir), &stdout, &stderr, environment(nil))
		if code != exitUsage || !strings.HasPrefix(stderr.String(), "parley: "+file+":2:") {
			t.Errorf("%v: exit %d: %s", command, code, stderr.String())
		}
	}
}

func TestStages_RerankWithTheAPI(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Documents []string }
		if r.URL.Path != "/v1/rerank" || json.NewDecoder(r.Body).Decode(&body) != nil {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		var results []string
		for i, text := range body.Documents {
			score := 0.2
			if strings.Contains(text, "second") {
				score = 0.9
			}
			results = append(results, fmt.Sprintf(`{"index":%d,"relevance_score":%v}`, i, score))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"ranker-1","results":[%s]}`, strings.Join(results, ","))
	}))
	defer api.Close()
	cfg := DefaultConfig()
	cfg.Data = t.TempDir()
	cfg.StagesRerank = []string{"ranker:big", "builtin:lexical"}
	if err := cfg.Providers.UnmarshalText([]byte(`{ranker: {base_url: "` + api.URL + `/v1", rerank: true}}`)); err != nil {
		t.Fatal(err)
	}
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	in, err := p.open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	batch := retrieval.Batch{Namespace: "default"}
	for _, name := range []string{"first", "second", "third"} {
		text := "The annual leave of the " + name + " office."
		batch.Put = append(batch.Put, retrieval.Put{
			Document: retrieval.Document{ID: name, Namespace: "default", Name: name + ".md", Title: name, MediaType: "text/plain"},
			Pages:    []retrieval.Page{{Text: text}},
			Chunks:   []retrieval.Chunk{{Text: text, Spans: []retrieval.Span{{End: len(text)}}}},
		})
	}
	if err := in.corpus.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	ask := func(id string) *chat.Turn {
		req := chat.Request{TurnID: id, Options: in.engine.Defaults(), Messages: []chat.Message{chat.TextMessage(llm.User, "annual leave?")}}
		req.Options.Rerank = true
		turn, err := chat.Collect(in.newRunner(p.log, turn.Options{}).Run(t.Context(), &req))
		if err != nil {
			t.Fatal(err)
		}
		return turn
	}
	best := ask("01J00000000000000000000001").Retrieved.Passages[0]
	if best.Document.Name != "second.md" || best.Scores.Rerank == nil || best.Score != 0.9 {
		t.Errorf("the best passage is %s with %v", best.Document.Name, best.Score)
	}
	entries, err := in.db.State().Entries(t.Context(), "01J00000000000000000000001")
	if err != nil || len(entries) == 0 || entries[0].Stage != chat.StageRerank || entries[0].Model != "big" {
		t.Errorf("ledger: %+v, %v", entries, err)
	}
	api.Close()
	for _, s := range ask("01J00000000000000000000002").Stages {
		if s.Stage == chat.StageRerank && s.Note != "reranked by builtin:lexical, because ranker:big failed" {
			t.Errorf("note = %q", s.Note)
		}
	}
}
