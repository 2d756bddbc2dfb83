package chat

import (
	"cmp"
	"context"
	"fmt"

	"parley/internal/chat/cite"
)

// runRewrite makes the question standalone. The RewriteFunc works by rules; it also provides the words of
// the conversation that are added to the search. A rewriting model, if there is one, decides on the query.
// If neither succeeds, the question itself is the query; that does not fail the turn.
func (t *turn) runRewrite(ctx context.Context, out *output) (StageFinished, error) {
	var done StageFinished
	t.query = QueryRewritten{Original: t.asked, Query: t.asked, Reason: "rewriting is off"}
	if !t.req.Options.Rewrite.Off {
		if t.cfg.Rewrite != nil {
			t.query = t.cfg.Rewrite(ctx, t.history, t.asked)
			t.query.Original = t.asked
		}
		t.query.Tried = len(t.history) > 0 || t.summary != ""
		if t.rewriter.Model != nil && t.query.Tried {
			done = t.rewriteByModel(ctx)
		}
		t.query.settle(t.req.Options.Rewrite.Threshold)
	}
	if err := ctx.Err(); err != nil {
		return done, err
	}
	return done, out.emit(t.query)
}

// settle accepts or rejects the candidate query, if there is one.
func (q *QueryRewritten) settle(threshold float64) {
	if q.Candidate != "" {
		q.Query, q.Rewritten = q.Original, false
		if !q.Ambiguous && q.Confidence >= threshold {
			q.Query, q.Rewritten, q.Candidate = q.Candidate, true, ""
		}
	}
	if q.Query == "" {
		q.Query, q.Rewritten = q.Original, false
	}
}

// rewriteByModel asks the model for the query. If the call fails, or the reply is not a query, it keeps the
// query that the rules produced.
func (t *turn) rewriteByModel(ctx context.Context) StageFinished {
	reply, err := t.ask(ctx, t.rewriter, t.cfg.RewriteTimeout, t.rewriteRequest())
	done := StageFinished{Model: reply.Model, Usage: reply.Usage}
	var r rewriting
	if err == nil {
		r, err = parseRewriting(reply.Text)
	}
	if err == nil {
		err = t.checkQuery(r.query)
	}
	if err != nil {
		if ctx.Err() == nil {
			t.cfg.Logger.Warn("no query from the model", "turn_id", t.req.TurnID, "model", t.rewriter.key, "error", err)
			done.Note = fmt.Sprintf("rewritten by rules, because %s failed", t.rewriter.key)
		}
		return done
	}
	r.query, r.clarify, r.reason = cite.Harmless(r.query, t.wasGiven), cite.Harmless(r.clarify, t.wasGiven), cite.Harmless(r.reason, t.wasGiven)
	q := &t.query
	q.Query, q.Rewritten, q.Candidate = t.asked, false, ""
	q.Confidence, q.Ambiguous, q.Reason = r.confidence, r.ambiguous, r.reason
	if r.ambiguous && t.req.Options.Rewrite.Clarify {
		t.clarifying = cmp.Or(r.clarify, askBack(r.query))
	}
	if questionKey(r.query) != questionKey(t.asked) {
		q.Candidate = r.query
	}
	return done
}
