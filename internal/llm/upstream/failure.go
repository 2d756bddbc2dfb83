package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/internal/llm"
)

// maxFailure is the maximum length in bytes of an upstream's own error text that is kept.
const maxFailure = 2 << 10

// refusal returns the error of a response that is not an answer in the call's framing.
func (c *Call) refusal(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return c.status(resp)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if c.Framing.is(kind) {
		return nil
	}
	e, body := c.failure(resp)
	e.Err = fmt.Errorf("the upstream answered with %q, not with %q: %s", llm.CleanName(kind), c.Framing.accept(), c.Secret.Redact(body))
	e.Retryable = e.Retryable || !json.Valid(body)
	judge(e, body)
	return e
}

// status returns the error of a response that is not 200.
func (c *Call) status(resp *http.Response) error {
	e, body := c.failure(resp)
	e.Status = resp.StatusCode
	e.Retryable = !e.Filtered && !e.Miscalled && retryable(e.Status)
	e.Err = fmt.Errorf("the upstream answered with status %d: %s", e.Status, c.Secret.Redact(body))
	judge(e, body)
	return e
}

func (c *Call) failure(resp *http.Response) (*llm.Error, []byte) {
	// A body that can't be read says as little as an empty one.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 2*maxFailure))
	e := c.Failure(body)
	if d := retryAfter(resp.Header, time.Now()); d > 0 {
		e.RetryAfter = d
	}
	return e, body
}

// Failed returns the error for an error object in the stream itself.
func (c *Call) Failed(object []byte) *llm.Error {
	e := c.Failure(object)
	e.Err = fmt.Errorf("the upstream broke off: %s", c.Secret.Redact(object))
	judge(e, object)
	return e
}

// HasError reports whether the member "error" of an upstream's object stands for an error.
func HasError(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// StatusError returns the error for a status.
func StatusError(status int) *llm.Error {
	return &llm.Error{Status: status, Retryable: retryable(status)}
}

func retryable(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout
}

// retryAfter reads how long to wait before the next call, at most an hour.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	s := strings.TrimSpace(h.Get("Retry-After"))
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err == nil {
		d = time.Duration(min(ms, 3_600_000)) * time.Millisecond
	} else if n, err := strconv.Atoi(s); err == nil {
		d = time.Duration(min(n, 3600)) * time.Second
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), time.Hour)
}

// broken returns the error of a call or a stream that broke. If the caller's own context has ended,
// it returns that context's error, since the upstream is not to blame.
func (c *Call) broken(parent, ctx context.Context, doing string, err error) error {
	if parent.Err() != nil {
		return fmt.Errorf("%s: %w", doing, parent.Err())
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if cause := context.Cause(ctx); cause != nil {
		silent := errors.Is(cause, errSilent) || errors.Is(cause, errOverall)
		return &llm.Error{Retryable: true, Silent: silent, Err: fmt.Errorf("%s: %w", doing, cause)}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the URL may hold a secret
	}
	again := !errors.Is(err, llm.ErrEventTooLarge)
	return &llm.Error{Retryable: again, Reason: reasonOfBreak(err), Err: errors.New(doing + ": " + c.Secret.Redact([]byte(err.Error())))}
}

// Undecodable returns the error for a malformed event. It leaves out the input that encoding/json
// quotes in its errors.
func Undecodable(err error) *llm.Error { return undecodable("event of the completion", err) }

// UndecodableAnswer is like Undecodable, for an answer that is a single document.
func UndecodableAnswer(err error) *llm.Error { return undecodable("answer of the upstream", err) }

func undecodable(what string, err error) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%s is a JSON %s", e.Field, e.Value)
	}
	return &llm.Error{Retryable: true, Err: fmt.Errorf("decode %s: %w", what, err)}
}

// Cut returns the error of a stream that ended before the upstream said so.
func Cut() *llm.Error {
	return &llm.Error{Retryable: true, Err: errors.New("the completion was cut off")}
}
