package ragchat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire/wiretest"
)

// librarian finds passages as an engine does, and records the questions.
type librarian struct {
	asked  []chat.Request
	vector bool // embeds questions
	wait   func(ctx context.Context) error
}

func (l *librarian) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	l.asked = append(l.asked, *req)
	return func(yield func(chat.Event, error) bool) {
		if l.wait != nil {
			if err := l.wait(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
		o := req.Options
		mode := retrieval.Text
		if l.vector {
			mode = o.Mode
		}
		hits, _ := searchFound(ctx, retrieval.Query{Filter: retrieval.Filter{Where: o.Where}})
		passages := hits.Passages[:min(o.Top, len(hits.Passages))]
		query := req.Messages[len(req.Messages)-1].Text()
		if !o.Rewrite.Off && len(req.Messages) > 1 {
			query = "standalone " + query
		}
		ok := yield(chat.StageStarted{Stage: chat.StageRetrieve}, nil) &&
			yield(chat.QueryRewritten{Query: query}, nil) &&
			yield(chat.PassagesRetrieved{Mode: mode, HasVector: l.vector, Passages: passages}, nil)
		note := ""
		if mode != o.Mode {
			note = "searched by text instead of " + string(o.Mode)
		}
		ok = ok && yield(chat.StageFinished{Stage: chat.StageRetrieve, Note: note}, nil)
		if ok && o.Rerank {
			slices.Reverse(passages)
			score := 0.7
			passages[0].Scores.Rerank = &score
			ok = yield(chat.PassagesRetrieved{Mode: mode, HasVector: l.vector, Passages: passages}, nil) &&
				yield(chat.StageFinished{Stage: chat.StageRerank, Model: "test:judge"}, nil)
		}
		_ = ok && yield(chat.TurnFinished{}, nil)
	}
}

// evaluate posts a body and decodes the reply into to, unless that is nil.
func evaluate(t *testing.T, h *Handler, body string, to any) *httptest.ResponseRecorder {
	t.Helper()
	return evaluateFor(t, h, "", body, to)
}

func evaluateFor(t *testing.T, h *Handler, user, body string, to any) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := wiretest.Request(t, "POST /retrieval-evals/run\nContent-Type: application/json\n\n"+body)
	r.Header.Set("X-Test-User", user)
	serve(h).ServeHTTP(w, r)
	if to != nil {
		if err := json.Unmarshal(w.Body.Bytes(), to); err != nil || w.Code != http.StatusOK {
			t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
		}
	}
	return w
}

func evaluatorOf(l *librarian, change func(*Config)) *Handler {
	return handlerOf(l, &books{}, change)
}

