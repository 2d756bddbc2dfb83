package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/price"
	"parley/internal/store"
)

// openLedger opens a ledger in its own folder, with the prices of cfg.
func openLedger(t *testing.T, cfg Config) (*ledger.Ledger, *store.DB) {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	prices, err := readPrices(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.New(db.State(), ledger.Options{Price: costs(prices)}), db
}

func quiet(env map[string]string) *program {
	return &program{lookupEnv: environment(env), log: slog.New(slog.DiscardHandler)}
}

func TestEmbedder_IsRetriedAndBilled(t *testing.T) {
	t.Parallel()
	up := llmtest.NewUpstreamFor(t, llmtest.OpenAIEmbeddings)
	up.Fault = func(n int) string { return []string{"500", "none"}[min(n, 1)] }
	cfg := DefaultConfig()
	cfg.OpenAIBaseURL, cfg.Embedding = up.URL+"/v1", "openai:text-embedding-3-small"
	cfg.Prices = writeFile(t, "openai:\n  models:\n    text-embedding-3-small: {embeds: true, input: 0.5}\n")
	books, db := openLedger(t, cfg)
	models, err := quiet(nil).newRouter(cfg, books)
	if err != nil {
		t.Fatal(err)
	}
	e, name, err := models.ResolveEmbedder(cfg.Embedding)
	if err != nil || name != "text-embedding-3-small" {
		t.Fatalf("%q, %v", name, err)
	}
	texts := make([]string, 50)
	for i := range texts {
		texts[i] = "text"
	}
	out, err := e.Embed(t.Context(), llm.EmbedRequest{Model: name, Texts: texts, Purpose: llm.ForDocument})
	if err != nil || len(out.Vectors) != 50 || out.Usage != (llm.Usage{Input: 500}) {
		t.Fatalf("%d vectors, %+v, %v", len(out.Vectors), out.Usage, err)
	}
	entries, err := db.State().Entries(t.Context(), "")
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v; want two batches and an attempt that failed", len(entries), err)
	}
	var micros int64
	for _, entry := range entries {
		if entry.Stage != chat.StageEmbed || entry.Provider != "openai" || entry.Model != name {
			t.Errorf("an entry is %+v", entry)
		}
		if failed := entry.Status == ledger.Failed; failed != (entry.Usage.Input == 0) {
			t.Errorf("an entry is %+v", entry)
		}
		micros += entry.Cost.Micros
	}
	if micros != 250 {
		t.Errorf("500 tokens cost %d micro-dollars, want 250", micros)
	}
}

func TestEmbedder_NeedsTheKeyOfItsProvider(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Embedding = "gemini:gemini-embedding-001"
	books, _ := openLedger(t, cfg)
	if _, err := quiet(nil).newRouter(cfg, books); !isUsage(err) || !strings.Contains(err.Error(), "GEMINI_API_KEY") {
		t.Errorf("error = %v", err)
	}
}

func TestReranker_ComesFromTheConfigurationAndIsBilled(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/rerank" || r.Header.Get("Authorization") != "Bearer jina-key-0123" {
			http.Error(w, `{"detail":"bad key jina-key-0123"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"model":"jina-1","usage":{"total_tokens":40},"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}]}`))
	}))
	t.Cleanup(s.Close)
	cfg := DefaultConfig()
	cfg.Prices = writeFile(t, "jina:\n  models:\n    small: {input: 0.05}\n")
	if err := cfg.Providers.UnmarshalText([]byte(`{jina: {base_url: "` + s.URL + `/v1", api_key_env: JINA_API_KEY, rerank: true}}`)); err != nil {
		t.Fatal(err)
	}
	books, db := openLedger(t, cfg)
	models, err := quiet(map[string]string{"JINA_API_KEY": "jina-key-0123"}).newRouter(cfg, books)
	if err != nil {
		t.Fatal(err)
	}
	m, name, err := models.ResolveReranker("jina:small")
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Rerank(t.Context(), llm.RerankRequest{Model: name, Query: "q", Documents: []string{"a", "b"}})
	if err != nil || len(out.Scores) != 2 || out.Scores[1] != 0.9 {
		t.Errorf("%+v, %v", out, err)
	}
	entries, err := db.State().Entries(t.Context(), "")
	if err != nil || len(entries) != 1 || entries[0].Usage.Input != 40 || entries[0].Cost != (ledger.Cost{Micros: 2, Known: true}) {
		t.Errorf("entries %+v, %v", entries, err)
	}
	if _, _, err := models.Resolve("jina:small"); err == nil || !strings.Contains(err.Error(), "jina has no models that answer") {
		t.Errorf("asked to answer: %v", err)
	}
	if names := models.Names(); strings.Contains(strings.Join(names, " "), "jina") {
		t.Errorf("the reranker is among the models that answer: %v", names)
	}
}

func TestEmbeddingCost_IsKnownForTheBuiltInEmbedder(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{"": true, "builtin:multilingual-e5-small": true, "openai:unknown": false} {
		cost, known := (&instance{cfg: Config{Embedding: model}, prices: price.Builtin()}).embeddingCost(1000)
		if cost != 0 || known != want {
			t.Errorf("%q: %v, %t", model, cost, known)
		}
	}
}
