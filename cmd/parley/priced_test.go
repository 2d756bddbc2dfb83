package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServe_RefusesBudgetsOfMoneyThatWouldLimitNothing(t *testing.T) {
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("ollama:\n  models:\n    qwen3:8b: {input: 0, output: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	known := []string{"--model", "ollama:qwen3:8b", "--prices", prices}
	for _, c := range []struct {
		name string
		args []string
		want string // in the error; "" for a start that gets as far as the address
	}{
		{"the model", []string{"--model", "ollama:qwen3:8b", "--budgets-user-cost", "5"}, "budgets.user.cost would not limit ollama:qwen3:8b, whose price is not known: "},
		{"the embedder", append(known, "--embedding", "ollama:nomic", "--budgets-namespace-cost", "5"), "budgets.namespace.cost would not limit ollama:nomic, "},
		{"a fallback", append(known, "--fallback", "ollama:other", "--budgets-user-cost", "5"), "would not limit ollama:other, "},
		{"a stage", append(known, "--stages-judge", "ollama:other", "--budgets-user-cost", "5"), "would not limit ollama:other, "},
		{"an agent", append(known, "--team-agents", "[{name: A, model: 'ollama:other'}]", "--budgets-user-cost", "5"), "would not limit ollama:other, "},
		{"all prices are known", append(known, "--budgets-user-cost", "5"), ""},
		{"only built-in models", []string{"--budgets-user-cost", "5"}, ""},
		{"no budget of money", []string{"--model", "ollama:qwen3:8b", "--budgets-user-tokens", "5"}, ""},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--addr", "256.0.0.1:80"}, c.args...)
		code := run(t.Context(), args, &out, &errs, environment(nil))
		if started := strings.Contains(errs.String(), "listen on "); started != (c.want == "") || !strings.Contains(errs.String(), c.want) ||
			!started && code != exitUsage {
			t.Errorf("%s: code %d, %s", c.name, code, errs.String())
		}
	}
}
