package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Completion is a whole reply of a model.
type Completion struct {
	Text         string
	Model        string // the model that really answered, "" when the upstream named none
	FinishReason string
	Usage        Usage
}

// ErrReplyTooLong says that a reply was longer than its caller reads.
var ErrReplyTooLong = errors.New("reply is too long")

// Complete asks for one completion and returns it whole, for the small calls of a pipeline; its
// deadline is that of ctx. A reply of more than limit bytes is an error and ends the call. With an
// error too, the completion holds what it took, as far as that is known.
func Complete(ctx context.Context, m Model, req Request, limit int) (Completion, error) {
	var (
		c         Completion
		text      strings.Builder
		reasoning TokenEstimate
		usage     *Usage
		err       error
	)
	req.Whole = true
	for chunk, failed := range m.Stream(ctx, req) {
		if err = failed; err != nil {
			break
		}
		if c.Model == "" {
			c.Model = chunk.Model
		}
		if chunk.FinishReason != "" {
			c.FinishReason = chunk.FinishReason
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		reasoning.Add(chunk.Reasoning)
		if text.Len()+len(chunk.Text) > limit {
			err = fmt.Errorf("%w: over %d bytes", ErrReplyTooLong, limit)
			break
		}
		text.WriteString(chunk.Text)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	c.Text = text.String()
	if err == nil && c.FinishReason == "content_filter" && strings.TrimSpace(c.Text) == "" {
		err = &Error{Filtered: true, Err: errors.New("the content filter left nothing of the reply")}
	}
	switch {
	case usage != nil:
		c.Usage = *usage
	case !refused(err, c):
		c.Usage = Usage{Input: EstimateInput(req), Reasoning: reasoning.Tokens(), Estimated: true}
		c.Usage.Output = c.Usage.Reasoning + EstimateTokens(c.Text)
	}
	return c, err
}

// refused reports whether nothing came but an error of the upstream, or of the way to it: most of
// those cost nothing. What a call that was cut off may have cost is in the ledger.
func refused(err error, c Completion) bool {
	_, ok := errors.AsType[*Error](err)
	return ok && c.Text == "" && c.Model == ""
}

// Object returns the JSON object in a reply: models put text before and after it, and fences
// around it. It is not validated; ok is false when there is none.
func Object(reply string) (object string, ok bool) {
	from, to := strings.IndexByte(reply, '{'), strings.LastIndexByte(reply, '}')
	if from < 0 || to < from {
		return "", false
	}
	return reply[from : to+1], true
}
