package ragchat

import (
	"context"
	"strings"

	"parley/internal/chat"
	"parley/internal/ledger"
)

// response is the response of POST /chat and POST /chat/{session_id}.
type response struct {
	Answer     string        `json:"answer"`
	Response   string        `json:"response"` // the same text
	AnswerHTML *string       `json:"answer_html,omitempty"`
	Reasoning  string        `json:"reasoning,omitempty"`
	Sources    []source      `json:"sources"`
	Metrics    metrics       `json:"metrics"`
	Turn       turnMetrics   `json:"turn_metrics"`
	Totals     totals        `json:"conversation_totals"`
	ToolsUsed  []string      `json:"tools_used"` // names in the order of their first calls
	Rewrite    rewriteReport `json:"rewrite_display"`
	Model      string        `json:"model"`           // the model that answered, as its provider names it
	Notes      []string      `json:"notes,omitempty"` // what was requested but could not be done
	FollowUps  []string      `json:"followup_questions,omitempty"`
}

// rewriteReport always has the protocol's ten keys.
type rewriteReport struct {
	Enabled    bool    `json:"enabled"`
	Triggered  bool    `json:"triggered"` // enabled, and there was a conversation
	Accepted   bool    `json:"accepted"`  // Rewritten was the query that was searched for
	Original   string  `json:"original"`
	Rewritten  string  `json:"rewritten"` // equals Original if not accepted
	Confidence float64 `json:"confidence"`
	Threshold  float64 `json:"threshold"`
	Ambiguous  bool    `json:"ambiguous"`
	Reason     string  `json:"reason"`
	Changed    bool    `json:"changed"`
	Candidate  string  `json:"candidate,omitempty"` // the query that was not accepted
}

// respond makes the response for a completed turn.
func (h *Handler) respond(ctx context.Context, x *exchange, t *chat.Turn) *response {
	m := t.Messages[len(t.Messages)-1]
	text, html := x.answer(t)
	entries, sum := h.bill(ctx, x, t)
	res := &response{
		Answer: text, Response: text, AnswerHTML: html, Reasoning: t.Reasoning, Sources: []source{}, ToolsUsed: append([]string{}, t.ToolsUsed("")...),
		Turn: turnMetricsOf(entries), Rewrite: x.rewriteReportOf(t.Rewrite), Model: m.Model, Notes: x.notes,
		FollowUps: t.FollowUps,
	}
	if x.showSources {
		res.Sources = x.sourcesOf(t)
	}
	res.Metrics = metrics{Retrieved: len(t.Retrieved.Passages), Tokens: res.Turn.Tokens, Cost: res.Turn.Cost}
	res.Totals = totalsOf(sum)
	return res
}

// bill returns the entries of the turn and the totals of its account. The turn is saved and cannot be undone, so
// if the ledger cannot be read, bill derives them from the turn's stages.
func (h *Handler) bill(ctx context.Context, x *exchange, t *chat.Turn) ([]ledger.Entry, ledger.Totals) {
	entries, err := h.cfg.Ledger.Entries(ctx, x.req.TurnID)
	if err != nil {
		h.cfg.Logger.ErrorContext(ctx, "read the usage of a turn", "turn_id", x.req.TurnID, "error", err)
		for _, s := range t.Stages {
			if s.Model != "" {
				entries = append(entries, ledger.Entry{Stage: s.Stage, Model: s.Model, Usage: s.Usage})
			}
		}
	}
	own := ledger.Totals{Turns: 1}
	for _, e := range entries {
		own.Add(e, 1)
	}
	key := ledger.AccountOf(x.req.Principal.Subject, x.req.ConversationID, x.req.Account)
	if key.IsZero() || err != nil {
		return entries, own
	}
	sum, err := h.cfg.Ledger.Totals(ctx, key)
	if err != nil {
		h.cfg.Logger.ErrorContext(ctx, "read totals", "turn_id", x.req.TurnID, "error", err)
		return entries, own
	}
	return entries, sum
}

func (x *exchange) rewriteReportOf(q chat.QueryRewritten) rewriteReport {
	o := x.req.Options.Rewrite
	r := rewriteReport{
		Enabled: !o.Off, Triggered: q.Tried, Accepted: q.Rewritten, Original: q.Original, Rewritten: q.Original,
		Threshold: o.Threshold, Reason: q.Reason,
	}
	if !q.Tried {
		return r
	}
	r.Confidence, r.Ambiguous, r.Candidate = q.Confidence, q.Ambiguous, q.Candidate
	if q.Rewritten {
		r.Rewritten = q.Query
	}
	r.Changed = q.Rewritten || q.Candidate != "" && !strings.EqualFold(q.Candidate, q.Original)
	return r
}
