package chat

import (
	"cmp"
	"context"
	"time"

	"parley/internal/llm"
)

// maxReplyBytes bounds what is read of a model in the small calls beside the answer.
const maxReplyBytes = 32 << 10

// ask makes one of the small calls beside the answer, at temperature 0 and with a time limit of
// its own. With an error too, the completion holds what the call took.
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
