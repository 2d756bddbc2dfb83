// Package upstream makes the HTTP calls of the model providers beside it. Providers differ
// only in their Calls and Decoders. This package holds the rules for all of them: every wait and every
// body has a limit, cancellation reaches the upstream at once, a stream counts as an answer only if the
// upstream marked its end, and no error contains a key.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"parley/internal/llm"
	"parley/internal/trace"
)

// Config tunes a Client. Zero fields mean the default.
type Config struct {
	// HTTP makes the calls; its Timeout must be 0, since that would cover the whole stream. The
	// default is a client of its own, over HTTP/1.1, that follows no redirects.
	HTTP *http.Client

	FirstByte time.Duration // until the upstream answers; 60 s
	Idle      time.Duration // between two events of a stream that carry output; 60 s
	// Thinking replaces Idle while an upstream sends no output but keeps showing that it is working, by
	// comments or by its protocol's ping events: models may think for minutes. The default is five times
	// Idle.
	Thinking time.Duration
	Overall  time.Duration // for one call; 10 min
}

// Client makes calls. It is safe for concurrent use.
type Client struct{ cfg Config }

// NewClient returns a client.
func NewClient(cfg Config) *Client {
	if cfg.HTTP == nil {
		cfg.HTTP = newHTTP()
	}
	cfg.FirstByte = cmp.Or(cfg.FirstByte, time.Minute)
	cfg.Idle = cmp.Or(cfg.Idle, time.Minute)
	cfg.Thinking = cmp.Or(cfg.Thinking, 5*cfg.Idle)
	cfg.Overall = cmp.Or(cfg.Overall, 10*time.Minute)
	return &Client{cfg: cfg}
}

// ParseURL reads the base URL of an upstream from a setting; what describes the URL in errors.
func ParseURL(base, what string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an http or https URL", what)
	}
	return u, nil
}

func newHTTP() *http.Client {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           512,
		MaxIdleConnsPerHost:    256, // with the default of 2, nearly every turn would open a connection
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // a compressing proxy would hold tokens back
		ReadBufferSize:         4 << 10,
		WriteBufferSize:        1 << 10, // for the header: a body goes past it
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true) // one connection a stream: a dead one is noticed, and delays no other
	return &http.Client{
		Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key and the prompt go to the configured host only
		},
	}
}

// Framing is how an upstream delimits the events of a stream.
type Framing int

// The known framings.
const (
	SSE      Framing = iota // server-sent events
	Lines                   // JSON values, one a line (NDJSON)
	Document                // no stream: one JSON value, see Client.Post
)

// Call is a request for one completion, or for one document.
type Call struct {
	URL     string
	Header  http.Header // the provider's own: its key and its version; nil for none
	Body    []byte      // JSON; the call releases it when the upstream answers
	Form    *Form       // instead of Body
	Framing Framing
	Secret  Secret // to be left out of errors
	// Failure reads an upstream's error object, from a body or from the stream. It sets every field
	// except Err. Its argument may be any other JSON or text.
	Failure func(body []byte) *llm.Error
	Decoder Decoder // of a stream
	Whole   bool    // merge texts that arrived together; see llm.Request.Whole
}

// Form is the body of a call that is sent while it is read, once.
type Form struct {
	Type string // its media type
	Size int64
	Body io.Reader
}

// Decoder turns the events of one stream into chunks. Its errors are *llm.Error.
type Decoder interface {
	// Decode returns the chunk for one event. ok is false if the event gives no chunk; done is true
	// if the event marks the end of the stream.
	Decode(event []byte) (c llm.Chunk, ok, done bool, err error)
	// Progress counts the events so far.
	Progress() Progress
	// Ended judges a stream that ended without being done.
	Ended() error
	// Last returns the chunk after the last event: the usage, and what the upstream left out.
	Last() llm.Chunk
}

// Progress counts the events of a stream by whether they carry output.
type Progress struct {
	Said  int // pieces of an answer, of reasoning or of a call that are not blank
	Pings int // events that only show that the upstream is working
}

// errLeft says that the consumer broke out of the range.
var errLeft = errors.New("consumer left")

// Stream makes the call that prepare sets each time the result is ranged over. The error is an *llm.Error, or the context's if
// that has ended.
func (c *Client) Stream(ctx context.Context, prepare func(*Call) error) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		call, err := prepared(ctx, prepare)
		if err == nil {
			err = c.stream(ctx, call, yield)
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(llm.Chunk{}, err)
		}
	}
}

func prepared(ctx context.Context, prepare func(*Call) error) (*Call, error) {
	call := &Call{}
	err := prepare(call)
	if err == nil {
		return call, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("prepare completion request: %w", ctx.Err())
	}
	if _, ok := errors.AsType[*llm.Error](err); !ok {
		err = &llm.Error{Err: fmt.Errorf("encode completion request: %w", err)}
	}
	return nil, err
}

