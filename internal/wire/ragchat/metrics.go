package ragchat

import (
	"slices"

	"parley/internal/ledger"
	"parley/internal/wire"
)

// The stages of this API's usage and costs.
const (
	stageEmbedding = "embedding"
	stageRewrite   = "rewrite"
	stageRerank    = "rerank"
	stageSummary   = "summary"
	stageInference = "inference"
	stageTools     = "tools_synth"
)

// metrics is the short form of turnMetrics.
type metrics struct {
	Retrieved int         `json:"vectors_retrieved"`
	Tokens    stageTokens `json:"tokens"`
	Cost      stageCosts  `json:"cost"`
}

// stageTokens has tokens by stage. Total is the sum of all except Reasoning, which is part of Inference.
type stageTokens struct {
	Embedding int `json:"embedding"`
	Rewrite   int `json:"rewrite"`
	Rerank    int `json:"rerank"`
	Summary   int `json:"summary"`
	Inference int `json:"inference"`
	Reasoning int `json:"reasoning"`
	Tools     int `json:"tools_synth"`
	Total     int `json:"total"`
}

// stageCosts has costs by stage. Total is their sum.
type stageCosts struct {
	Embedding wire.USD `json:"embedding"`
	Rewrite   wire.USD `json:"rewrite"`
	Rerank    wire.USD `json:"rerank"`
	Summary   wire.USD `json:"summary"`
	Inference wire.USD `json:"inference"`
	Tools     wire.USD `json:"tools_synth"`
	Total     wire.USD `json:"total"`
}

// stageUsage has the details of one stage.
type stageUsage struct {
	Input     int      `json:"input_tokens"`
	Output    int      `json:"output_tokens"`
	Cached    int      `json:"cached_tokens"`
	Reasoning int      `json:"reasoning_tokens"`
	Cost      wire.USD `json:"cost"`
	Costs     sumCosts `json:"costs"`
}

type sumCosts struct {
	Total wire.USD `json:"total"`
}

func (s stageUsage) tokens() int { return s.Input + s.Output }

// turnMetrics has the usage and costs of a turn.
type turnMetrics struct {
	Tokens    stageTokens `json:"tokens"`
	Cost      stageCosts  `json:"cost"`
	Embedding stageUsage  `json:"embedding"`
	Rewrite   stageUsage  `json:"rewrite"`
	Rerank    stageUsage  `json:"rerank"`
	Summary   stageUsage  `json:"summary"`
	Inference stageUsage  `json:"inference"`
	Tools     stageUsage  `json:"tools_synth"`
	Totals    turnTotals  `json:"totals"`
	Unpriced  []string    `json:"unknown_prices"` // models with unknown prices, whose cost counts as 0
	Estimated bool        `json:"estimated"`      // some token counts are estimates
}

type turnTotals struct {
	Tokens int       `json:"tokens"`
	Cost   turnTotal `json:"cost"`
	Costs  turnTotal `json:"costs"`
}

type turnTotal struct {
	Total wire.USD `json:"turn_total"`
}

// turnMetricsOf adds up the entries of a turn. Stages that this API does not have count as inference, so
// that the total is complete.
func turnMetricsOf(entries []ledger.Entry) turnMetrics {
	m := turnMetrics{Unpriced: []string{}}
	for _, e := range entries {
		s := &m.Inference
		switch nameOf(e.Stage) {
		case stageEmbedding:
			s = &m.Embedding
		case stageRewrite:
			s = &m.Rewrite
		case stageRerank:
			s = &m.Rerank
		case stageSummary:
			s = &m.Summary
		case stageTools:
			s = &m.Tools
		}
		s.Input += e.Usage.Input
		s.Output += e.Usage.Output
		s.Cached += e.Usage.Cached
		s.Reasoning += e.Usage.Reasoning
		s.Cost += wire.USD(e.Cost.Micros)
		s.Costs.Total = s.Cost
		m.Estimated = m.Estimated || e.Usage.Estimated
		if key := e.Provider + ":" + e.Model; !e.Cost.Known && !slices.Contains(m.Unpriced, key) {
			m.Unpriced = append(m.Unpriced, key)
		}
	}
	m.sum()
	return m
}

func (m *turnMetrics) sum() {
	t, c := &m.Tokens, &m.Cost
	t.Embedding, t.Rewrite, t.Rerank = m.Embedding.tokens(), m.Rewrite.tokens(), m.Rerank.tokens()
	t.Summary, t.Inference, t.Tools = m.Summary.tokens(), m.Inference.tokens(), m.Tools.tokens()
	t.Reasoning = m.Inference.Reasoning
	t.Total = t.Embedding + t.Rewrite + t.Rerank + t.Summary + t.Inference + t.Tools
	c.Embedding, c.Rewrite, c.Rerank = m.Embedding.Cost, m.Rewrite.Cost, m.Rerank.Cost
	c.Summary, c.Inference, c.Tools = m.Summary.Cost, m.Inference.Cost, m.Tools.Cost
	c.Total = c.Embedding + c.Rewrite + c.Rerank + c.Summary + c.Inference + c.Tools
	m.Totals = turnTotals{Tokens: t.Total, Cost: turnTotal{c.Total}, Costs: turnTotal{c.Total}}
}

// totals has the usage and costs of a conversation.
type totals struct {
	Tokens    totalTokens `json:"tokens"`
	Cost      totalCost   `json:"cost"`
	Costs     totalCosts  `json:"costs"`
	Messages  int64       `json:"messages"` // number of user messages
	Unpriced  int64       `json:"calls_with_unknown_price"`
	Estimated int64       `json:"calls_with_estimated_tokens"`
}

type totalTokens struct {
	Embedding    int64 `json:"embedding"`
	Input        int64 `json:"llm_input"`
	Output       int64 `json:"llm_output"`
	Conversation int64 `json:"conversation_total"`
	Total        int64 `json:"total"` // the same value
}

type totalCost struct {
	Conversation wire.USD `json:"conversation_total"`
	Total        wire.USD `json:"total"` // the same value
}

type totalCosts struct {
	Embedding    wire.USD `json:"embedding"`
	Models       wire.USD `json:"llm"`
	Conversation wire.USD `json:"conversation_total"`
	Total        wire.USD `json:"total"` // the same value
}

func totalsOf(t ledger.Totals) totals {
	tokens, cost := t.EmbeddingTokens+t.InputTokens+t.OutputTokens, wire.USD(t.EmbeddingMicros+t.Micros)
	return totals{
		Tokens:   totalTokens{t.EmbeddingTokens, t.InputTokens, t.OutputTokens, tokens, tokens},
		Cost:     totalCost{cost, cost},
		Costs:    totalCosts{wire.USD(t.EmbeddingMicros), wire.USD(t.Micros), cost, cost},
		Messages: t.Turns, Unpriced: t.Unpriced, Estimated: t.Estimated,
	}
}
