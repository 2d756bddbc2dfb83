package rerankapi_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/rerankapi"
	"parley/internal/llm/upstream"
)

var update = flag.Bool("update", false, "rewrite the fixtures")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, url string, short bool) llm.Reranker {
	cfg := rerankapi.Config{BaseURL: url, APIKey: "test-key", Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}}
	if short {
		cfg.Upstream.FirstByte, cfg.Upstream.Idle = 500*time.Millisecond, 500*time.Millisecond
	}
	p, err := rerankapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wants() map[string]llmtest.Want {
	undecodable := llmtest.Want{Err: &llm.Error{Retryable: true}, Says: "decode answer"}
	return llmtest.With(llmtest.DocumentWants(), map[string]llmtest.Want{
		"length": undecodable, "infinite": undecodable,
		"zero":      {},
		"jsonerror": {Err: &llm.Error{}, Says: "quota [redacted]"},
	})
}

func TestRerank_EndsEveryFaultInScoresOrAnError(t *testing.T) {
	llmtest.RunRerankFaults(t, llmtest.Rerank, wants(), open)
}

func TestRerank_EndsEveryFaultOfTEI(t *testing.T) {
	llmtest.RunRerankFaults(t, llmtest.TEI, wants(), open)
}

func TestRerankFixtures(t *testing.T) { llmtest.RunRerankFixtures(t, *update, open) }

func documents(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("document ", i))
	}
	return list
}

func TestRerank_AsksTEIInItsOwnFormFromThenOn(t *testing.T) {
	up := llmtest.NewUpstreamFor(t, llmtest.TEI)
	r := open(t, up.URL, false)
	for i, c := range []struct{ documents, calls int }{{3, 2}, {3, 1}, {70, 3}} {
		before := up.Calls()
		got, err := r.Rerank(t.Context(), llm.RerankRequest{Model: "m", Query: "none", Documents: documents(c.documents)})
		if err != nil || len(got.Scores) != c.documents || up.Calls()-before != c.calls {
			t.Errorf("request %d: %d scores, %v after %d calls, want %d", i, len(got.Scores), err, up.Calls()-before, c.calls)
		}
	}
}

func TestRerank_KeepsTheFirstRefusalOfWhatIsNotTEI(t *testing.T) {
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.WriteHeader(http.StatusUnprocessableEntity)
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "refused %.20s", body)
	}))
	defer s.Close()
	r := open(t, s.URL, false)
	for range 2 {
		_, err := r.Rerank(t.Context(), llm.RerankRequest{Model: "m", Query: "q", Documents: documents(2)})
		if err == nil || !strings.Contains(err.Error(), `refused {"model":"m"`) {
			t.Errorf("error = %v", err)
		}
	}
	if calls != 4 {
		t.Errorf("%d calls, want two for each request", calls)
	}
}

// scored is a server that scores each document with the number in its text.
func scored(t *testing.T) llm.Reranker {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Documents []string `json:"documents"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		var list []string
		for i, score := range req.Documents {
			list = append(list, fmt.Sprintf(`{"index":%d,"relevance_score":%s}`, i, score))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(list, ","))
	}))
	t.Cleanup(s.Close)
	return open(t, s.URL, false)
}

func TestRerank_MapsRawScoresFromTheFirstOneOn(t *testing.T) {
	r := scored(t)
	for _, c := range []struct {
		model, scores string
		want          []float64
	}{
		{"a", "0 0.5 1", []float64{0, 0.5, 1}},
		{"a", "1.0005 -0.0005", []float64{1, 0}}, // rounded
		{"a", "0 -1000 1000", []float64{0.5, 0, 1}},
		{"a", "0 0.5", []float64{0.5, 0.622459}},
		{"b", "0 0.5", []float64{0, 0.5}},
	} {
		got, err := r.Rerank(t.Context(), llm.RerankRequest{Model: c.model, Query: "q", Documents: strings.Fields(c.scores)})
		if err != nil {
			t.Fatal(err)
		}
		near := cmp.Comparer(func(x, y float64) bool { return x-y < 1e-6 && y-x < 1e-6 })
		if diff := cmp.Diff(c.want, got.Scores, near); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.model, c.scores, diff)
		}
	}
}

func TestModels_ReadsTheListsThereAre(t *testing.T) {
	for body, want := range map[string][]llm.ModelInfo{
		`{"object":"list","data":[{"id":"BAAI/bge","max_model_len":512}]}`:                                                           {{Name: "BAAI/bge", Context: 512}},
		`{"models":[{"name":"command","endpoints":["chat"]},{"name":"rerank-v3.5","endpoints":["rerank"],"context_length":4096.0}]}`: {{Name: "rerank-v3.5", Context: 4096}},
		"":     nil, // 404
		"nope": nil,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body == "" || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer test-key" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, body)
		}))
		got, err := open(t, s.URL+"/v1/rerank/", false).(llm.Lister).Models(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (body == "nope") {
			t.Errorf("%s: %v, (-want +got):\n%s", body, err, diff)
		}
		s.Close()
	}
}

func TestNew_RefusesWhatIsNoURL(t *testing.T) {
	for _, base := range []string{"", "api.cohere.com", "ftp://x", "http://"} {
		if _, err := rerankapi.New(rerankapi.Config{BaseURL: base}); err == nil {
			t.Errorf("%q was taken", base)
		}
	}
}
