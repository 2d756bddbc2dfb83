package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"parley/internal/llm"
	"parley/internal/llm/ollama"
	"parley/internal/tool/mcptool"
)

// checkModels asks each provider of a configured model for its models. That costs nothing, and the
// provider checks the key.
func checkModels(ctx context.Context, p *program) []finding {
	var all []finding
	keys := p.config.models()
	if p.config.Embedding != "" {
		keys = append(keys, p.config.Embedding)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for _, provider := range p.providersOf(p.config) {
		var of []string // its configured models
		for _, key := range keys {
			if name, _, _ := strings.Cut(key, ":"); name == provider.name {
				of = append(of, key)
			}
		}
		if len(of) > 0 {
			all = append(all, p.checkProvider(ctx, provider, of)...)
		}
	}
	return all
}

func (p *program) checkProvider(ctx context.Context, provider provider, keys []string) []finding {
	named := strings.Join(keys, ", ")
	if need := provider.missing(p.config); need != "" {
		return found(broken, need, "%s cannot be used without a key", named)
	}
	opened, err := provider.open(p.config)
	if err != nil {
		return found(broken, "", "%s cannot be used: %v", named, err)
	}
	lister, ok := opened.(llm.Lister)
	if !ok {
		return found(fine, "", "%s: part of this program", named)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	listed, err := lister.Models(ctx)
	if err != nil {
		remedy := fmt.Sprintf("check that %s runs, and its address, which parley config shows", provider.name)
		if e, ok := errors.AsType[*llm.Error](err); ok {
			if more := strings.TrimPrefix(modelRemedy(e, keys[0]), ": "); more != "" {
				remedy = more
			}
		}
		return found(broken, remedy, "%s cannot be reached: %v", provider.name, err)
	}
	for _, key := range keys {
		_, model, _ := strings.Cut(key, ":")
		known := slices.ContainsFunc(listed, func(m llm.ModelInfo) bool { return m.Name == model })
		if !known && len(listed) > 0 {
			return found(warned, "check the name; parley models "+provider.name+" lists its models", "%s answers and accepts the key, but does not list %s", provider.name, model)
		}
	}
	return found(fine, "", "%s: reached, and the key is accepted", named)
}

// checkMCP says which MCP servers cannot be used. Parley runs without their tools.
func checkMCP(ctx context.Context, p *program) (all []finding) {
	if len(content[map[string]mcpServer](p.config.MCP)) == 0 {
		return nil
	}
	var grants mcptool.Grants = signedInNowhere{}
	if db, done, failed := openStored(ctx, p); failed == nil {
		defer done()
		grants = grantsOf(db, locksOf(p.config, db))
	}
	servers, err := p.mcpServers(p.config, grants)
	if err != nil {
		return found(broken, "", "%v", err)
	}
	set, err := mcptool.Open(ctx, servers, slog.New(slog.DiscardHandler))
	if err != nil {
		return found(broken, "", "%v", err)
	}
	defer set.Close()
	missing := set.Missing()
	for _, s := range servers {
		switch remedy := "check that " + s.Name + " runs, and what mcp says of it; until then Parley goes on without its tools"; {
		case missing[s.Name] == nil:
			all = append(all, found(fine, "", "%s: reached", s.Name)...)
		case s.Browser != nil:
			all = append(all, found(broken, remedy+". If its sign-in is missing or was revoked: parley mcp sign-in "+s.Name, "%s cannot be used: %v", s.Name, missing[s.Name])...)
		default:
			all = append(all, found(broken, remedy, "%s cannot be used: %v", s.Name, missing[s.Name])...)
		}
	}
	return all
}

// signedInNowhere are the grants of a program without stored data: none.
type signedInNowhere struct{ mcptool.Grants }

func (signedInNowhere) Grant(context.Context, string) (g mcptool.Grant, err error) {
	return g, mcptool.ErrNotSignedIn
}

// Differences of clocks that matter: tokens of identity providers are valid for minutes, and are
// accepted a minute early or late.
const (
	someSkew = 30 * time.Second
	muchSkew = 5 * time.Minute
)

// checkClock compares this machine's clock with those of the database and of another server that it talks to.
func checkClock(ctx context.Context, p *program) (all []finding) {
	if p.config.Database != "" {
		all = checkDatabaseClock(ctx, p)
	}
	for _, url := range p.config.otherServers() {
		if there, ok := clockOf(ctx, url); ok {
			return append(all, differs(-time.Since(there), withoutPassword(url), "let the machine follow a time server (timedatectl set-ntp true)")...)
		}
	}
	if all == nil {
		return found(skipped, "", "there is no other server to compare it with")
	}
	return all
}

// checkDatabaseClock compares this machine's clock with that of its PostgreSQL server. It returns nil if that server cannot be
// asked; another check reports why.
func checkDatabaseClock(ctx context.Context, p *program) []finding {
	db, done, failed := openStored(ctx, p)
	if failed != nil {
		return nil
	}
	defer done()
	s, err := db.Server(ctx)
	if err != nil {
		return nil
	}
	return differs(s.Clock, "the PostgreSQL server", "let both machines follow a time server (timedatectl set-ntp true)")
}

// differs says how far the clock of a server is ahead of the one here.
func differs(ahead time.Duration, server, remedy string) []finding {
	off, way, v := ahead.Round(time.Second).Abs(), "behind", warned
	if ahead < 0 {
		way = "ahead of"
	}
	switch {
	case off <= someSkew:
		return found(fine, "", "it agrees with the clock of %s", server)
	case off > muchSkew:
		v = broken
	}
	return found(v, remedy, "it is %v %s the clock of %s", off, way, server)
}

// otherServers returns the addresses of the configured models and the public URL.
func (c *Config) otherServers() []string {
	base := map[string]string{"openai": c.OpenAIBaseURL, "azure-openai": c.AzureOpenAIEndpoint, "anthropic": c.AnthropicBaseURL, "gemini": c.GeminiBaseURL}
	base["ollama"], _ = ollama.BaseURL(c.OllamaHost)
	for name, e := range c.Providers.list() {
		base[name] = e.BaseURL
	}
	var urls []string
	for _, key := range append(c.models(), c.Embedding) {
		name, _, _ := strings.Cut(key, ":")
		if url := base[name]; url != "" && !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	if c.PublicURL != "" {
		urls = append(urls, c.PublicURL)
	}
	return urls
}

// withoutPassword returns a URL as it may be shown.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a server" // whatever stands there may be a secret
	}
	return u.Redacted()
}

// clockOf returns the time of a server, to the second, as of now.
func clockOf(ctx context.Context, url string) (time.Time, bool) {
	asked := time.Now()
	res, err := fetchOnce(ctx, http.MethodHead, url, nil, 0)
	if err != nil {
		return time.Time{}, false
	}
	defer res.Body.Close()
	there, err := http.ParseTime(res.Header.Get("Date"))
	return there.Add(time.Since(asked) / 2), err == nil
}

// fetchOnce sends one request and follows no redirect. The caller closes the body.
func fetchOnce(ctx context.Context, method, url string, body io.Reader, size int64) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		cancel()
		return nil, err
	}
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = endedBody{res.Body, cancel}
	return res, nil
}

