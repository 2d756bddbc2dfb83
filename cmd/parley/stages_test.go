package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/llm/llmtest"
	"parley/internal/store"
	"parley/internal/turn"
)

func TestStages_AreCheckedLikeTheModel(t *testing.T) {
	for text, want := range map[string]string{
		"stages: {rewrite: ['gpt']}":                          `"gpt" is not provider:model`,
		"stages: {rewrite: ['oracle:x']}":                     `"oracle:x" names an unknown provider`,
		"stages: {rewrite: ['builtin:rules', 'ollama:x']}":    `"builtin:rules" never fails`,
		"stages: {rewrite: ['builtin:extractive']}":           `there is builtin:rules`,
		"stages: {summary: ['ollama:x', 'builtin:rules']}":    `there is builtin:none`,
		"stages: {sumary: ['ollama:x']}":                      `unknown key "stages.sumary"`,
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
	cfg := DefaultConfig()
	cfg.StagesSummary = []string{"ollama:x", "anthropic:y"}
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	if _, err := p.newRouter(cfg, turn.NewLedger(nil, turn.LedgerOptions{})); !isUsage(err) || !strings.Contains(err.Error(), "anthropic:y needs an API key") {
		t.Errorf("error = %v", err)
	}
}

func TestStages_HaveFallbacksOfTheirOwn(t *testing.T) {
	down, small, big := llmtest.NewUpstream(t), llmtest.NewUpstream(t), llmtest.NewUpstream(t)
	cfg := DefaultConfig()
	cfg.Model, cfg.OpenAIBaseURL, cfg.Fallback = "openai:400", down.URL, []string{"big:none"}
	cfg.StagesRewrite = []string{"openai:400", "small:none", "builtin:rules"}
	if err := cfg.Providers.UnmarshalText([]byte(`{small: {base_url: "` + small.URL + `"}, big: {base_url: "` + big.URL + `"}}`)); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	r, err := p.newRouter(cfg, turn.NewLedger(db.State(), turn.LedgerOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stage      chat.Stage
		small, big int
	}{
		{chat.StageRewrite, 1, 0},
		{chat.StageSummarize, 1, 1}, // which has no models of its own
		{chat.StageGenerate, 1, 2},
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
