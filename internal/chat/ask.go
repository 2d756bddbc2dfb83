package chat

import (
	"cmp"
	"context"
	"time"

	"parley/internal/llm"
)

// maxReplyBytes is the maximum length of the reply to an auxiliary model call, such as rewriting.
const maxReplyBytes = 32 << 10

// ask makes an auxiliary model call, at temperature 0 and within a time limit. Even with an error, the
// completion contains the usage and text up to then.
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
