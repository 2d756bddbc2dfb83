package price_test

import (
	"strings"
	"testing"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/price"
)

func TestBuiltin_KnowsTheModelsOfToday(t *testing.T) {
	p := price.Builtin()
	if d := price.Date(); d.Before(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)) || d.After(time.Now()) {
		t.Errorf("the catalogue is of %v", d)
	}
	for key, want := range map[string]int64{ // prices of a million tokens of input, a tenth of them in prompts that are not long
		"openai:gpt-6.1-sol": 200_000, "openai:gpt-6-luna": 10_000, "openai:gpt-5.2": 175_000, "openai:gpt-5-nano": 5000, "openai:o3": 200_000,
		"openai:gpt-5.4":            250_000, // of prices.yaml
		"anthropic:claude-mythos-5": 1_000_000, "anthropic:claude-sonnet-4-5": 300_000, "anthropic:claude-sonnet-4-5-20250929": 300_000,
		"gemini:gemini-4-argon": 200_000, "gemini:gemini-2.5-pro": 125_000,
		"openai:gpt-4o-2024-05-13": 500_000, "openai:gpt-4o-2024-11-20": 250_000,
	} {
		provider, model, _ := strings.Cut(key, ":")
		got, known := p.Cost(provider, model, llm.Usage{Input: 100_000}, today)
		if found, _ := p.Find(provider, model); got != want || !known || found.Context == 0 {
			t.Errorf("%s: %d, %v for 100,000 tokens, context %d; want %d", key, got, known, found.Context, want)
		}
	}
}

// Only a model's own name has its price, and no name that looks like it.
func TestBuiltin_NeverTakesOneModelForAnother(t *testing.T) {
	p := price.Builtin()
	for _, key := range []string{
		"openai:ft:gpt-4o-mini:acme::abc", "openai:openai/gpt-4o", "openai:gpt-4o-audio-preview", "openai:gpt-5-preview", "openai:gpt-4", "openai:GPT-4O",
		"azure-openai:gpt-4o", "azure-openai:prod", "ollama:gpt-oss", "anthropic:claude", "anthropic:claude-sonnet-5-6", "anthropic:anthropic.claude-sonnet-5-v1:0",
		"gemini:models/gemini-2.5-pro", "gemini:auto", "openrouter:openai/gpt-4o", "openai:", "openai:*",
	} {
		provider, model, _ := strings.Cut(key, ":")
		if found, ok := p.Find(provider, model); ok {
			t.Errorf("%s: %+v", key, found)
		}
	}
	if _, known := p.Cost("openai", "gpt-6-sol", llm.Usage{Input: 300_000}, today); known {
		t.Error("the catalogue does not know what long prompts cost")
	}
	if _, known := p.Cost("openai", "gpt-5.5-pro", llm.Usage{Input: 10, Cached: 5}, today); known {
		t.Error("the catalogue has no cached price there")
	}
}

func TestAt_HasThePricesOfAServerByItsAddress(t *testing.T) {
	p := price.Builtin()
	for url, want := range map[string]bool{
		"https://api.deepseek.com/v1": true, "https://api.deepseek.com/v1/": true, "https://api.deepseek.com": false, "http://api.deepseek.com/v1": false,
		"https://api.deepseek.com.evil.example/v1": false, "": false, "http://127.0.0.1:8000/v1": false,
	} {
		if _, ok := p.At("mine", url).Find("mine", "deepseek-v4-flash"); ok != want {
			t.Errorf("%q: %v, want %v", url, ok, want)
		}
	}
	over, err := p.At("or", "https://openrouter.ai/api/v1").With(strings.NewReader("or: {models: {x: {input: 1, output: 1}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(over.Models("or")); n < 200 {
		t.Errorf("%d models of OpenRouter", n)
	}
	if _, ok := p.Find("mine", "deepseek-v4-flash"); ok || len(p.Models("or")) > 0 {
		t.Error("the built-in table was changed")
	}
	if gone := p.Without("openai"); len(gone.Models("openai")) > 0 {
		t.Error("a server in the place of OpenAI's has its prices")
	}
}

func TestBuiltin_EveryPriceCanBe(t *testing.T) {
	count := 0
	for _, table := range price.All() {
		for provider, models := range table {
			for name, p := range models {
				count++
				if p.Input <= 0 || p.Output <= 0 || p.Cached != nil && (*p.Cached <= 0 || *p.Cached > p.Input/2) || p.Context < 0 || p.Above < 0 || name == "*" {
					t.Errorf("%s %s: %+v", provider, name, p)
				}
			}
		}
	}
	if count < 1500 {
		t.Errorf("%d models", count)
	}
}

func BenchmarkBuiltin(b *testing.B) {
	for b.Loop() {
		price.Builtin()
	}
}
