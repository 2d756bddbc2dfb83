package chat

import (
	"cmp"
	"context"
	"time"

	"parley/internal/llm"
)

// maxReplyBytes limits the reply to a small call beside the answer, such as rewriting.
const maxReplyBytes = 32 << 10

// ask makes a small call beside the answer, at temperature 0 and within a time limit. When it returns an
// error, the completion still holds the usage and text up to then.
func (t *turn) ask(ctx context.Context, m resolved, limit time.Duration, req llm.Request) (llm.Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req.Model, req.Temperature = m.name, 0
	c, err := llm.Complete(ctx, m.Model, req, maxReplyBytes)
	if err == nil {
		c.Model = cmp.Or(c.Model, m.name)
	}
	return c, err
}