func TestEvaluate_HasARowForEachWay(t *testing.T) {
	l := &librarian{vector: true}
	h := evaluatorOf(l, func(c *Config) {
		c.Embedding = "openai:small"
		c.Document = func(_ context.Context, f retrieval.Filter, name string) (retrieval.Document, error) {
			if f.Namespace != "peaks" || f.Principal.Subject != "" {
				t.Errorf("looked for %s as %+v", name, f)
			}
			if name == "missing.md" {
				return retrieval.Document{}, retrieval.ErrNotFound
			}
			return retrieval.Document{}, nil
		}
	})
	var r evalReport
	evaluate(t, h, `{"namespace":"peaks","k":"2","rerank":"both","rewrite":true,"score_threshold":0.2,"user_id":"u","details":true,"questions":[
		{"id":"w","question":" How high? ","gold":["peaks/whitney.pdf#page=2"],"history":[{"role":"user","content":"Whitney?"},{"role":"assistant","content":"A peak."}]},
		{"query":"List?","relevant":["http://parley.example/content/peaks/whitney.pdf#page=9","https://example.com/list",{"document":"missing.md","grade":3}]}]}`, &r)
	var ways []string
	for _, row := range r.Rows {
		ways = append(ways, fmt.Sprintf("%s %s %s vector %v rerank %v n %d recall %.2f mrr %.2f hit %.1f",
			row.Retriever, row.Mode, row.Effective, row.HasVector, row.Rerank, row.Questions, row.Recall, row.MRR, row.HitRate))
	}
	var want []string
	for _, way := range []string{"openai:small text text", "openai:small vectors vectors", "openai:small hybrid hybrid"} {
		retriever := strings.Replace(way, "openai:small text", "bm25 text", 1)
		retriever = strings.Replace(retriever, "openai:small hybrid", "bm25+openai:small hybrid", 1)
		// The first question finds its document in the first of two passages, the second one in part in
		// the second.
		want = append(want, retriever+" vector true rerank false n 2 recall 0.67 mrr 0.75 hit 1.0",
			retriever+" vector true rerank true n 2 recall 0.67 mrr 0.75 hit 1.0")
	}
	if diff := cmp.Diff(want, ways); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if r.Namespace != "peaks" || r.K != 2 || !r.HasVector || *r.Embedding != "openai:small" || *r.Rows[1].Model != "test:judge" {
		t.Errorf("report %+v", r)
	}
	if diff := cmp.Diff([]string{"missing.md"}, r.UnknownGold); diff != "" {
		t.Errorf("unknown gold (-want +got):\n%s", diff)
	}
	if len(r.Details) != 2 || len(r.Details[0].Rows) != 6 {
		t.Fatalf("details %+v", r.Details)
	}
	first := r.Details[0].Rows[0]
	if first.Query != "standalone How high?" || !first.Hit || !first.Results[0].Gold || first.Results[1].Gold ||
		first.Results[0].Citation != "peaks/whitney.pdf#page=2" {
		t.Errorf("the first question %+v", first)
	}
	if diff := cmp.Diff([]string{"peaks/whitney.pdf#page=9", "https://example.com/list", "missing.md"}, r.Details[1].Gold); diff != "" {
		t.Errorf("gold (-want +got):\n%s", diff)
	}
	for _, req := range l.asked {
		if req.Namespace != "peaks" || req.Options.Top != 2 || req.Options.MinScore != 0.2 || req.Account.User != "u" || req.Options.Rewrite.Clarify {
			t.Errorf("asked %+v", req)
		}
	}
}

func TestEvaluate_SaysThatThereAreNoVectors(t *testing.T) {
	var r evalReport
	evaluate(t, evaluatorOf(&librarian{}, nil), `{"modes":["dense"],"questions":[{"question":"q","gold":["list.md"]}]}`, &r)
	row := r.Rows[0]
	if r.HasVector || row.HasVector || row.Mode != retrieval.Vectors || row.Effective != retrieval.Text || row.Retriever != "bm25" || r.Embedding != nil {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]string{"vectors: searched by text instead of vectors (1 of 1 questions)"}, r.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	// Without an embedder, the only difference is that the search uses words alone.
	evaluate(t, evaluatorOf(&librarian{}, nil), `{"questions":[{"question":"q","gold":["list.md"]}]}`, &r)
	if len(r.Rows) != 1 || r.Rows[0].Mode != retrieval.Text || r.Details != nil {
		t.Errorf("%+v", r)
	}
}

