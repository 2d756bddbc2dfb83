package llm

import (
	"context"
	"strconv"
	"strings"

	"parley/internal/trace"
)

// traced is the span of one attempt at a completion. A nil traced does nothing.
type traced struct {
	span  *trace.Span
	reply trace.Reply
	begun bool
	text  strings.Builder // of the answer, if the span holds content
}

// traceCompletion begins the span of a completion.
func traceCompletion(ctx context.Context, endpoint string, req *Request) (context.Context, *traced) {
	ctx, span := trace.Model(ctx, "chat", endpoint, req.Model)
	if span == nil {
		return ctx, nil
	}
	span.Sent(trace.Params{Temperature: req.Temperature, TopP: req.TopP, MaxTokens: req.MaxOutputTokens})
	if span.HoldsContent() {
		messages := make([]trace.Message, 0, len(req.Messages))
		for _, m := range req.Messages {
			messages = append(messages, trace.Message{Role: string(m.Role), Text: m.Text()})
		}
		span.Input(messages...)
	}
	return ctx, &traced{span: span}
}

// add records a chunk.
func (t *traced) add(c *Chunk) {
	if t == nil {
		return
	}
	if !t.begun && says(c) {
		t.begun = true
		t.span.FirstToken()
	}
	if c.Model != "" {
		t.reply.Model = c.Model
	}
	if c.FinishReason != "" {
		t.reply.FinishReason = c.FinishReason
	}
	if c.Vendor != nil && c.Vendor.ID != "" {
		t.reply.ID = c.Vendor.ID
	}
	if c.Usage != nil {
		t.reply.Input, t.reply.Output, t.reply.Cached = c.Usage.Input, c.Usage.Output, c.Usage.Cached
	}
	if t.span.HoldsContent() {
		t.text.WriteString(c.Text)
	}
}

// end ends the span.
func (t *traced) end(err error) {
	if t == nil {
		return
	}
	t.span.Got(t.reply)
	if t.text.Len() > 0 {
		t.span.Output(t.text.String())
	}
	t.span.End(err)
}

// ErrorType returns the value of error.type in traces: the upstream's status, or what kept it from answering.
func (e *Error) ErrorType() string {
	switch {
	case e.Status != 0:
		return strconv.Itoa(e.Status)
	case e.Filtered:
		return "content_filter"
	case e.Silent:
		return "timeout"
	}
	return "unavailable"
}
