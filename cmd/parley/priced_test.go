package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/test/needs"
)

func TestServe_RefusesBudgetsOfMoneyThatWouldLimitNothing(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("ollama:\n  models:\n    qwen3:8b: {input: 0, output: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	known := []string{"--model", "ollama:qwen3:8b", "--prices", prices}
	for _, c := range []struct {
		name string
		args []string
		want string // part of the error; "" if the start must get as far as listening
	}{
		{"the model", []string{"--model", "ollama:qwen3:8b", "--budgets-user-cost", "5"}, "budgets.user.cost would not limit ollama:qwen3:8b, whose price is not known: "},
		{"the embedder", append(known, "--embedding", "ollama:nomic", "--budgets-namespace-cost", "5"), "budgets.namespace.cost would not limit ollama:nomic, "},
		{"a fallback", append(known, "--fallback", "ollama:other", "--budgets-user-cost", "5"), "would not limit ollama:other, "},
		{"a stage", append(known, "--stages-judge", "ollama:other", "--budgets-user-cost", "5"), "would not limit ollama:other, "},
		{"an agent", append(known, "--team-agents", "[{name: A, model: 'ollama:other'}]", "--budgets-user-cost", "5"), "would not limit ollama:other, "},
		{"all prices are known", append(known, "--budgets-user-cost", "5"), ""},
		{"only built-in models", []string{"--budgets-user-cost", "5"}, ""},
		{"no budget of money", []string{"--model", "ollama:qwen3:8b", "--budgets-user-requests", "5"}, ""},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--addr", "256.0.0.1:80", "--budgets-assumed-price", "0"}, c.args...)
		code := run(t.Context(), args, &out, &errs, environment(nil))
		if started := strings.Contains(errs.String(), "listen on "); started != (c.want == "") || !strings.Contains(errs.String(), c.want) ||
			!started && code != exitUsage {
			t.Errorf("%s: code %d, %s", c.name, code, errs.String())
		}
	}
}

func TestServe_StartsWithAnAssumedPriceForModelsWithoutOne(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	run(t.Context(), []string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--addr", "256.0.0.1:80", "--model", "ollama:qwen3:8b",
		"--stages-judge", "ollama:other", "--budgets-user-cost", "5"}, &out, &errs, environment(nil))
	for _, want := range []string{"listen on ", "ollama:qwen3:8b", "ollama:other", "budgets.user.cost", "$50 for a million tokens", "setting prices"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("missing %q in %s", want, errs.String())
		}
	}
}

func TestPricesAge_WarnsWhenThePricesAreOld(t *testing.T) {
	t.Parallel()
	of := time.Date(2026, 10, 28, 0, 0, 0, 0, time.UTC)
	if got := pricesAge(of, of.AddDate(0, 0, 180)); got != "" {
		t.Errorf("after 180 days: %q", got)
	}
	if got := pricesAge(of, of.AddDate(0, 0, 181)); !strings.Contains(got, "2026-10-28") || !strings.Contains(got, "setting prices") {
		t.Errorf("after 181 days: %q", got)
	}
}
