// Package mcptool provides the tools of MCP servers (Model Context Protocol) to models. It starts
// servers as child processes and talks to them over standard input and output, or reaches them over
// streamable HTTP.
//
// The operator's configuration names the servers and the tools that may be used. A server's
// descriptions and results are untrusted, like documents. A child process gets the configured
// environment variables, and none of Parley's keys.
package mcptool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/interrupt"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/tool"
)

// Server says how to reach an MCP server. Either Command or URL is set.
type Server struct {
	Name    string
	Command []string          // program and arguments
	Env     map[string]string // environment of the program, in addition to PATH and the other harmless variables
	URL     string            // address of the streamable HTTP transport
	Headers map[string]string // for URL
	OAuth   *OAuth            // how Parley itself signs in at URL; nil means that it does not
	Browser *Browser          // how an administrator signs in at URL, instead of OAuth
	// Tools are the tools that may be used. Nil means the tools that the server declares read-only.
	Tools []string
	// Trust names further tools that count as read-only.
	Trust   []string
	Timeout time.Duration // limit of one call; 0 means the registry's
}

// Set holds the tools of several servers. Close ends the connections and processes.
type Set struct {
	conns    []*conn
	log      *slog.Logger
	stop     context.CancelFunc // ends retrying; nil before Retry
	retrying sync.WaitGroup
	pause    time.Duration // before the first retry

	mu     sync.Mutex
	opened map[*conn]opened
}

// opened is the result of opening a server.
type opened struct {
	tools []tool.Tool
	err   error
}

// connectTimeout limits the time for connecting to a server and listing its tools.
const connectTimeout = 20 * time.Second

// How long Retry waits before it tries a server again: at first, and at most. The pause doubles each time.
const (
	firstPause = 5 * time.Second
	lastPause  = 5 * time.Minute
)

// Open connects to the servers. If a server cannot be reached, refuses Parley or lacks a named tool, Missing returns why, and the
// other servers can still be used. An error means that the settings are wrong.
func Open(ctx context.Context, servers []Server, log *slog.Logger) (*Set, error) {
	s := &Set{log: log, pause: firstPause, opened: map[*conn]opened{}}
	for _, server := range servers {
		c := &conn{server: server, log: log}
		switch {
		case server.OAuth != nil:
			c.auth = newSignIn(*server.OAuth, server.URL)
		case server.Browser != nil:
			if err := server.Browser.Check(); err != nil {
				return nil, fmt.Errorf("MCP server %s: %w", server.Name, err)
			}
			c.auth = &granted{Browser: server.Browser, server: server.Name, url: server.URL, client: signInClient(),
				early: earlyRenewal + rand.N(earlyRenewal)}
		}
		s.conns = append(s.conns, c)
	}
	var opening sync.WaitGroup
	for _, c := range s.conns {
		opening.Go(func() {
			if err := s.open(ctx, c); err != nil {
				log.Warn("an MCP server is not available; models cannot use its tools until it is", "server", c.server.Name, "error", err)
			}
		})
	}
	opening.Wait()
	return s, nil
}

// open connects to a server and records the result.
func (s *Set) open(ctx context.Context, c *conn) error {
	tools, err := c.open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[c] = opened{tools, err}
	return err
}

// Retry tries the missing servers again until Close, less and less often. It calls joined each time that the tools of a server
// have become available; these calls do not overlap. Call Retry at most once.
func (s *Set) Retry(joined func()) {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	var one sync.Mutex // calls of joined must not overlap
	missing := s.Missing()
	for _, c := range s.conns {
		if missing[c.server.Name] == nil {
			continue
		}
		s.retrying.Go(func() {
			for pause := s.pause; interrupt.Sleep(ctx, interrupt.Jittered(pause)) == nil; pause = min(2*pause, lastPause) {
				if s.open(ctx, c) != nil {
					continue
				}
				s.log.Info("the tools of an MCP server are available now", "server", c.server.Name)
				one.Lock()
				defer one.Unlock()
				joined()
				return
			}
		})
	}
}

// Tools returns the tools that are available. Each name begins with the Prefix of its server.
func (s *Set) Tools() (all []tool.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		all = append(all, s.opened[c].tools...)
	}
	return all
}

// Missing returns, by server name, the errors of the servers whose tools are not available.
func (s *Set) Missing() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := map[string]error{}
	for c, o := range s.opened {
		if o.err != nil {
			missing[c.server.Name] = o.err
		}
	}
	return missing
}

// Close ends all connections.
func (s *Set) Close() {
	if s.stop != nil {
		s.stop()
		s.retrying.Wait()
	}
	for _, c := range s.conns {
		c.close()
	}
}

// conn is the connection to one server. It reconnects after the connection is lost.
type conn struct {
	server Server
	auth   auth.OAuthHandler // nil if no sign-in is needed
	log    *slog.Logger

	mu      sync.Mutex
	session *mcp.ClientSession // nil while disconnected
	closed  bool
}

// open connects and returns the server's tools that may be used.
func (c *conn) open(ctx context.Context) ([]tool.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	session, err := c.connected(ctx)
	if err != nil {
		return nil, err
	}
	var out []tool.Tool
	found, named := map[string]bool{}, map[string]bool{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			c.drop(session)
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		found[t.Name] = true
		if !c.mayUse(t) {
			c.log.Info("tool of an MCP server is not used: it may change something and is not named",
				"server", c.server.Name, "tool", t.Name)
			continue
		}
		adapted, err := c.adapt(t)
		if err != nil {
			return nil, err
		}
		if named[adapted.Name] {
			c.log.Warn("tool of an MCP server is not used: another one has the same name for models",
				"server", c.server.Name, "tool", t.Name, "name", adapted.Name)
			continue
		}
		named[adapted.Name] = true
		out = append(out, adapted)
	}
	for _, name := range slices.Concat(c.server.Tools, c.server.Trust) {
		if !found[name] {
			return nil, fmt.Errorf("it has no tool %q", name)
		}
	}
	return out, nil
}