// endedBody releases what belongs to a response when its body is closed.
type endedBody struct {
	io.ReadCloser
	end context.CancelFunc
}

func (b endedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// expiresSoon is the remaining lifetime below which a certificate causes a warning.
const expiresSoon = 14 * 24 * time.Hour

// checkPublicURL checks that the public URL leads to a running server, and that proxies on the way let bodies of the allowed
// size through.
func checkPublicURL(ctx context.Context, p *program) []finding {
	url := strings.TrimSuffix(p.config.PublicURL, "/")
	if url == "" {
		return found(skipped, "", "the setting public_url is not set")
	}
	res, err := fetchOnce(ctx, http.MethodGet, url+"/healthz", nil, 0)
	if err != nil {
		return found(broken, "start the server, or correct the setting public_url", "it does not answer: %v", err)
	}
	const most = 1 << 10 // bytes
	text, err := io.ReadAll(io.LimitReader(res.Body, most))
	_ = res.Body.Close() // it was read
	if err != nil || res.StatusCode != http.StatusOK || !strings.HasPrefix(string(text), `{"status":"ok"`) {
		return found(broken, "let the proxy pass all paths on to Parley, or correct the setting public_url", "%s/healthz answers %d, and not as Parley does", url, res.StatusCode)
	}
	all := found(fine, "", "%s leads to a server", url)
	if end, soon := expires(res.TLS); soon {
		all = append(all, found(warned, "renew it", "the certificate of %s expires on %s", url, end.Format(time.DateOnly))...)
	}
	return append(all, checkBodies(ctx, url, int64(p.config.LimitsMaxBody)-1)...)
}

func expires(state *tls.ConnectionState) (end time.Time, soon bool) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return end, false
	}
	end = state.PeerCertificates[0].NotAfter
	return end, time.Until(end) < expiresSoon
}

// mostBody is the largest body that doctor sends.
const mostBody = 8 << 20

// checkBodies sends a body of spaces, which the server refuses for its syntax; only a proxy refuses
// it for its size.
func checkBodies(ctx context.Context, url string, size int64) []finding {
	size = min(size, mostBody)
	res, err := fetchOnce(ctx, http.MethodPost, url+"/chat", strings.NewReader(strings.Repeat(" ", int(size))), size)
	if err != nil {
		return found(warned, "let the proxy pass on bodies of the size limits.max_body (nginx: client_max_body_size)", "a body of %s does not arrive: %v", mebibytes(size), err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusRequestEntityTooLarge {
		return found(broken, "raise its limit to limits.max_body (nginx: client_max_body_size)", "a proxy refuses a body of %s, which this server takes", mebibytes(size))
	}
	return nil
}

// checkIdle keeps a connection idle, and says when it is cut. A model that thinks before it answers
// leaves a connection idle too.
func checkIdle(ctx context.Context, p *program, wait time.Duration) []finding {
	if p.config.PublicURL == "" || wait <= 0 {
		return found(skipped, "", "not asked for: set public_url and --idle, for example --idle 5m")
	}
	dialing, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	conn, res, err := websocket.Dial(dialing, strings.TrimSuffix(p.config.PublicURL, "/")+"/v1/responses", nil) //nolint:bodyclose // Dial closes it
	if res != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
		return found(skipped, "", "the server wants a sign-in")
	}
	if err != nil {
		return found(warned, "let the proxy pass on WebSockets (nginx: proxy_http_version 1.1, and the headers Upgrade and Connection)", "no WebSocket can be opened: %v", err)
	}
	defer conn.CloseNow() //nolint:errcheck // it ends in any case
	started := time.Now()
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, _, err = conn.Read(waiting)
	if waiting.Err() != nil {
		return found(fine, "", "one was idle for %v and was not cut", wait)
	}
	return found(broken, "raise the read time-out of the proxy (nginx: proxy_read_timeout 10m)", "one that was idle was cut after %v: %v", time.Since(started).Round(time.Second), err)
}
