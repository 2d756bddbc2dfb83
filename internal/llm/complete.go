package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Completion is a whole reply of a model.
type Completion struct {
	Text         string
	Model        string // the model that answered; "" if the upstream named none
	FinishReason string
	Usage        Usage
}

// ErrReplyTooLong means that a reply exceeded the caller's limit.
var ErrReplyTooLong = errors.New("reply is too long")

// Complete requests one completion and returns it whole, for the small calls of a pipeline. The deadline
// is that of ctx. A reply of more than limit bytes is an error and ends the call. Even with an error,
// the completion contains the usage, as far as it is known.
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
		c.Model = cmp.Or(c.Model, chunk.Model)
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

// refused reports whether the only result was an error of the upstream or the connection. Most such
// calls cost nothing. The ledger has the possible cost of a call that was cut off.
func refused(err error, c Completion) bool {
	_, ok := errors.AsType[*Error](err)
	return ok && c.Text == "" && c.Model == ""
}

// Object returns the JSON object in a reply, without the text and code fences that models put around it.
// It does not validate the object; ok is false if there is none.
func Object(reply string) (object string, ok bool) {
	from, to := strings.IndexByte(reply, '{'), strings.LastIndexByte(reply, '}')
	if from < 0 || to < from {
		return "", false
	}
	return reply[from : to+1], true
}