func TestEvaluate_AnswersOneQueryAsTheOriginalDoes(t *testing.T) {
	l := &librarian{}
	var r lookup
	evaluate(t, evaluatorOf(l, nil), `{"query":"How high?","search_mode":"dense","top_k":2,"score_threshold":0.35,"query_filter":{"title":"Whitney"},
		"with_payload":true,"exact":false,"use_colbert":true,"colbert_top_n":8,"enable_cross_encoder_rerank":true,"cross_encoder_top_n":1}`, &r)
	if r.Retrieval.Requested != "dense" || r.Retrieval.Effective != "sparse" || r.Retrieval.Fallback == nil || r.Retrieval.HasVector || r.Retrieval.Capabilities.Dense {
		t.Errorf("retrieval %+v", r.Retrieval)
	}
	if len(r.Retrieval.Results) != 1 || r.Retrieval.Results[0].Payload.Text != "Mount Whitney is in California." {
		t.Errorf("results %+v", r.Retrieval.Results)
	}
	if len(r.Reranked.Items) != 1 || r.Reranked.Items[0].Index != 0 || *r.Reranked.Model != "test:judge" || !r.Reranked.Enabled {
		t.Errorf("reranked %+v", r.Reranked)
	}
	if o := l.asked[0].Options; o.Top != 2 || o.Where == nil || o.MinScore != .35 || r.Echo.TopK != 2 || r.Echo.Mode != "dense" {
		t.Errorf("asked %+v, echo %+v", o, r.Echo)
	}
	r = lookup{}
	evaluate(t, evaluatorOf(l, nil), `{"query":"How high?","with_payload":false,"enable_cross_encoder_rerank":true}`, &r)
	if len(r.Retrieval.Results) != 2 || r.Retrieval.Results[0].Payload != nil || r.Echo.Mode != "hybrid" || r.Echo.TopK != 8 {
		t.Errorf("%+v", r)
	}
	if r.Reranked.Items[0].Index != 1 || *r.Reranked.Items[0].Score != 0.7 || r.Reranked.Items[1].Score != nil {
		t.Errorf("reranked %+v", r.Reranked)
	}
}

func TestEvaluate_NamesTheFieldThatIsWrong(t *testing.T) {
	question := `{"question":"q","gold":["a"]}`
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(question+",", n), ",") + "]" }
	for body, field := range map[string]string{
		`{}`: "questions",
		`{"query":"q","questions":[` + question + `]}`: "questions",
		`{"query":7}`:                     "query",
		`{"query":" "}`:                   "query",
		`{"questions":"q"}`:               "questions",
		`{"questions":[]}`:                "questions",
		`{"questions":` + many(501) + `}`: "questions",
		`{"modes":["text","hybrid"],"rewrite":"both","rerank":"both","questions":` + many(300) + `}`: "questions",
		`{"questions":[7]}`: "questions.0.question",
		`{"questions":[` + question + `,{"gold":["a"]}]}`:                           "questions.1.question",
		`{"questions":[{"question":"q"}]}`:                                          "questions.0.gold",
		`{"questions":[{"question":"q","gold":[]}]}`:                                "questions.0.gold",
		`{"questions":[{"question":"q","gold":["a",""]}]}`:                          "questions.0.gold.1",
		`{"questions":[{"question":"q","gold":[{"page":1}]}]}`:                      "questions.0.gold.0",
		`{"questions":[{"question":"q","gold":[{"document":"a","page":0}]}]}`:       "questions.0.gold.0",
		`{"questions":[{"question":"q","gold":[{"document":"a","grade":"x"}]}]}`:    "questions.0.gold.0",
		`{"questions":[{"question":"q","gold":["a"],"id":{}}]}`:                     "questions.0.id",
		`{"questions":[{"question":"q","gold":["a"],"history":[{"role":"user"}]}]}`: "questions.0.history.0.content",
		`{"query":"q","k":0}`:                    "k",
		`{"query":"q","top_k":"many"}`:           "top_k",
		`{"query":"q","score_threshold":2}`:      "score_threshold",
		`{"query":"q","search_mode":"fast"}`:     "search_mode",
		`{"query":"q","modes":[]}`:               "modes",
		`{"query":"q","rerank":"maybe"}`:         "rerank",
		`{"query":"q","rewrite":2}`:              "rewrite",
		`{"query":"q","details":"maybe"}`:        "details",
		`{"query":"q","model_keys":"x"}`:         "model_keys",
		`{"query":"q","namespace":[]}`:           "namespace",
		`{"query":"q","query_filter":{"x":"y"}}`: "query_filter.x",
	} {
		w := evaluate(t, evaluatorOf(&librarian{}, nil), body, nil)
		var e struct {
			Detail []fieldDetail
			Error  failureBody
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusUnprocessableEntity || len(e.Detail) != 1 || e.Error.Code != "validation_error" {
			t.Errorf("%.80s: status %d: %s", body, w.Code, w.Body)
			continue
		}
		if got := strings.Join(e.Detail[0].Loc[1:], "."); got != field {
			t.Errorf("%.80s: the field is %s, want %s", body, got, field)
		}
	}
	if w := evaluate(t, evaluatorOf(&librarian{}, nil), `[]`, nil); w.Code != http.StatusBadRequest {
		t.Errorf("no object: status %d", w.Code)
	}
}

