package ragchat

import (
	"context"
	"fmt"
	"strings"

	"parley/internal/chat"
	"parley/internal/eval"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// lookup is the response for a single query, in the form that the original's page reads.
type lookup struct {
	Domain    lookupDomain   `json:"domain"`
	Retrieval lookupResults  `json:"retrieval"`
	ColBERT   *struct{}      `json:"colbert"` // always null: there is no such model
	Reranked  lookupReranked `json:"reranked"`
	Echo      lookupEcho     `json:"payload_echo"`
	Notes     []string       `json:"notes"`
	Turn      turnMetrics    `json:"turn_metrics"`
}

type lookupDomain struct {
	Requested  string  `json:"requested_domain"`
	Effective  string  `json:"effective_domain"`
	Collection string  `json:"collection_name"`
	Embedding  *string `json:"embedding_model_key"` // null if none is configured
}

type lookupResults struct {
	Results      []lookupSource     `json:"results"`
	Requested    string             `json:"requested_search_mode"` // the original's name of the mode
	Effective    string             `json:"effective_search_mode"`
	HasVector    bool               `json:"has_vector"`
	Fallback     *string            `json:"fallback_reason"` // null if both modes are the same
	Capabilities lookupCapabilities `json:"vector_capabilities"`
}

// lookupSource is a passage. Its payload is null unless requested.
type lookupSource struct {
	ID      string   `json:"id"`
	Score   float64  `json:"score"`
	Payload *payload `json:"payload"`
}

type lookupCapabilities struct {
	Dense  bool `json:"has_dense"`
	Sparse bool `json:"has_sparse"`
}

type lookupReranked struct {
	Items     []lookupItem `json:"items"`
	Model     *string      `json:"model"` // null if nothing was reranked
	Requested int          `json:"requested_top_n"`
	Enabled   bool         `json:"cross_encoder_enabled"`
}

type lookupItem struct {
	Index int          `json:"original_index"` // index in the order of the search
	Score *float64     `json:"cross_encoder_score"`
	Item  lookupSource `json:"item"`
}

// lookupEcho repeats the request with its defaults.
type lookupEcho struct {
	Query     string  `json:"query"`
	Domain    string  `json:"active_domain"`
	Mode      string  `json:"search_mode"`
	Threshold float64 `json:"score_threshold"`
	TopK      int     `json:"top_k"`
	Payload   bool    `json:"with_payload"`
	Rerank    bool    `json:"enable_cross_encoder_rerank"`
	Reranked  int     `json:"cross_encoder_top_n"`
}

// lookUp finds passages for a single query in the first of the ways. If the request names no mode, it uses the server's
// default.
func (h *Handler) lookUp(ctx context.Context, e *evaluation) (*lookup, error) {
	way := e.ways[0]
	if !e.moded {
		way.Mode = h.cfg.Defaults.Mode
	}
	bill := h.cfg.NewBill()
	req := e.req
	req.Messages = []chat.Message{chat.TextMessage(llm.User, e.query)}
	var f *findings
	_, _, err := way.Try(ctx, func(ctx context.Context, req *chat.Request) (_ *chat.Turn, err error) {
		if f, err = find(ctx, bill, req); err != nil {
			return nil, err
		}
		return f.turn, nil
	}, req)
	if err != nil {
		return nil, err
	}
	entries, err := h.cfg.Ledger.Entries(ctx, bill.ID())
	if err != nil {
		return nil, fmt.Errorf("read what the search took: %w", err)
	}
	retrieved := &f.turn.Retrieved
	out := &lookup{
		Domain: lookupDomain{e.req.Namespace, e.req.Namespace, e.req.Namespace, given(h.cfg.Embedding)},
		Retrieval: lookupResults{
			Results: []lookupSource{}, Requested: originalMode(way.Mode), Effective: originalMode(retrieved.Mode), HasVector: retrieved.HasVector,
			Capabilities: lookupCapabilities{Dense: h.cfg.Embedding != "", Sparse: true},
		},
		Echo: lookupEcho{e.query, e.req.Namespace, originalMode(way.Mode), e.req.Options.MinScore, e.k, e.payload, way.Rerank, e.reranked},
		Turn: turnMetricsOf(entries), Notes: append([]string{}, f.notes...),
	}
	if retrieved.Mode != way.Mode {
		why := "no vectors: " + strings.Join(f.notes, "; ")
		out.Retrieval.Fallback = &why
	}
	if e.colbert {
		out.Notes = append(out.Notes, "there is no late interaction model: use_colbert has no effect")
	}
	first := e.best(f.first)
	for i := range first {
		out.Retrieval.Results = append(out.Retrieval.Results, e.sourceOf(&first[i]))
	}
	out.Reranked = e.rerankedOf(f, way)
	return out, nil
}

// originalMode returns the original's name of a mode.
func originalMode(m retrieval.Mode) string {
	switch m {
	case retrieval.Text:
		return "sparse"
	case retrieval.Vectors:
		return "dense"
	}
	return string(m)
}

// rerankedOf returns the passages after reranking, or without reranking the best passages of the search.
func (e *evaluation) rerankedOf(f *findings, way eval.Way) lookupReranked {
	out := lookupReranked{Items: []lookupItem{}, Requested: e.reranked, Enabled: way.Rerank, Model: given(f.ranking)}
	places := map[retrieval.ChunkKey]int{}
	for i := range f.first {
		places[f.first[i].Chunk.Key] = i
	}
	for _, p := range e.best(f.turn.Retrieved.Passages) {
		if len(out.Items) == e.reranked {
			break
		}
		out.Items = append(out.Items, lookupItem{places[p.Chunk.Key], p.Scores.Rerank, e.sourceOf(&p)})
	}
	return out
}

func (e *evaluation) sourceOf(p *retrieval.Passage) lookupSource {
	s := e.base.sourceOf(p)
	if !e.payload {
		return lookupSource{s.ID, p.Score, nil}
	}
	return lookupSource{s.ID, p.Score, &s.Payload}
}
