package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"parley/internal/llm"
)

// Post makes a call whose answer is one JSON document of at most limit bytes, with the deadlines
// of a stream. The error is an *llm.Error, or the context's when that ended.
func (c *Client) Post(parent context.Context, call Call, limit int) ([]byte, error) {
	call.Framing = Document
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, c.cfg.Overall, errOverall)
	defer stop()
	watchdog := time.AfterFunc(c.cfg.FirstByte, func() { cancel(errSilent) })
	defer watchdog.Stop()

	resp, err := c.post(ctx, &call)
	if err != nil {
		return nil, call.broken(parent, ctx, "request answer", err)
	}
	defer resp.Body.Close() // before its end, this aborts the upstream
	if err := call.refusal(resp); err != nil {
		return nil, err
	}
	body, err := readDocument(resp, limit, func() { watchdog.Reset(c.cfg.Idle) })
	if err != nil {
		return nil, call.broken(parent, ctx, "read answer", err)
	}
	return body, nil
}

// PostTexts is Post with a body in JSON that asks for the vectors of a number of texts.
func (c *Client) PostTexts(ctx context.Context, call Call, body any, texts int) (answer []byte, err error) {
	if call.Body, err = Encode(body); err != nil {
		return nil, &llm.Error{Err: fmt.Errorf("encode texts: %w", err)}
	}
	return c.Post(ctx, call, VectorsLimit(texts))
}

// readDocument reads a body of at most limit bytes. It calls alive after each read that brought something.
func readDocument(resp *http.Response, limit int, alive func()) ([]byte, error) {
	size := 16 << 10
	if n := resp.ContentLength; n > 0 && n <= int64(limit) {
		size = int(n) + 1 // one more, to see the end without growing
	}
	body := make([]byte, 0, size)
	for {
		alive()
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := resp.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if len(body) > limit {
			return nil, &llm.Error{Err: fmt.Errorf("the upstream's answer is over %d bytes", limit)}
		}
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// InputUsage returns the usage of a call without output: the first plausible one of the numbers.
// It is empty if none is.
func InputUsage(numbers ...json.Number) llm.Usage {
	for _, number := range numbers {
		n, err := number.Int64()
		if err == nil && n > 0 && n <= maxUsage {
			return llm.Usage{Input: int(n)}
		}
	}
	return llm.Usage{}
}

// DecodeModels decodes an upstream's list of models. The error is an *llm.Error.
func DecodeModels(body []byte, to any) error {
	if err := json.Unmarshal(body, to); err != nil {
		return &llm.Error{Err: errors.New("the upstream's list of models cannot be read")}
	}
	return nil
}