func TestEvaluate_EndsWhenTheClientLeaves(t *testing.T) {
	l := &librarian{}
	ctx, leave := context.WithCancel(t.Context())
	l.wait = func(ctx context.Context) error {
		leave()
		<-ctx.Done()
		return ctx.Err()
	}
	r := wiretest.Request(t, "POST /retrieval-evals/run\n\n"+`{"questions":[{"question":"q","gold":["a"]},{"question":"q","gold":["a"]}]}`)
	w := httptest.NewRecorder()
	serve(evaluatorOf(l, nil)).ServeHTTP(w, r.WithContext(ctx))
	if len(l.asked) != 1 || w.Code < 500 {
		t.Errorf("%d questions were asked, status %d", len(l.asked), w.Code)
	}
}

func TestEvaluate_HasADeadlineAndPlacesForFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &librarian{wait: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		h := evaluatorOf(&librarian{}, func(c *Config) { c.NewBill = func() Bill { return freeBill{&librarian{wait: l.wait}} } })
		answers := make(chan *httptest.ResponseRecorder, maxEvaluations)
		for range maxEvaluations {
			go func() { answers <- evaluate(t, h, `{"query":"q"}`, nil) }()
		}
		synctest.Wait()
		if w := evaluate(t, h, `{"query":"q"}`, nil); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("one too many: status %d: %s", w.Code, w.Body)
		}
		for range maxEvaluations {
			if w := <-answers; w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "took longer than 5m") {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		}
	})
}

func TestEvaluate_IsTheCallersAndOnTheBill(t *testing.T) {
	l := &librarian{}
	b := &books{}
	b.readLedger(t, "retrieve openai:small 30 0 0 0 3\nrerank test:judge 100 2 0 0 ?\n")
	h := handlerOf(l, b, nil)
	var r struct {
		Turn struct {
			Tokens stageTokens
			Cost   struct{ Embedding, Total float64 }
		} `json:"turn_metrics"`
	}
	evaluateFor(t, h, "alice", `{"questions":[{"question":"q","gold":["a"]}]}`, &r)
	if l.asked[0].Principal.Subject != "alice" {
		t.Errorf("asked as %+v", l.asked[0].Principal)
	}
	if r.Turn.Tokens.Embedding != 30 || r.Turn.Tokens.Rerank != 102 || r.Turn.Tokens.Total != 132 || r.Turn.Cost.Embedding != 3e-6 {
		t.Errorf("it took %+v", r.Turn)
	}
	for name, c := range map[string]struct {
		change func(*Config)
		status int
	}{
		"broken documents": {func(c *Config) { c.Document = noDocument }, http.StatusInternalServerError},
		"broken ledger":    {func(c *Config) { c.Ledger = &books{err: errors.New("secret disk")} }, http.StatusInternalServerError},
	} {
		w := evaluate(t, handlerOf(l, b, c.change), `{"questions":[{"question":"q","gold":["a"]}]}`, nil)
		if w.Code != c.status || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
}

func TestEvaluate_AsksWhoMay(t *testing.T) {
	if w := evaluateFor(t, handlerOf(&librarian{}, &books{}, nil), "nobody", `{"query":"q"}`, nil); w.Code != http.StatusUnauthorized {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func noDocument(context.Context, retrieval.Filter, string) (retrieval.Document, error) {
	return retrieval.Document{}, errors.New("secret disk")
}

var _ Bill = (*turn.Bill)(nil)