func (c *conn) mayUse(t *mcp.Tool) bool {
	if c.server.Tools != nil {
		return slices.Contains(c.server.Tools, t.Name)
	}
	return t.Annotations != nil && t.Annotations.ReadOnlyHint
}

// Prefix returns the prefix of the names of a server's tools.
func Prefix(server string) string { return notInName.ReplaceAllString(server+"__", "_") }

var notInName = lazyregexp.New(`[^a-zA-Z0-9_-]+`)

// Limits of a server's description of a tool, in bytes.
const (
	maxName        = 64
	maxDescription = 2000
	maxSchema      = 16 << 10
)

func (c *conn) adapt(t *mcp.Tool) (tool.Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > maxSchema {
		return tool.Tool{}, fmt.Errorf("the schema of its tool %q can't be used (%d bytes)", t.Name, len(schema))
	}
	description := cmp.Or(t.Description, t.Title)
	return tool.Tool{
		Tool: llm.Tool{
			Name:        nameOf(c.server.Name, t.Name),
			Description: strings.ToValidUTF8(description[:min(len(description), maxDescription)], ""),
			Parameters:  schema,
		},
		Writes:  (t.Annotations == nil || !t.Annotations.ReadOnlyHint) && !slices.Contains(c.server.Trust, t.Name),
		Timeout: c.server.Timeout,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			return c.call(ctx, t.Name, call.Arguments)
		},
	}, nil
}

// nameOf returns the name of a server's tool for models. The end of a name that is too long is replaced by a hash, so that long names
// with the same beginning stay different.
func nameOf(server, tool string) string {
	name := Prefix(server) + notInName.ReplaceAllString(tool, "_")
	if len(name) <= maxName {
		return name
	}
	end := fmt.Sprintf("_%x", sha256.Sum256([]byte(name)))[:9]
	return name[:maxName-len(end)] + end
}

// call runs a tool. After a lost connection it does not repeat the call, which may have run; the
// next call reconnects.
func (c *conn) call(ctx context.Context, name string, arguments json.RawMessage) (tool.Result, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if !json.Valid(arguments) {
		return tool.Result{}, &tool.Error{Msg: "The arguments are not JSON."}
	}
	session, err := c.connected(ctx)
	if err != nil {
		return tool.Result{}, &tool.Error{Msg: "The server of the tool can't be reached.", Err: err}
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		if _, answered := errors.AsType[*jsonrpc.Error](err); answered || ctx.Err() != nil {
			return tool.Result{}, fmt.Errorf("call %s of %s: %w", name, c.server.Name, err)
		}
		c.drop(session)
		return tool.Result{}, &tool.Error{Msg: "The server of the tool closed the connection early.", Err: err}
	}
	text := textOf(res)
	if res.IsError {
		return tool.Result{}, &tool.Error{Msg: text}
	}
	return tool.Result{Text: text}, nil
}

// textOf returns the text of a result. It mentions images and sound, but does not pass them on.
func textOf(res *mcp.CallToolResult) string {
	var parts []string
	for _, content := range res.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.URI+"\n"+c.Resource.Text)
			}
		case *mcp.ResourceLink:
			parts = append(parts, c.Name+" "+c.URI)
		case *mcp.ImageContent:
			parts = append(parts, "[an image]")
		case *mcp.AudioContent:
			parts = append(parts, "[sound]")
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if b, err := json.Marshal(res.StructuredContent); err == nil {
			return string(b)
		}
	}
	return strings.Join(parts, "\n")
}

var errClosed = errors.New("the server is stopping")

// connected returns the session, and connects first if necessary.
func (c *conn) connected(ctx context.Context) (*mcp.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.session != nil {
		return c.session, nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "parley", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // no roots, no sampling, no questions to the user
	})
	session, err := client.Connect(ctx, c.transport(), nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.session = session
	return session, nil
}

func (c *conn) drop(lost *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == lost {
		c.session = nil
	}
	_ = lost.Close()
}

func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.session != nil {
		_ = c.session.Close()
		c.session = nil
	}
}

// maxEvent limits one message of a server, in bytes. The registry then cuts the text of a result further.
const maxEvent = 4 << 20

func (c *conn) transport() mcp.Transport {
	if c.server.URL != "" {
		t := &mcp.StreamableClientTransport{
			Endpoint: c.server.URL, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxEvent,
			HTTPClient: &http.Client{
				Transport: headers{c.server.Headers},
				CheckRedirect: func(*http.Request, []*http.Request) error {
					return http.ErrUseLastResponse // send keys in headers to the configured host only
				},
			},
		}
		if c.auth != nil {
			t.OAuthHandler = c.auth
		}
		return t
	}
	//nolint:noctx // it outlives the call that starts it, and Close ends it
	cmd := exec.Command(c.server.Command[0], c.server.Command[1:]...)
	cmd.Env = environment(c.server.Env)
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}
}

// harmless are variables that a program may need and that hold no secret.
var harmless = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP",
	"SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT", "COMSPEC"}

func environment(own map[string]string) []string {
	var env []string
	for _, name := range harmless {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range own {
		env = append(env, name+"="+v)
	}
	return env
}

// headers adds the configured headers to each request.
type headers struct{ list map[string]string }

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(h.list) > 0 {
		req = req.Clone(req.Context())
		for name, value := range h.list {
			req.Header.Set(name, value)
		}
	}
	return http.DefaultTransport.RoundTrip(req)
}
