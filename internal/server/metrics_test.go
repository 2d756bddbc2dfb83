package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/turn"
)

// samples returns the samples of /metrics by name and labels.
func samples(t testing.TB, s *Server) map[string]string {
	t.Helper()
	w := do(s, http.MethodGet, "/metrics", "")
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics: status %d: %s", w.Code, w.Body)
	}
	found := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			found[line[:i]] = strings.TrimSpace(line[i+1:])
		}
	}
	return found
}

func TestMetrics_CountRequestsTurnsAndIngestion(t *testing.T) {
	failing := &script{
		words: []string{"Every", "thing."},
		fail:  ifAsked("reject", errors.New("rejected")), broken: ifAsked("fail", errors.New("broken")),
	}
	st := &state{ingestion: Ingestion{Running: true, Files: 10, Done: 6, Indexed: 3, Unchanged: 2, Failed: 1, Chunks: 44, Unembedded: 12}}
	s := newServer(t, options{runner: failing, state: st, cfg: Config{Version: "1.2.3"}})
	do(s, http.MethodPost, "/chat", question)
	do(s, http.MethodPost, "/chat/stream", question)
	do(s, http.MethodPost, "/chat", strings.Replace(question, "What is covered?", "fail", 1))
	do(s, http.MethodPost, "/ask", strings.Replace(question, "What is covered?", "reject", 1))
	do(s, http.MethodPost, "/chat", "{}")
	s.metrics.Saved(turn.Record{Status: chat.StatusCompleted, Usage: llm.Usage{Input: 10, Output: 4}})
	s.metrics.Saved(turn.Record{Status: chat.StatusCancelled, Usage: llm.Usage{Input: 4, Output: 2}})
	for _, path := range []string{"/a", "/b", "/c"} {
		do(s, http.MethodGet, path, "")
	}
	got := samples(t, s)
	for name, want := range map[string]string{
		`parley_http_requests_total{route="/chat",status="200"}`:        "1",
		`parley_http_requests_total{route="/chat",status="400"}`:        "1",
		`parley_http_requests_total{route="/chat",status="500"}`:        "1",
		`parley_http_requests_total{route="/chat/stream",status="200"}`: "1",
		`parley_http_requests_total{route="unknown",status="404"}`:      "3",
		`parley_http_request_duration_seconds_count{route="/chat"}`:     "3",
		`parley_turns_total{status="completed"}`:                        "2",
		`parley_turns_total{status="failed"}`:                           "1",
		`parley_turns_total{status="refused"}`:                          "1",
		`parley_time_to_first_token_seconds_count`:                      "2",
		`parley_text_deltas_total`:                                      "4",
		`parley_tokens_total{direction="input"}`:                        "14",
		`parley_tokens_total{direction="output"}`:                       "6",
		`parley_stage_duration_seconds_sum{stage="retrieve"}`:           "0.006",
		`parley_active_streams`:                                         "0",
		`parley_active_turns`:                                           "0",
		`parley_ingestion_running`:                                      "1",
		`parley_ingestion_files{outcome="indexed"}`:                     "3",
		`parley_ingestion_files{outcome="waiting"}`:                     "4",
		`parley_corpus{unit="chunks"}`:                                  "44",
		`parley_corpus{unit="unembedded_chunks"}`:                       "12",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	build := false
	for name := range got {
		build = build || strings.HasPrefix(name, `parley_build_info{go_version="go`) && strings.HasSuffix(name, `version="1.2.3"}`)
	}
	if !build {
		t.Error("there is no build information")
	}
}

// ifAsked returns err for requests that ask a question.
func ifAsked(question string, err error) func(chat.Request) error {
	return func(r chat.Request) error {
		if r.Messages[0].Text() == question {
			return err
		}
		return nil
	}
}

func TestMetrics_CountATurnThatFoundNoPlaceAsRefused(t *testing.T) {
	asked := &chat.Request{Messages: []chat.Message{chat.TextMessage("user", "q")}}
	s := newServer(t, options{})
	observed := observed(s.metrics, &script{words: []string{"a"}}, 1)
	for range observed.Run(t.Context(), asked) { // takes the one place
		if _, err := chat.Collect(observed.Run(t.Context(), asked)); chat.KindOf(err) != chat.RateLimited {
			t.Errorf("a second turn ended with %v", err)
		}
		if got := samples(t, s)["parley_active_turns"]; got != "1" {
			t.Errorf("%s turns are in progress", got)
		}
		break
	}
	got := samples(t, s)
	if got[`parley_turns_total{status="refused"}`] != "1" || got[`parley_turns_total{status="failed"}`] != "" {
		t.Errorf("the turns are %v", got)
	}
}

func TestMetrics_CountStreamsWhileTheyLast(t *testing.T) {
	runner := held()
	l := start(t, options{runner: runner})
	res, rest := openStream(t, l, "/chat/stream")
	defer res.Body.Close()
	wait(t, runner.started)
	got := samples(t, l.Server)
	if got["parley_active_streams"] != "1" || got["parley_active_turns"] != "1" {
		t.Errorf("while streaming: %s streams, %s turns", got["parley_active_streams"], got["parley_active_turns"])
	}
	close(runner.resume)
	if _, err := io.Copy(io.Discard, rest); err != nil {
		t.Fatal(err)
	}
}

func TestMetrics_CountATurnThatIsLeftAsCancelled(t *testing.T) {
	asked := &chat.Request{Messages: []chat.Message{chat.TextMessage("user", "q")}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	runner := held()
	m := NewMetrics()
	observed := observed(m, runner, 0)
	for e := range observed.Run(ctx, asked) { // the range is left
		if _, ok := e.(chat.TextDelta); ok {
			break
		}
	}
	for e := range observed.Run(ctx, asked) { // the context ends, which the runner tells
		if _, ok := e.(chat.TextDelta); ok {
			cancel()
		}
	}
	m.describe("", &state{})
	s := newServer(t, options{})
	s.metrics = m
	got := samples(t, s)
	if got[`parley_turns_total{status="cancelled"}`] != "2" || got[`parley_turns_total{status="failed"}`] != "" {
		t.Errorf("the turns are %v", got)
	}
}

func TestMetrics_AreNotTheSameForEveryOrigin(t *testing.T) {
	w := do(newServer(t, options{}), http.MethodGet, "/metrics", "", "Origin", "http://localhost:5173")
	if vary := strings.Join(w.Header().Values("Vary"), ", "); !strings.Contains(vary, "Origin") {
		t.Errorf("Vary: %s", vary)
	}
}

// The dashboards in deploy/grafana show only metrics that exist.
func TestDashboards_ShowMetricsThatExist(t *testing.T) {
	m := NewMetrics()
	m.describe("v", &state{})
	m.observeRequest("/chat", http.StatusOK, time.Second)
	m.Evicted("chats", 1)
	m.Saved(turn.Record{Ended: []ledger.Entry{{Cost: ledger.Cost{Micros: 2_500_000, Known: true}}}})
	o := m.Observe()
	o.Event(chat.StageFinished{Stage: chat.StageRetrieve})
	o.Event(chat.MessageFinished{})
	o.End(chat.StatusCompleted)
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	exist := map[string]bool{}
	for _, f := range families {
		exist[f.GetName()] = true
		if f.GetName() == "parley_cost_dollars_total" && f.GetMetric()[0].GetCounter().GetValue() != 2.5 {
			t.Errorf("a turn of $2.50 counts as %v", f.GetMetric()[0])
		}
	}
	names := regexp.MustCompile(`\b(?:parley|process)_[a-z_]+`)
	for _, file := range []string{"traffic", "quality"} {
		raw, err := os.ReadFile("../../deploy/grafana/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(raw, &board); err != nil || len(board.Panels) == 0 {
			t.Fatalf("%s: %v, %d panels", file, err, len(board.Panels))
		}
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				found := names.FindAllString(target.Expr, -1)
				for _, name := range found {
					if name = strings.TrimSuffix(name, "_bucket"); !exist[name] {
						t.Errorf("%s shows %s, which does not exist", file, name)
					}
				}
				if len(found) == 0 {
					t.Errorf("%s: %q names no metric", file, target.Expr)
				}
			}
		}
	}
}

func TestMetrics_SayWhatIndexesTake(t *testing.T) {
	m := NewMetrics()
	memory := retrieval.Memory{Bound: 9, Bytes: 7, Namespaces: 3, Loaded: 5, Dropped: 2}
	m.Indexes(func() retrieval.Memory { return memory })
	memory.Dropped = 4
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "parley_index_") {
			got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	want := map[string]float64{"parley_index_memory_bytes": 7, "parley_index_memory_limit_bytes": 9, "parley_index_namespaces": 3,
		"parley_index_loads_total": 5, "parley_index_drops_total": 4}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
