package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/internal/ledger"
	"parley/internal/llm/llmtest"
	"parley/internal/store"
)

// listed is an OpenAI-compatible server that lists two models to callers with the key.
func listed(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer groq-key" {
			http.Error(w, `{"error":{"message":"bad key groq-key"}}`, http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"small","context_length":8192},{"id":"big"}]}`))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func environment(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestModels_ListsProvidersWithReachabilityContextAndPrice(t *testing.T) {
	t.Parallel()
	prices := writeFile(t, "groq:\n  models:\n    small: {input: 0.05, cached: 0.025, output: 0.08}\n")
	env := map[string]string{
		"GROQ_API_KEY": "groq-key", "OLLAMA_HOST": "127.0.0.1:1", "ANTHROPIC_API_KEY": "", "PARLEY_PRICES": prices,
		"PARLEY_PROVIDERS":    `{groq: {base_url: "` + listed(t) + `", api_key_env: GROQ_API_KEY}, other: {base_url: "http://127.0.0.1:1", api_key_env: OTHER_KEY}}`,
		"PARLEY_FALLBACK":     "groq:unlisted",
		"PARLEY_CAPABILITIES": `{'groq:big': {vision: true, tools: false, context: 4096}, 'groq:small': {like: gpt-5-mini}}`,
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"models"}, &stdout, &stderr, environment(env)); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	for _, want := range []string{
		"builtin (in this program, free of charge)\n  builtin:extractive             context unknown  text    free\n" +
			"  builtin:multilingual-e5-small  context unknown  embeds  free\n",
		"openai (not configured: set OPENAI_API_KEY, ",
		"anthropic (not configured: set ANTHROPIC_API_KEY, ",
		"ollama (not reachable: ",
		"groq (reachable)\n" +
			"  groq:big       context 4096     images, schema                 price unknown\n" +
			"  groq:small     context 8192     images, tools, schema, effort  $0.05 in, $0.025 cached, $0.08 out for a million tokens\n" +
			"  groq:unlisted  context unknown  tools, schema                  price unknown\n",
		"other (not configured: set OTHER_KEY)\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("missing %q in:\n%s", want, stdout.String())
		}
	}
	env["GROQ_API_KEY"] = "wrong-key-0123"
	stdout.Reset()
	_ = run(t.Context(), []string{"models", "groq"}, &stdout, &stderr, environment(env))
	if out := stdout.String(); !strings.HasPrefix(out, "groq (not reachable: the upstream answered with status 401") || strings.Contains(out, "wrong-key") {
		t.Errorf("with a wrong key:\n%s", out)
	}
	if code := run(t.Context(), []string{"models", "oracle"}, &stdout, &stderr, environment(env)); code != exitUsage {
		t.Errorf("exit %d for a provider that there is not", code)
	}
}

func TestProviders_ComeFromTheConfiguration(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "model: groq:big\nproviders:\n  groq:\n    base_url: https://api.groq.com/openai/v1\n    api_key_env: GROQ_API_KEY\n    reasoning: [big]\n")
	code, out, stderr := effective(t, nil, "--config", file)
	if code != exitOK || !strings.Contains(out, "groq") {
		t.Fatalf("exit %d: %s\n%s", code, stderr, out)
	}
	code, again, stderr := effective(t, nil, "--config", writeFile(t, out))
	if code != exitOK || !strings.Contains(again, `{"groq":{"base_url":"https://api.groq.com/openai/v1","api_key_env":"GROQ_API_KEY","reasoning":["big"]}}`) {
		t.Errorf("exit %d: %s\n%s", code, stderr, again)
	}
	for text, want := range map[string]string{
		"providers: {openai: {base_url: 'http://x'}}":                             `the provider "openai" exists already`,
		"providers: {Groq: {base_url: 'http://x'}}":                               `"Groq" is not a valid provider name`,
		"providers: {groq: {base_url: x}}":                                        `base_url of groq: "x" is not an absolute`,
		"providers: {groq: {url: 'http://x'}}":                                    "expected names of providers",
		"providers: {a: {base_url: 'http://u:canary@x'}}":                         "holds a password",
		"providers: [groq]":                                                       "expected names of providers",
		"model: groq:x":                                                           "unknown provider",
		"fallback: ['builtin:extractive', 'ollama:x']":                            `"builtin:extractive" never fails, so no model can follow it`,
		"fallback: ['ollama:x', 'groq:x']":                                        `"groq:x" names an unknown provider`,
		"ollama: {host: 'ftp://x'}":                                               "is not a host for Ollama",
		"providers: {1: {base_url: 'http://x'}}\nfallback: []":                    `"1" is not a valid provider name`,
		"embedding: small":                                                        `"small" is not provider:model`,
		"embedding: 'groq:x'":                                                     `"groq:x" names an unknown provider; there are builtin, openai, azure-openai, gemini and ollama`,
		"embedding: 'anthropic:x'":                                                `"anthropic:x": the provider anthropic has no embeddings; for that, there are builtin, openai, azure-openai, gemini, ollama`,
		"embedding: 'builtin:extractive'":                                         `"builtin:extractive" is not a built-in embedder; there is builtin:multilingual-e5-small`,
		"embedding_dimensions: -1":                                                "must be between 1 and 16384",
		"embedding_dimensions: 16385":                                             "must be between 1 and 16384",
		"embedding: 'r:x'\nproviders: {r: {base_url: 'http://x', rerank: true}}":  "the provider r has no embeddings",
		"model: r:x\nproviders: {r: {base_url: 'http://x', rerank: true}}":        "the provider r has no models that answer",
		"fallback: ['r:x']\nproviders: {r: {base_url: 'http://x', rerank: true}}": "the provider r has no models that answer",
		"providers: {r: {base_url: 'http://x', rerank: yes-please}}":              "expected names of providers",
		"prices: x\nproviders: {a: {reasoning: {b: c}}}":                          "expected names of providers",
		"providers: {a: {base_url: 'http://x', reasoning: 1}}":                    "expected names of providers",
		"providers: {a: {base_url: 'http://x?key=1'}}":                            "has a query",
		"providers: &a {b: *a}":                                                   "parley.yaml:1",
		"providers: {a: {base_url: 'http://x'}, a: {}}\nx: yes":                   "parley.yaml",
		"capabilities: {gpt-5: {}}":                                               `"gpt-5" is not provider:model`,
		"capabilities: {'groq:x': {}}":                                            `"groq:x" names an unknown provider`,
		"capabilities: {'openai:x': {sees: true}}":                                "expected models as provider:model",
		"capabilities: {'openai:x': {context: 0}}":                                "not a number of tokens",
		"capabilities: {'openai:x': {like: 'openai:gpt-5'}}":                      "without its provider",
	} {
		code, _, stderr := effective(t, nil, "--config", writeFile(t, text))
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, want %q", text, code, stderr, want)
		}
	}
}

func TestProviders_MayRerank(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "embedding: local:bge\nembedding_dimensions: 256\nproviders:\n  jina: {base_url: 'https://api.jina.ai/v1', api_key_env: JINA_API_KEY, rerank: true}\n  local: {base_url: 'http://127.0.0.1:8080/v1'}\n")
	code, out, stderr := effective(t, nil, "--config", file)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, again, stderr := effective(t, nil, "--config", writeFile(t, out))
	for _, want := range []string{
		`{"jina":{"base_url":"https://api.jina.ai/v1","api_key_env":"JINA_API_KEY","rerank":true},"local":{"base_url":"http://127.0.0.1:8080/v1"}}`,
		"local:bge", "256",
	} {
		if code != exitOK || !strings.Contains(again, want) {
			t.Errorf("exit %d: %s\n%s, want %s", code, stderr, again, want)
		}
	}
}

func TestModels_SaysWhatEmbedsAndWhatReranks(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lists := map[string]string{
			"/v1beta/models": `{"models":[{"name":"models/gemini-embedding-001","inputTokenLimit":2048,"supportedGenerationMethods":["embedContent"]},` +
				`{"name":"models/gemini-3.5-flash","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent"]},{"name":"models/aqa","supportedGenerationMethods":["generateAnswer"]}]}`,
			"/api/tags":  `{"models":[{"name":"nomic-embed-text:latest","details":{"family":"nomic-bert"}},{"name":"embeddinggemma:300m","details":{"family":"gemma3"}},{"name":"qwen3:8b","details":{"family":"qwen3"}}]}`,
			"/v2/models": `{"models":[{"name":"rerank-v3.5","endpoints":["rerank"],"context_length":4096}]}`,
		}
		w.Header().Set("Content-Type", "application/json")
		if body, _ := io.ReadAll(r.Body); r.URL.Path == "/api/show" && bytes.Contains(body, []byte("embeddinggemma")) {
			_, _ = w.Write([]byte(`{"capabilities":["embedding"]}`))
			return
		}
		if lists[r.URL.Path] == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(lists[r.URL.Path]))
	}))
	t.Cleanup(s.Close)
	env := map[string]string{
		"GEMINI_API_KEY": "k", "PARLEY_GEMINI_BASE_URL": s.URL, "OLLAMA_HOST": s.URL, "PARLEY_EMBEDDING": "local:bge",
		"PARLEY_PRICES":    writeFile(t, "gemini:\n  models:\n    gemini-embedding-001: {embeds: true, input: 0.15}\n"),
		"PARLEY_PROVIDERS": `{cohere: {base_url: "` + s.URL + `/v2", rerank: true}, tei: {base_url: "` + s.URL + `", rerank: true}, local: {base_url: "` + s.URL + `"}}`,
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"models"}, &stdout, &stderr, environment(env)); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	lines := strings.Split(stdout.String(), "\n")
	for _, want := range []string{
		"gemini:gemini-embedding-001 context 2048 embeds $0.15 in for a million tokens",
		"gemini:gemini-3.5-flash context 1048576 images, tools, schema, effort price unknown",
		"ollama:nomic-embed-text:latest context unknown embeds price unknown",
		"ollama:embeddinggemma:300m context unknown embeds price unknown",
		"ollama:qwen3:8b context unknown tools, schema, effort price unknown",
		"cohere:rerank-v3.5 context 4096 reranks price unknown",
		"tei (reachable; it does not say which models it has)",
		"local:bge context unknown embeds price unknown",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Join(strings.Fields(line), " ") == want }) {
			t.Errorf("missing %q in:\n%s", want, stdout.String())
		}
	}
	if strings.Contains(stdout.String(), "aqa") {
		t.Errorf("a model of another kind is listed:\n%s", stdout.String())
	}
}

func TestRouter_FallsBackAndBillsEveryAttempt(t *testing.T) {
	t.Parallel()
	down, up := llmtest.NewUpstream(t), llmtest.NewUpstream(t)
	cfg := DefaultConfig()
	cfg.Model, cfg.OpenAIBaseURL, cfg.Fallback = "openai:500", down.URL, []string{"spare:none"}
	cfg.Prices = writeFile(t, "spare:\n  models:\n    none: {input: 1, cached: 0.5, output: 10}\n")
	if err := cfg.Providers.UnmarshalText([]byte(`{spare: {base_url: "` + up.URL + `"}}`)); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	prices, err := readPrices(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	r, err := p.newRouter(cfg, ledger.New(db.State(), ledger.Options{Price: costs(prices)}))
	if err != nil {
		t.Fatal(err)
	}
	m, name, err := r.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	got := llmtest.Ask(t.Context(), m, llmtest.Question(name))
	if got.Err != nil || !strings.HasPrefix(got.Text, "tok0 ") || got.Model != "stub-1" || down.Calls() != 3 || up.Calls() != 1 {
		t.Errorf("%+v after %d and %d calls", got, down.Calls(), up.Calls())
	}
	entries, err := db.State().Entries(t.Context(), "")
	if err != nil || len(entries) != 4 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	last := entries[3]
	// 12 tokens in, of which 4 were cached, and 10 out: 8 + 2 + 100.
	if last.Provider != "spare" || last.Model != "none" || last.Status != ledger.Completed || last.Cost != (ledger.Cost{Micros: 110, Known: true}) {
		t.Errorf("the last entry is %+v", last)
	}
	for _, e := range entries[:3] {
		if e.Provider != "openai" || e.Status != ledger.Failed || e.Usage.Input+e.Usage.Output != 0 {
			t.Errorf("an attempt is %+v", e)
		}
	}
}

func TestRouter_TellsWhatModelsTake(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.OpenAIAPIKey, cfg.AzureOpenAIEndpoint, cfg.AzureOpenAIManagedIdentity = "k", "https://x.openai.azure.com", true
	if err := cfg.Capabilities.UnmarshalText([]byte(`{'azure-openai:prod': {like: o3-mini}}`)); err != nil {
		t.Fatal(err)
	}
	p := &program{lookupEnv: environment(nil), log: slog.New(slog.DiscardHandler)}
	r, err := p.newRouter(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"": "text", "openai:gpt-4o": "images, tools, schema", "openai:text-embedding-3-small": "text",
		"azure-openai:prod": "tools, schema, effort", "azure-openai:other": "images, tools, schema",
	} {
		if got := describe(r.Capabilities(key)); got != want {
			t.Errorf("%q takes %s, want %s", key, got, want)
		}
	}
}

func TestPrices_AreUnknownForAServerInAProvidersPlace(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	prices, err := readPrices(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := prices.Find("openai", "gpt-4.1"); !ok {
		t.Error("OpenAI's own has no price")
	}
	cfg.OpenAIBaseURL = "http://localhost:8000/v1"
	if prices, err = readPrices(cfg); err != nil {
		t.Fatal(err)
	}
	if _, ok := prices.Find("openai", "gpt-4.1"); ok {
		t.Error("another server has OpenAI's price")
	}
}
