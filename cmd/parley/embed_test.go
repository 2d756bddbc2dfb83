package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/internal/builtin"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
)

// embeddingServer is a stub of OpenAI's /embeddings. Texts that share words get similar vectors.
// GET /texts returns the number of texts embedded so far, POST /fail makes further calls fail, and
// POST /mend ends that.
type embeddingServer struct {
	*httptest.Server
	embedder llmtest.Embedder
	texts    atomic.Int64
	failing  atomic.Bool
	limit    atomic.Int64 // of texts; calls beyond it hang until their client leaves. 0 means none
}

func newEmbeddingServer() *embeddingServer {
	s := &embeddingServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", s.embed)
	mux.HandleFunc("GET /texts", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, s.texts.Load(), "texts") })
	mux.HandleFunc("POST /fail", func(http.ResponseWriter, *http.Request) { s.failing.Store(true) })
	mux.HandleFunc("POST /mend", func(http.ResponseWriter, *http.Request) { s.failing.Store(false) })
	s.Server = httptest.NewServer(mux)
	return s
}

func (s *embeddingServer) embed(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || s.failing.Load() {
		http.Error(w, `{"error":{"message":"it does not work today"}}`, http.StatusUnauthorized)
		return
	}
	if limit := s.limit.Load(); limit > 0 && s.texts.Load() >= limit {
		<-r.Context().Done()
		return
	}
	out, err := s.embedder.Embed(r.Context(), llm.EmbedRequest{Model: req.Model, Texts: req.Input})
	if err != nil {
		http.Error(w, `{"error":{"message":"refused"}}`, http.StatusBadRequest)
		return
	}
	s.texts.Add(int64(len(req.Input)))
	type vector struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	data := make([]vector, len(out.Vectors))
	for i, v := range out.Vectors {
		data[i] = vector{i, v}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"model": req.Model, "data": data, "usage": map[string]int{"prompt_tokens": out.Usage.Input, "total_tokens": out.Usage.Input},
	})
}

