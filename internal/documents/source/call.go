package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/internal/interrupt"
)

// The limits of calls.
const (
	callTries    = 4
	callPause    = 500 * time.Millisecond // before the second try; it doubles with each
	longestPause = 30 * time.Second
	headerTime   = time.Minute     // until the head of a response arrives
	quietTime    = time.Minute     // without a byte
	callTime     = 2 * time.Minute // of a call whose answer is small
	slowest      = 64 << 10        // bytes in a second, below which an object takes too long
	maxAnswer    = 64 << 20        // bytes of a listing's page
	// MaxObjects is the maximum number of objects that a source may list.
	MaxObjects = 1_000_000
)

// StatusError is an answer that says no.
type StatusError struct {
	Status int
	Code   string // of the service; "" if it gave none
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	return text
}

// Is reports whether the answer is about the object, and not about the server.
func (e *StatusError) Is(target error) bool {
	return target == ErrRefused && e.Status < http.StatusInternalServerError && e.Status != http.StatusTooManyRequests
}

// caller calls an HTTP service.
type caller struct {
	client *http.Client
	sign   func(r *http.Request) // adds what proves the account; it must not change the address
	pause  time.Duration
}

func newCaller(sign func(*http.Request)) *caller {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerTime
	transport.MaxIdleConnsPerHost = 8
	return &caller{client: &http.Client{Transport: transport, CheckRedirect: sameHost}, sign: sign, pause: callPause}
}

func (c *caller) close() { c.client.CloseIdleConnections() }

// sameHost refuses redirects to other hosts: they would get the account's secret, or learn what is asked for.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case r.URL.Scheme != first.Scheme || r.URL.Host != first.Host:
		return fmt.Errorf("the server redirects to %s, which the source does not follow", (&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}).String())
	case len(via) >= 5:
		return errors.New("the server redirects again and again")
	}
	return nil
}

// call sends a request and returns the answer, which has one of the given statuses. After failures that may pass it tries
// again. The body of the answer ends with an error when it takes longer than within.
func (c *caller) call(ctx context.Context, method, address string, header http.Header, body []byte, within time.Duration, want ...int) (*http.Response, error) {
	var failed error
	for try := range callTries {
		if try > 0 {
			if err := interrupt.Sleep(ctx, pauseBefore(try, c.pause, failed)); err != nil {
				return nil, err
			}
		}
		answer, err := c.once(ctx, method, address, header, body, within)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			failed = hideQuery(err)
			continue
		}
		for _, status := range want {
			if answer.StatusCode == status {
				return answer, nil
			}
		}
		failed = refusal(answer)
		if passing := answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented; !passing {
			break
		}
	}
	return nil, failed
}

// waitError is a refusal that says when to try again.
type waitError struct {
	*StatusError
	after time.Duration
}

func (e *waitError) Unwrap() error { return e.StatusError }

func refusal(answer *http.Response) error {
	head, _ := io.ReadAll(io.LimitReader(answer.Body, 16<<10)) // without the code, the status is good enough
	answer.Body.Close()
	err := &StatusError{Status: answer.StatusCode, Code: codeIn(head)}
	if seconds, e := strconv.Atoi(answer.Header.Get("Retry-After")); e == nil && seconds > 0 {
		return &waitError{err, time.Duration(seconds) * time.Second}
	}
	return err
}

// codeIn returns the code of an error of S3 or Azure: letters only.
func codeIn(body []byte) string {
	_, rest, ok := bytes.Cut(body, []byte("<Code>"))
	code, _, ended := bytes.Cut(rest, []byte("</Code>"))
	if !ok || !ended || len(code) > 64 || bytes.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'z' }) {
		return ""
	}
	return string(code)
}

func pauseBefore(try int, pause time.Duration, failed error) time.Duration {
	pause = min(pause<<(try-1), longestPause)
	pause = time.Duration(float64(pause) * (0.5 + rand.Float64()))
	if wait, ok := errors.AsType[*waitError](failed); ok {
		pause = max(pause, min(wait.after, longestPause))
	}
	return pause
}

func (c *caller) once(ctx context.Context, method, address string, header http.Header, body []byte, within time.Duration) (*http.Response, error) {
	ctx, limit := newLimit(ctx, within)
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		limit.end()
		return nil, errors.New("the address is not valid")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "parley")
	if c.sign != nil {
		c.sign(r)
	}
	answer, err := c.client.Do(r)
	if err != nil {
		if slow := limit.err(); slow != nil {
			err = slow
		}
		limit.end()
		return nil, err
	}
	answer.Body = &limitedBody{answer.Body, limit}
	return answer, nil
}

// answer calls, and returns the whole body.
func (c *caller) answer(ctx context.Context, method, address string, header http.Header, body []byte, want int) ([]byte, error) {
	r, err := c.call(ctx, method, address, header, body, callTime, want)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	all, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer+1))
	if err == nil && len(all) > maxAnswer {
		err = fmt.Errorf("the server's answer has more than %d MiB", maxAnswer>>20)
	}
	return all, hideQuery(err)
}

// open returns the content of an object, if that is still what was listed.
func (c *caller) open(ctx context.Context, address string, o Object, most int64) (io.ReadCloser, error) {
	header := http.Header{}
	if o.seen != "" {
		header.Set("If-Match", o.seen)
	}
	answer, err := c.call(ctx, http.MethodGet, address, header, nil, timeFor(o, most), http.StatusOK)
	if refused, ok := errors.AsType[*StatusError](err); ok && o.seen != "" && refused.Status == http.StatusPreconditionFailed {
		return nil, changedError{}
	}
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// strong returns an ETag as If-Match has it; "" for none, and for a weak one, which never matches there (RFC 9110, section 13.1.1).
func strong(etag string) string {
	if etag = strings.TrimSpace(etag); etag == "" || strings.HasPrefix(etag, "W/") {
		return ""
	}
	return `"` + strings.Trim(etag, `"`) + `"`
}

// timeFor returns how long reading an object may take.
func timeFor(o Object, most int64) time.Duration {
	size := o.Size
	if size < 0 || size > most {
		size = most
	}
	return callTime + time.Duration(size/slowest)*time.Second
}

// limit ends a context when nothing happens for quietTime, or when it takes too long in all.
type limit struct {
	cancel       context.CancelCauseFunc
	ctx          context.Context
	quiet, total *time.Timer
}

var errSlow = errors.New("the server is too slow")

func newLimit(ctx context.Context, within time.Duration) (context.Context, *limit) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &limit{cancel: cancel, ctx: ctx}
	l.quiet = time.AfterFunc(quietTime+headerTime, func() { cancel(errSlow) })
	l.total = time.AfterFunc(within, func() { cancel(errSlow) })
	return ctx, l
}

func (l *limit) alive() { l.quiet.Reset(quietTime) }

func (l *limit) err() error {
	if errors.Is(context.Cause(l.ctx), errSlow) {
		return errSlow
	}
	return nil
}

func (l *limit) end() {
	l.quiet.Stop()
	l.total.Stop()
	l.cancel(nil)
}

// limitedBody is a body within a limit.
type limitedBody struct {
	io.ReadCloser
	limit *limit
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.limit.alive()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if slow := b.limit.err(); slow != nil {
			err = slow
		}
	}
	return n, err
}

func (b *limitedBody) Close() error {
	defer b.limit.end()
	return b.ReadCloser.Close()
}
