package price_test

import (
	"strings"
	"testing"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/price"
)

var today = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const file = `
p:
  source: https://p.example/prices
  read: 2026-11-01
  models:
    m: {input: 2.5, cached: 0.025, output: 10, context: 1000}
    odd: {input: 0.3, output: 0.000001}
    long: {input: 1, cached: 0.1, output: 2, above: 100, long: {input: 3, output: 4}}
    limited: {input: 1, output: 2, above: 100}
    ending: {input: 1, output: 2, until: 2026-12-31}
    minutes: {minute: 0.006}
    free: {input: 0, output: 0}
`

func table(t *testing.T, text string) *price.Table {
	t.Helper()
	p, err := price.Builtin().With(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCost(t *testing.T) {
	for name, c := range map[string]struct {
		model string
		usage llm.Usage
		at    time.Time
		want  int64
		known bool
	}{
		"input and output":        {"m", llm.Usage{Input: 1000, Output: 100}, today, 2500 + 1000, true},
		"cached input":            {"m", llm.Usage{Input: 1000, Cached: 1000}, today, 25, true},
		"reasoning is output":     {"m", llm.Usage{Output: 10, Reasoning: 10}, today, 100, true},
		"snapshot":                {"m-2025-04-14", llm.Usage{Input: 2}, today, 5, true},
		"snapshot in one number":  {"m-20250414", llm.Usage{Input: 2}, today, 5, true},
		"rounded down":            {"odd", llm.Usage{Input: 1}, today, 0, true},
		"rounded up":              {"odd", llm.Usage{Input: 2}, today, 1, true},
		"too little for anything": {"odd", llm.Usage{Output: 400_000}, today, 0, true},
		"no cached price":         {"odd", llm.Usage{Input: 2, Cached: 1}, today, 0, false},
		"short prompt":            {"long", llm.Usage{Input: 100, Output: 1}, today, 102, true},
		"long prompt":             {"long", llm.Usage{Input: 101, Output: 1}, today, 307, true},
		"long prompt, cached":     {"long", llm.Usage{Input: 101, Cached: 1}, today, 0, false},
		"longer than known":       {"limited", llm.Usage{Input: 101}, today, 0, false},
		"on the last day":         {"ending", llm.Usage{Input: 1}, time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), 1, true},
		"after the last day":      {"ending", llm.Usage{Input: 1}, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 0, false},
		"unknown model":           {"x", llm.Usage{Input: 1}, today, 0, false},
		"an hour":                 {"minutes", llm.Usage{Seconds: 3600}, today, 360_000, true},
		"a second":                {"minutes", llm.Usage{Seconds: 1}, today, 100, true},
		"nothing is heard":        {"minutes", llm.Usage{}, today, 0, true},
		"a call was cut off":      {"minutes", llm.Usage{Estimated: true}, today, 0, false},
		"tokens are not counted":  {"m", llm.Usage{Seconds: 60}, today, 0, false},
		"tokens of a recording":   {"m", llm.Usage{Seconds: 60, Input: 1000}, today, 2500, true},
		"a free recording":        {"free", llm.Usage{Seconds: 60}, today, 0, true},
		"as much as can be":       {"m", llm.Usage{Input: 100_000_000, Output: 100_000_000}, today, 1_250_000_000, true},
	} {
		got, known := table(t, file).Cost("p", c.model, c.usage, c.at)
		if got != c.want || known != c.known {
			t.Errorf("%s: %d, %v; want %d, %v", name, got, known, c.want, c.known)
		}
	}
}

func TestWith_LaysOneFileOverTheOther(t *testing.T) {
	p := table(t, "openai:\n  models:\n    gpt-4.1: {input: 1, output: 1}\nollama:\n  models:\n    '*': {input: 0, output: 0}\n")
	for _, c := range []struct {
		provider, model string
		want            int64
		known           bool
	}{{"openai", "gpt-4.1", 2, true}, {"openai", "gpt-4.1-mini", 2, true}, {"ollama", "qwen3:8b", 0, true}, {"groq", "x", 0, false}} {
		got, known := p.Cost(c.provider, c.model, llm.Usage{Input: 1, Output: 1}, today)
		if got != c.want || known != c.known {
			t.Errorf("%s:%s: %d, %v; want %d, %v", c.provider, c.model, got, known, c.want, c.known)
		}
	}
	if got, _ := price.Builtin().Cost("openai", "gpt-4.1", llm.Usage{Input: 1}, today); got != 2 {
		t.Error("the built-in table was changed")
	}
}

func TestWith_SaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"p: {models: {m: {input: x}}}":                          `"x" is not a price`,
		"p: {models: {m: {input: -1}}}":                         `"-1" is not a price`,
		"p: {models: {m: {input: 1/3}}}":                        `"1/3" is not a price`,
		"p: {models: {m: {input: 0.0000001}}}":                  "six decimals",
		"p: {models: {m: {input: 1e3}}}":                        "is not a price",
		"p: {models: {m: {price: 1}}}":                          "field price not found",
		"p: {models: {m: {input: 1, until: soon}}}":             "not a date",
		"p: {models: {m: {input: 1, long: {input: 2}}}}":        "p:m has impossible numbers",
		"p: {models: {m: {input: 1, context: -1}}}":             "p:m has impossible numbers",
		"p: {models: {m: {embeds: true, input: 1, output: 1}}}": "p:m embeds",
		"p: {models: {m: {embeds: true, input: 1, cached: 0}}}": "p:m embeds",
		"p: {models: {m: {minute: 1, output: 1}}}":              "p:m costs by the minute",
		"p: [": "line 1",
		"- p":  "line 1",
		"p: {models: {m: {input: 1000001, output: 1}}}":    "between 0 and 100000",
		"p: {models: {m: {input: 1, above: many}}}":        "many",
		"p: {models: {m: {input: 1}, m: {input: 2}}}":      "already defined",
		"p: {models: {m: {input: [1], output: {a: 2}}}}\n": "is not a price",
	} {
		_, err := price.Builtin().With(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in one line", text, err, want)
		}
	}
	if _, err := price.Builtin().With(strings.NewReader("")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func TestBuiltin_HasTheInputPricesOfModelsThatEmbed(t *testing.T) {
	for key, want := range map[string]int64{
		"openai:text-embedding-3-small": 20_000, "openai:text-embedding-3-large": 130_000, "openai:text-embedding-ada-002": 100_000,
		"gemini:gemini-embedding-001": 150_000, "gemini:gemini-embedding-2": 200_000,
	} {
		provider, model, _ := strings.Cut(key, ":")
		p, _ := price.Builtin().Find(provider, model)
		got, known := price.Builtin().Cost(provider, model, llm.Usage{Input: 1_000_000}, today)
		if got != want || !known || !p.Embeds || p.Context == 0 {
			t.Errorf("%s: %d, %v for a million tokens, %+v; want %d", key, got, known, p, want)
		}
	}
}

func TestRate_IsShownInDollars(t *testing.T) {
	for rate, want := range map[price.Rate]string{0: "$0.00", 2_500_000: "$2.50", 25_000: "$0.025", 10_000_000: "$10.00", 1: "$0.000001"} {
		if got := rate.String(); got != want {
			t.Errorf("%d: %s, want %s", rate, got, want)
		}
	}
}