// scriptEmbeddings starts an embeddingServer for the duration of the script.
func scriptEmbeddings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: embeddings NAME")
	}
	s := newEmbeddingServer()
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// TestIngest_KilledWhileEmbeddingItGoesOn kills the program in the middle of an embedding, three times, and
// checks that committed vectors are not paid for again.
func TestIngest_KilledWhileEmbeddingItGoesOn(t *testing.T) {
	t.Parallel()
	const files = 300 // with about four chunks each: far more than what is embedded before the last kill
	docs, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	writeCorpus(t, docs, files)
	s := newEmbeddingServer()
	defer s.Close()
	env := append(os.Environ(), "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_API_KEY=key", "PARLEY_EMBEDDING=openai:small")
	ingest := func() *exec.Cmd {
		cmd := exec.Command(binary(t), "ingest", docs, "--data", data)
		cmd.Env = env
		return cmd
	}
	kills := 0
	for goal := int64(100); kills < 3; goal += 150 {
		s.limit.Store(goal) // so that each kill comes before the end
		cmd := ingest()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := poll("more texts", func() bool { return s.texts.Load() >= goal }); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		kills++
	}
	s.limit.Store(0)
	out, err := ingest().Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	left := regexp.MustCompile(`Embedded (\d+) chunks`).FindSubmatch(out)
	if left == nil {
		t.Fatalf("the last run embedded nothing:\n%s", out)
	}
	report := parleyWith(t, env, "ingest", "--estimate", docs, "--data", data)
	if !strings.Contains(report, "Would embed nothing with openai:small: every chunk has its vector.") {
		t.Errorf("in the end:\n%s", report)
	}
	db, err := sql.Open("sqlite", filepath.Join(data, "corpus.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var chunks int64
	if err := db.QueryRow("SELECT COUNT(*) FROM chunk_vectors").Scan(&chunks); err != nil || chunks < 3*files {
		t.Fatalf("%d chunks have a vector, %v", chunks, err)
	}
	// A kill wastes at most one page of texts.
	if paid, most := s.texts.Load(), chunks+int64(kills)*256; paid > most {
		t.Errorf("%d texts were embedded for %d chunks and %d kills, at most %d should be", paid, chunks, kills, most)
	}
}

// Without a language model and without a setting, a server makes vectors by the built-in embedder and searches by them. A
// command that ingests leaves them to it.
func TestServe_SearchesByMeaningByDefault(t *testing.T) {
	t.Parallel()
	if builtin.NewReader() == nil {
		t.Skip("the built-in embedder is off by default on a processor without kernels for it")
	}
	docs := folderOf(t, map[string]string{"leave.md": "# Leave\n\nEmployees who are ill call their manager before nine.\n"})
	question := `{"messages":[{"role":"user","content":"Whom do I telephone when I feel sick in the morning?"}],"context":{"overrides":{"retrieval_mode":"vectors"}}}`
	for name, c := range map[string]struct {
		args []string
		want bool
	}{
		"by default":            {nil, true},
		"none":                  {[]string{"--embedding", "none"}, false},
		"with a language model": {[]string{"--model", "ollama:qwen3:8b", "--fallback", "builtin:extractive", "--ollama-host", "http://127.0.0.1:9"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			ingested := exec.Command(binary(t), "ingest", "--data", data, docs)
			ingested.Env = append(os.Environ(), "PARLEY_EMBEDDING=auto")
			if out, err := ingested.CombinedOutput(); err != nil || strings.Contains(string(out), "Embed") {
				t.Fatalf("%v: %s", err, out)
			}
			p := startServe(t, []string{"PARLEY_EMBEDDING=auto"}, append([]string{"--data", data}, c.args...)...)
			if err := awaitEmbedded(p.addr); err != nil {
				t.Fatal(err)
			}
			_, config, err := call(http.MethodGet, "http://"+p.addr+"/config", "")
			if want := fmt.Sprintf(`"showVectorOption":%v`, c.want); err != nil || !strings.Contains(config, want) {
				t.Errorf("%v, want %s in %s", err, want, config)
			}
			_, answer, err := call(http.MethodPost, "http://"+p.addr+"/chat", question)
			if want := fmt.Sprintf(`"has_vector":%v`, c.want); err != nil || !strings.Contains(answer, want) {
				t.Errorf("%v, want %s in %s", err, want, answer)
			}
		})
	}
}

func TestPlanned_SaysWhatAnEmbeddingTakes(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Prices = writeFile(t, "some:\n  models:\n    small: {embeds: true, input: 0.02}\n")
	prices, err := readPrices(cfg)
	if err != nil {
		t.Fatal(err)
	}
	plan := retrieval.EmbedPlan{Model: "some:small", Documents: 1, Chunks: 30, Texts: 30, Tokens: 5_000_000}
	for _, c := range []struct {
		change func(*retrieval.EmbedPlan)
		want   string
	}{
		{func(*retrieval.EmbedPlan) {}, "30 chunks of 1 document with some:small: about 5000000 tokens, $0.1"},
		{func(p *retrieval.EmbedPlan) { p.Texts = 12 }, "30 chunks of 1 document with some:small: 12 texts new, about 5000000 tokens, $0.1"},
		{func(p *retrieval.EmbedPlan) { p.Model = "some:large" }, "30 chunks of 1 document with some:large: about 5000000 tokens, price unknown"},
		{func(p *retrieval.EmbedPlan) { p.Texts = 0 }, "30 chunks of 1 document with some:small: all texts are known already, so it costs nothing"},
	} {
		p := plan
		c.change(&p)
		if got := planned(p, prices); got != c.want {
			t.Errorf("%+v:\n%s, want\n%s", p, got, c.want)
		}
	}
}

func TestEmbedProgress_SaysHowFarItIs(t *testing.T) {
	t.Parallel()
	p := embedProgress{
		plan:   retrieval.EmbedPlan{Chunks: 1000, Texts: 600},
		report: retrieval.EmbedReport{Chunks: 300, Known: 100, Usage: llm.Usage{Input: 5000}},
		cost:   "$0.1", elapsed: 10 * time.Second,
	}
	if got, want := p.String(), "300/1000 chunks, 5000 tokens, $0.1, 20s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.report.Known = 300
	if got, want := p.String(), "300/1000 chunks, 5000 tokens, $0.1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
