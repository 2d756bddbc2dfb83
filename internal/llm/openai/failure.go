package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"parley/internal/llm"
)

// maxFailure is how much of an upstream's own error text is kept, in bytes.
const maxFailure = 2 << 10

// refusal returns the error of a response that is not a stream of events.
func (p *Provider) refusal(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	stream := kind == "text/event-stream" || kind == "" || kind == "application/octet-stream"
	if resp.StatusCode == http.StatusOK && stream {
		return nil
	}
	// A body that can't be read says as little as an empty one.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 2*maxFailure))
	e := classify(body)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	if resp.StatusCode == http.StatusOK {
		e.Err = fmt.Errorf("the upstream answered with %q, not with a stream: %s", llm.CleanName(kind), p.redact(body))
		e.Retryable = e.Retryable || !json.Valid(body)
		return e
	}
	e.Status = resp.StatusCode
	e.Retryable = !e.Filtered && (e.Status == http.StatusTooManyRequests || e.Status >= 500 ||
		e.Status == http.StatusRequestTimeout)
	e.Err = fmt.Errorf("the upstream answered with status %d: %s", e.Status, p.redact(body))
	return e
}

// classify reads the error object that an upstream sent as a body or as an event.
func classify(body []byte) *llm.Error {
	var w struct {
		Error struct {
			Type  string          `json:"type"`
			Code  json.RawMessage `json:"code"` // a string, or a number on some servers
			Inner struct {
				Code string `json:"code"`
			} `json:"innererror"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		return &llm.Error{}
	}
	code := strings.Trim(string(w.Error.Code), `"`)
	e := &llm.Error{Filtered: code == "content_filter" || w.Error.Inner.Code == "ResponsibleAIPolicyViolation"}
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		e.Status = n
	}
	if code == "rate_limit_exceeded" || w.Error.Type == "rate_limit_error" {
		e.Status = http.StatusTooManyRequests
	}
	e.Retryable = !e.Filtered && (e.Status == http.StatusTooManyRequests || e.Status >= 500 ||
		w.Error.Type == "server_error" || w.Error.Type == "overloaded_error")
	return e
}

// retryAfter reads how long the upstream wants to be left alone, at most an hour.
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

// ioError returns the error of a call or a stream that broke. The caller's own context comes
// first: that it ended is no fault of the upstream.
func (p *Provider) ioError(parent, ctx context.Context, doing string, err error) error {
	if parent.Err() != nil {
		return fmt.Errorf("%s: %w", doing, parent.Err())
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if cause := context.Cause(ctx); cause != nil {
		return &llm.Error{Retryable: true, Err: fmt.Errorf("%s: %w", doing, cause)}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the URL may hold a secret
	}
	retryable := !errors.Is(err, llm.ErrEventTooLarge)
	return &llm.Error{Retryable: retryable, Err: errors.New(doing + ": " + p.redact([]byte(err.Error())))}
}

// secrets matches what looks like a key: a known prefix with a tail, a bearer token, and any run
// of 32 or more characters of the usual alphabets.
var secrets = regexp.MustCompile(`(?i)bearer\s+\S+|\b(?:sk|pk|rk|xai|gsk|key|api[-_]?key|AIza|ghp|eyJ)[-_=:]*[A-Za-z0-9][-_.A-Za-z0-9]{7,}|[-_A-Za-z0-9+/=]{32,}`)

// redact returns at most 2 KiB of an upstream's text on one line, without what looks like a key.
func (p *Provider) redact(text []byte) string {
	s := strings.ToValidUTF8(string(text), "")
	if len(p.cfg.APIKey) >= 8 { // whole, before the pattern sees a part of it
		s = strings.ReplaceAll(s, p.cfg.APIKey, "[redacted]")
	}
	if len(text) >= 2*maxFailure { // a key may have been cut in two at the end
		s = s[:strings.LastIndexAny(s, " \n\"")+1]
	}
	s = secrets.ReplaceAllString(s, "[redacted]")
	if p.cfg.APIKey != "" {
		s = strings.ReplaceAll(s, p.cfg.APIKey, "[redacted]")
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxFailure {
		s = strings.ToValidUTF8(s[:maxFailure], "") + "…"
	}
	return s
}
