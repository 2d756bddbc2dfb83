package ragchat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/eval"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Bill runs those stages of a turn that find passages, and charges their model calls. turn.Bill implements it.
type Bill interface {
	chat.Runner
	ID() string // under which the ledger has the calls
}

// The limits of an evaluation.
const (
	maxQuestions   = 500
	maxSearches    = 2000 // questions × ways
	maxGold        = 100  // for a question
	maxGrade       = 100
	maxEvaluations = 2 // concurrently, since each keeps a processor busy
	evaluationTime = 5 * time.Minute
)

var (
	errEvaluations = &chat.Error{Kind: chat.RateLimited, RetryAfter: 5 * time.Second,
		Msg: "Too many evaluations are running. Please try again in a moment."}
	errEvaluationLong = &chat.Error{Kind: chat.Unavailable,
		Msg: fmt.Sprintf("The evaluation took longer than %s. Please ask fewer questions at a time.", evaluationTime)}
)

// evaluate handles POST /retrieval-evals/run. It finds passages without answering, either for a single
// query, like the original's page, or for questions with known documents, for which it measures the
// ranking.
func (h *Handler) evaluate(w http.ResponseWriter, r *wire.Request) error {
	x := &exchange{view: view{base: wire.BaseURL(r.Request, h.cfg.PublicURL, false), home: h.cfg.Namespace}}
	e, err := h.evaluationOf(r, x)
	if err != nil {
		return err
	}
	release, err := h.evaluations.Take(errEvaluations)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeoutCause(r.Context(), evaluationTime, errEvaluationLong)
	defer cancel()
	var out any
	if e.query != "" {
		out, err = h.lookUp(ctx, e)
	} else {
		out, err = h.measure(ctx, e)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), errEvaluationLong) {
			err = errEvaluationLong
		}
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

// findings are the results for one question.
type findings struct {
	turn    *chat.Turn
	first   []retrieval.Passage // in the order of the search, before reranking
	notes   []string            // of the stages
	ranking string              // the model that reranked; "" for none
}

// find runs a request and collects its results.
func find(ctx context.Context, bill Bill, req *chat.Request) (*findings, error) {
	f := &findings{turn: &chat.Turn{}}
	searched := false
	for e, err := range bill.Run(ctx, req) {
		if err != nil {
			return nil, err
		}
		f.turn.Add(e)
		switch e := e.(type) {
		case chat.PassagesRetrieved:
			if !searched {
				searched, f.first = true, slices.Clone(e.Passages) // a clone, since reranking may sort in place
			}
		case chat.StageFinished:
			if e.Note != "" {
				f.notes = append(f.notes, e.Note)
			}
			if e.Stage == chat.StageRerank {
				f.ranking = e.Model
			}
		}
	}
	return f, nil
}

// evalReport is the response for questions with known documents.
type evalReport struct {
	Namespace   string       `json:"namespace"`
	K           int          `json:"k"`
	Questions   int          `json:"questions"`
	Embedding   *string      `json:"embedding_model_key"` // null if none is configured
	HasVector   bool         `json:"has_vector"`          // some row was searched with vectors
	Rows        []evalRow    `json:"rows"`
	UnknownGold []string     `json:"unknown_gold"` // names of expected documents that the caller cannot find
	Notes       []string     `json:"notes"`
	Turn        turnMetrics  `json:"turn_metrics"`
	Details     []evalDetail `json:"details,omitempty"` // on request
}

// evalRow has the measures of one way over all questions.
type evalRow struct {
	evalWay
	Questions int         `json:"questions"`
	Recall    float64     `json:"recall_at_k"`
	NDCG      float64     `json:"ndcg_at_k"`
	MRR       float64     `json:"mrr"`
	HitRate   float64     `json:"hit_rate"`
	Latency   evalLatency `json:"latency_ms"`
}

// evalWay is a way to find passages, with what was actually done.
type evalWay struct {
	Retriever string         `json:"retriever"` // "bm25", the key of the embedding model, or both
	Mode      retrieval.Mode `json:"mode"`      // as requested
	Effective retrieval.Mode `json:"effective_mode"`
	HasVector bool           `json:"has_vector"`
	Rewrite   bool           `json:"rewrite"`
	Rerank    bool           `json:"rerank"`
	Model     *string        `json:"rerank_model"` // null if nothing was reranked
}

type evalLatency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// evalDetail has the results for one question.
type evalDetail struct {
	ID       string       `json:"id"`
	Question string       `json:"question"`
	Gold     []string     `json:"gold"`
	Rows     []evalResult `json:"rows"` // in the order of the report's rows
}

type evalResult struct {
	Mode    retrieval.Mode `json:"mode"`
	Rewrite bool           `json:"rewrite"`
	Rerank  bool           `json:"rerank"`
	Query   string         `json:"query"` // the query that was searched for
	Recall  float64        `json:"recall_at_k"`
	NDCG    float64        `json:"ndcg_at_k"`
	MRR     float64        `json:"mrr"`
	Hit     bool           `json:"hit"`
	Latency float64        `json:"latency_ms"`
	Results []evalPassage  `json:"results"`
}

type evalPassage struct {
	ID       string  `json:"id"`
	Citation string  `json:"citation"`
	Score    float64 `json:"score"`
	Gold     bool    `json:"gold"` // the passage is from an expected document or page
}

