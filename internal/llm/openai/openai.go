// Package openai is a model provider for any server that speaks the OpenAI protocol for streamed
// chat completions (POST {base}/chat/completions with "stream": true), over net/http alone.
//
// A stream is an answer only when the upstream said that it ended, with [DONE] or with a finish
// reason; everything else is an error. Every wait has a limit, and so has what an upstream may
// send. The key appears in no error.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/internal/llm"
)

// Config says where the upstream is. Zero fields mean the default.
type Config struct {
	BaseURL string // up to and with the version; https://api.openai.com/v1
	APIKey  string // sent as a bearer token; none is sent when it is empty
	// HTTP makes the calls; its Timeout must be 0, since that would cover the whole stream. The
	// default is a client of its own, over HTTP/1.1, that follows no redirects.
	HTTP *http.Client

	FirstByte time.Duration // until the upstream answers; 60 s
	Idle      time.Duration // between two events of a stream; 60 s
	Overall   time.Duration // for one completion; 10 min
}

// Provider makes completions. It is safe for concurrent use.
type Provider struct {
	cfg Config
	url string
}

var _ llm.Model = (*Provider)(nil)

// New returns a provider, or an error when the base URL is not one.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://api.openai.com/v1"
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the base URL of the OpenAI provider is not an http or https URL")
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/chat/completions"
	if cfg.HTTP == nil {
		cfg.HTTP = newClient()
	}
	if cfg.FirstByte == 0 {
		cfg.FirstByte = time.Minute
	}
	if cfg.Idle == 0 {
		cfg.Idle = time.Minute
	}
	if cfg.Overall == 0 {
		cfg.Overall = 10 * time.Minute
	}
	return &Provider{cfg: cfg, url: u.String()}, nil
}

func newClient() *http.Client {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           512,
		MaxIdleConnsPerHost:    256, // the default of 2 would open a connection for nearly every turn
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // a compressor on the way would hold tokens back
		ReadBufferSize:         4 << 10,
		WriteBufferSize:        4 << 10,
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

// errLeft says that the consumer broke out of the range.
var errLeft = errors.New("consumer left")

// errSilent is the cause of a context that ended because the upstream sent nothing for too long.
var errSilent = errors.New("nothing came from the upstream in time")

// errOverall is the cause of a context that ended because the completion took too long.
var errOverall = errors.New("the completion took longer than allowed")

// Stream implements llm.Model. The error is an *llm.Error, or the context's when that ended.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		err := p.stream(ctx, req, yield)
		if err != nil && !errors.Is(err, errLeft) {
			yield(llm.Chunk{}, err)
		}
	}
}

func (p *Provider) stream(parent context.Context, req llm.Request, yield func(llm.Chunk, error) bool) error {
	body, err := encodeRequest(req)
	if err != nil {
		return &llm.Error{Err: fmt.Errorf("encode completion request: %w", err)}
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, p.cfg.Overall, errOverall)
	defer stop()
	watchdog := time.AfterFunc(p.cfg.FirstByte, func() { cancel(errSilent) })
	defer watchdog.Stop()

	resp, err := p.post(ctx, body)
	if err != nil {
		return p.ioError(parent, ctx, "request completion", err)
	}
	defer resp.Body.Close() // before its end, this aborts the upstream
	if err := p.refusal(resp); err != nil {
		return err
	}
	watchdog.Reset(p.cfg.Idle)
	d := newDecoder(req, p.redact)
	if err := p.pump(ctx, resp.Body, d, watchdog, yield); err != nil {
		if errors.Is(err, errLeft) {
			return err
		}
		return p.ioError(parent, ctx, "read completion", err)
	}
	if last := d.rest(); !yield(last, nil) {
		return errLeft
	}
	// What is left is the end of the response; reading it lets the connection be used again.
	watchdog.Reset(100 * time.Millisecond)
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	return nil
}

func (p *Provider) post(ctx context.Context, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("User-Agent", "parley")
	if p.cfg.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+p.cfg.APIKey)
	}
	return p.cfg.HTTP.Do(r)
}

// pump passes the events of a stream on until its end.
func (p *Provider) pump(ctx context.Context, body io.Reader, d *decoder, watchdog *time.Timer,
	yield func(llm.Chunk, error) bool) error {
	events := llm.NewEventReader(body)
	for {
		data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return d.ended()
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // events that are in the buffer already do not outlive the context
			return ctx.Err()
		}
		watchdog.Reset(p.cfg.Idle)
		if bytes.Equal(data, []byte("[DONE]")) {
			return nil
		}
		c, ok, err := d.decode(data)
		if err != nil {
			return err
		}
		if ok && !yield(c, nil) {
			return errLeft
		}
	}
}