func (c *Client) stream(parent context.Context, call *Call, yield func(llm.Chunk, error) bool) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	watchdog := newWatchdog(cancel, c.cfg.FirstByte, c.cfg.Overall)
	defer watchdog.stop()

	resp, err := c.post(ctx, call)
	if err != nil {
		return call.broken(parent, ctx, "request completion", err)
	}
	defer resp.Body.Close() // before its end, this aborts the upstream
	if err := call.refusal(resp); err != nil {
		return err
	}
	watchdog.think(c.cfg.Idle, c.cfg.Thinking)
	if err := c.pump(ctx, resp.Body, call, watchdog, yield); err != nil {
		if errors.Is(err, errLeft) {
			return err
		}
		return call.broken(parent, ctx, "read completion", err)
	}
	if !call.conclude(yield) {
		return errLeft
	}
	// Read the rest of the response, so that the connection can be reused.
	watchdog.wait(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	return nil
}

// conclude passes the chunk after the last event on. Like pass, it is not inlined.
//
//go:noinline
func (c *Call) conclude(yield func(llm.Chunk, error) bool) bool { return yield(c.Decoder.Last(), nil) }

func (c *Client) post(ctx context.Context, call *Call) (*http.Response, error) {
	media, size, body := "application/json", int64(len(call.Body)), io.Reader(newPayload(call.Body))
	if call.Form != nil {
		media, size, body = call.Form.Type, call.Form.Size, io.NopCloser(call.Form.Body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = size
	if call.Form == nil {
		// A connection that was closed while idle takes the request again.
		r.GetBody = func() (io.ReadCloser, error) { return newPayload(call.Body), nil }
	}
	defer func() { call.Body = nil }()
	if call.Header != nil {
		r.Header = call.Header
	}
	r.Header.Set("Content-Type", media)
	r.Header.Set("Accept", call.Framing.accept())
	r.Header.Set("User-Agent", "parley")
	trace.ToHeader(ctx, r.Header)
	return c.cfg.HTTP.Do(r)
}

// payload is the body of a request. It is released once it was sent: the request lives as long as its
// streamed answer, and the prompt is the largest part of it.
type payload struct {
	mu   sync.Mutex // the transport may close it while it is being read
	rest []byte
}

func newPayload(body []byte) *payload { return &payload{rest: body} }

// Read implements io.Reader.
func (p *payload) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := copy(b, p.rest)
	if p.rest = p.rest[n:]; len(p.rest) > 0 {
		return n, nil
	}
	p.rest = nil
	return n, io.EOF
}

// Close implements io.Closer.
func (p *payload) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = nil
	return nil
}

// pump passes the events of a stream on until its end.
func (c *Client) pump(ctx context.Context, body io.Reader, call *Call, watchdog *watchdog,
	yield func(llm.Chunk, error) bool) error {
	events := call.reader(body, watchdog.ping)
	out := joiner{yield: yield}
	err := c.decode(ctx, events, call, watchdog, &out)
	if !out.flush() { // chunks received before an error still count
		return errLeft
	}
	return err
}

// decode passes the chunks of a stream on until its end.
func (c *Client) decode(ctx context.Context, events events, call *Call, watchdog *watchdog, out *joiner) error {
	var before Progress
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) || err != nil && errors.Is(context.Cause(ctx), errSilent) && call.Decoder.Ended() == nil {
			return call.Decoder.Ended() // the upstream marked the end, even if it does not hang up
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // drop buffered events after the context has ended
			return ctx.Err()
		}
		if done, err := call.pass(event, events, out); err != nil || done {
			return err
		}
		now := call.Decoder.Progress()
		if now.Said > before.Said {
			watchdog.hear()
		} else if now.Pings > before.Pings {
			watchdog.ping()
		}
		before = now
	}
}

// pass passes the chunk of an event on, and reports whether it was the last one. It is not inlined,
// because a chunk would take stack space during the wait for the next event.
//
//go:noinline
func (c *Call) pass(event []byte, events events, out *joiner) (done bool, err error) {
	chunk, ok, done, err := c.Decoder.Decode(event)
	if err != nil {
		return false, err
	}
	more := c.Whole && events.Ready()
	if ok && !out.add(&chunk, more) || !ok && !more && !out.flush() {
		return false, errLeft
	}
	return done, nil
}

// maxDocument is the most that Get reads.
const maxDocument = 4 << 20

// Get fetches a small JSON document, such as a list of models. The URL, the header, the secret and the function that reads
// failures are those of call. The deadline is the context's. The error is an *llm.Error, or the context's.
func (c *Client) Get(ctx context.Context, call Call) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, call.URL, nil)
	if err != nil {
		return nil, &llm.Error{Err: errors.New("request of the upstream: the URL is not valid")}
	}
	if call.Header != nil {
		r.Header = call.Header
	}
	r.Header.Set("User-Agent", "parley")
	resp, err := c.cfg.HTTP.Do(r)
	if err != nil {
		return nil, call.broken(ctx, ctx, "request of the upstream", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, call.status(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, call.broken(ctx, ctx, "read answer of the upstream", err)
	}
	if len(body) > maxDocument {
		return nil, &llm.Error{Err: fmt.Errorf("the upstream's answer is over %d bytes", maxDocument)}
	}
	return body, nil
}
