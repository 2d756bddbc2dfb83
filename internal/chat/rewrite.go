package chat

import "context"

// runRewrite makes the question standalone. Without a rewriter, or when it gives nothing, the
// question itself is the query.
func (t *turn) runRewrite(ctx context.Context, out *output) (StageFinished, error) {
	t.query = QueryRewritten{Original: t.asked, Query: t.asked, Reason: "rewriting is off"}
	if t.cfg.Rewrite != nil {
		t.query = t.cfg.Rewrite(ctx, t.history, t.asked)
		t.query.Original = t.asked
	}
	if t.query.Query == "" {
		t.query.Query, t.query.Rewritten = t.asked, false
	}
	if err := ctx.Err(); err != nil {
		return StageFinished{}, err
	}
	return StageFinished{}, out.emit(t.query)
}