// measure runs every question in every way.
func (h *Handler) measure(ctx context.Context, e *evaluation) (*evalReport, error) {
	out := &evalReport{
		Namespace: e.req.Namespace, K: e.k, Questions: len(e.questions), Embedding: given(h.cfg.Embedding),
		Rows: []evalRow{}, Notes: []string{},
	}
	var err error
	if out.UnknownGold, err = h.unknownGold(ctx, e); err != nil {
		return nil, err
	}
	if e.details {
		for i := range e.questions {
			q := &e.questions[i]
			out.Details = append(out.Details, evalDetail{ID: q.id, Question: q.text, Gold: q.labels})
		}
	}
	bill := h.cfg.NewBill()
	for _, way := range e.ways {
		if err := h.measureWay(ctx, bill, e, way, out); err != nil {
			return nil, err
		}
	}
	entries, err := h.cfg.Ledger.Entries(ctx, bill.ID())
	if err != nil {
		return nil, fmt.Errorf("read what the evaluation took: %w", err)
	}
	out.Turn = turnMetricsOf(entries)
	return out, nil
}

// measureWay adds the row of one way.
func (h *Handler) measureWay(ctx context.Context, bill Bill, e *evaluation, way eval.Way, out *evalReport) error {
	row := evalRow{evalWay: evalWay{Mode: way.Mode, Rewrite: way.Rewrite, Rerank: way.Rerank, HasVector: true}}
	var sums eval.Row
	var notes []string
	for i := range e.questions {
		q := &e.questions[i]
		var f *findings
		turn, took, err := way.Try(ctx, func(ctx context.Context, req *chat.Request) (*chat.Turn, error) {
			var err error
			if f, err = find(ctx, bill, req); err != nil {
				return nil, err
			}
			return f.turn, nil
		}, q.request(e))
		if err != nil {
			return fmt.Errorf("find passages for question %d: %w", i+1, err)
		}
		passages := e.best(turn.Retrieved.Passages)
		m := eval.MeasuresAt(eval.Ranked(passages, q.gold), q.gold, e.k)
		sums.Add(m, took)
		row.Effective, row.HasVector = turn.Retrieved.Mode, row.HasVector && turn.Retrieved.HasVector
		if f.ranking != "" {
			row.Model = &f.ranking
		}
		notes = append(notes, f.notes...)
		if e.details {
			out.Details[i].Rows = append(out.Details[i].Rows, resultOf(way, turn.Rewrite.Query, passages, q.gold, m, took))
		}
	}
	sums.Finish()
	row.Retriever = eval.Retriever(row.Effective, h.cfg.Embedding)
	row.Questions, row.Recall, row.NDCG, row.MRR, row.HitRate = sums.Questions, sums.Recall, sums.NDCG, sums.MRR, sums.HitRate
	row.Latency = evalLatency{sums.Mean, sums.P50, sums.P99}
	out.Rows = append(out.Rows, row)
	out.HasVector = out.HasVector || row.HasVector
	out.note(way.Mode, notes)
	return nil
}

// note adds each distinct note once, with the number of questions that had it.
func (r *evalReport) note(mode retrieval.Mode, notes []string) {
	counts, order := map[string]int{}, []string{}
	for _, n := range notes {
		if counts[n]++; counts[n] == 1 {
			order = append(order, n)
		}
	}
	for _, n := range order {
		n = fmt.Sprintf("%s: %s (%d of %d questions)", mode, n, counts[n], r.Questions)
		if !slices.Contains(r.Notes, n) { // another way may have the same mode
			r.Notes = append(r.Notes, n)
		}
	}
}

// resultOf returns the result of one question in one way.
func resultOf(way eval.Way, query string, passages []retrieval.Passage, gold map[string]int, m eval.Measures, took time.Duration) evalResult {
	r := evalResult{
		Mode: way.Mode, Rewrite: way.Rewrite, Rerank: way.Rerank, Query: query, Results: []evalPassage{},
		Recall: m.Recall, NDCG: m.NDCG, MRR: m.MRR, Hit: m.HitRate > 0, Latency: float64(took.Microseconds()) / 1000,
	}
	for i := range passages {
		r.Results = append(r.Results, passageOf(&passages[i], gold))
	}
	return r
}

func passageOf(p *retrieval.Passage, gold map[string]int) evalPassage {
	met := eval.MeasuresAt(eval.Ranked([]retrieval.Passage{*p}, gold), gold, 1+len(gold))
	return evalPassage{ID: sourceID(p), Citation: cite.LabelOf(p), Score: p.Score, Gold: met.HitRate > 0}
}

// unknownGold returns the names of expected documents that the caller cannot find.
func (h *Handler) unknownGold(ctx context.Context, e *evaluation) ([]string, error) {
	unknown := []string{}
	if h.cfg.Document == nil {
		return unknown, nil
	}
	filter := retrieval.Filter{Principal: e.req.Principal, Namespace: e.req.Namespace}
	known := map[string]bool{}
	for i := range e.questions {
		for _, label := range e.questions[i].labels {
			name, _, _ := cutPage(label)
			if isURL(name) {
				continue // the address of a fetched page: documents are looked up by name
			}
			if _, asked := known[name]; asked {
				continue
			}
			_, err := h.cfg.Document(ctx, filter, name)
			if err != nil && !errors.Is(err, retrieval.ErrNotFound) {
				return nil, fmt.Errorf("look for a document: %w", err)
			}
			if known[name] = err == nil; err != nil {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown, nil
}
