package mcptool

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/tool"
)

// childEnv makes the test binary an MCP server on its standard input and output.
const childEnv = "PARLEY_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" {
		if err := runConformanceClient(context.Background(), os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type echoArgs struct {
	Text string `json:"text"`
}

// newServer returns a server with tools that read, write, fail, reveal a secret of the environment,
// and end the process.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again.", Annotations: reads},
		func(_ context.Context, _ *mcp.CallToolRequest, args echoArgs) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo: " + args.Text}, &mcp.ImageContent{}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "delete.all", Description: "Deletes."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "gone"}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fails", Annotations: reads},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such row"}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "env", Annotations: reads},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "dies", Annotations: reads},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			os.Exit(3)
			return nil, nil, nil
		})
	return s
}

func stdio(t *testing.T, tools ...string) Server {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "my server", Command: []string{program}, Env: map[string]string{childEnv: "1", "OWN": "own-value"}, Tools: tools}
}

// openErr returns why the tools of a server are not there, or its settings are wrong.
func openErr(t *testing.T, s Server) error {
	t.Helper()
	set, err := Open(t.Context(), []Server{s}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	t.Cleanup(set.Close)
	return set.Missing()[s.Name]
}

func open(t *testing.T, s Server) *tool.Registry {
	t.Helper()
	set, err := Open(t.Context(), []Server{s}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	if err := set.Missing()[s.Name]; err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(set.Tools(), tool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(t *testing.T, r *tool.Registry, name, args string) (string, error) {
	t.Helper()
	res, err := r.Call(t.Context(), retrieval.Filter{Namespace: "default"}, llm.ToolCall{Name: name, Arguments: args})
	return res.Text, err
}

func TestOpen_BringsTheToolsThatOnlyRead(t *testing.T) {
	r := open(t, stdio(t))
	if got := strings.Join(r.Names(), " "); got != "my_server__dies my_server__echo my_server__env my_server__fails" {
		t.Errorf("tools: %s", got)
	}
	if got, err := call(t, r, "my_server__echo", `{"text":"hello"}`); err != nil || got != "echo: hello\n[an image]" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, r, "my_server__fails", ``); err == nil || got != "no such row" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, r, "my_server__echo", `{"text":`); err == nil || got != "The arguments are not JSON." {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := call(t, r, "my_server__echo", `{"text":5}`); err == nil {
		t.Errorf("%q", got)
	}
}

func TestOpen_BringsTheToolsThatAreNamed(t *testing.T) {
	r := open(t, stdio(t, "delete.all"))
	if got := strings.Join(r.Names(), " "); got != "my_server__delete_all" {
		t.Errorf("tools: %s", got)
	}
	if got, err := call(t, r, "my_server__delete_all", `{}`); err != nil || got != "gone" {
		t.Errorf("%q, %v", got, err)
	}
	if err := openErr(t, stdio(t, "nothing")); err == nil || !strings.Contains(err.Error(), `no tool "nothing"`) {
		t.Error(err)
	}
}

// echoing returns a server over HTTP whose tools with these names return their names.
func echoing(t *testing.T, names ...string) Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range names {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
			})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(web.Close)
	return Server{Name: "web", URL: web.URL}
}

func TestOpen_KeepsLongNamesDifferentAndTakesOneOfNamesThatBecomeEqual(t *testing.T) {
	long := strings.Repeat("long", 20)
	r := open(t, echoing(t, long+"1", long+"2"))
	for i, name := range r.Names() {
		got, err := call(t, r, name, `{}`)
		if other, _ := call(t, r, r.Names()[1-i], `{}`); err != nil || !strings.HasPrefix(got, long) || got == other || len(name) != maxName {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := open(t, echoing(t, "a.b", "a_b", "c")).Names(); !slices.Equal(got, []string{"web__a_b", "web__c"}) {
		t.Errorf("of a.b, a_b and c there are %q", got)
	}
}

func TestOpen_GivesAProcessNoKeyOfTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary")
	got, err := call(t, open(t, stdio(t)), "my_server__env", `{}`)
	if err != nil || strings.Contains(got, "canary") || !strings.Contains(got, "OWN=own-value") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCall_StartsAServerAgainThatHasDied(t *testing.T) {
	r := open(t, stdio(t))
	if got, err := call(t, r, "my_server__dies", `{}`); err == nil {
		t.Fatalf("%q", got)
	}
	if got, err := call(t, r, "my_server__echo", `{"text":"again"}`); err != nil || !strings.HasPrefix(got, "echo: again") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOpen_ReachesAServerOverHTTPWithItsHeaders(t *testing.T) {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	r := open(t, Server{Name: "web", URL: s.URL, Headers: map[string]string{"Authorization": "Bearer k"}})
	if got, err := call(t, r, "web__echo", `{"text":"x"}`); err != nil || !strings.HasPrefix(got, "echo: x") {
		t.Errorf("%q, %v", got, err)
	}
	if err := openErr(t, Server{Name: "web", URL: s.URL}); err == nil {
		t.Error("connected without a key")
	}
}

func TestOpen_GoesOnWithoutAServerAndRetryBringsItsToolsLater(t *testing.T) {
	var up atomic.Bool
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	own := stdio(t)
	own.Name = "own"
	set, err := Open(t.Context(), []Server{{Name: "a", Command: []string{"/nonexistent"}}, own, {Name: "web", URL: web.URL}, {Name: "z", URL: "http://127.0.0.1:1/"}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	names := func() string {
		var all []string
		for _, tool := range set.Tools() {
			all = append(all, tool.Name)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got := names(); got != "own__dies own__echo own__env own__fails" || len(set.Missing()) != 3 {
		t.Errorf("tools %s, missing %v", got, set.Missing())
	}
	set.pause = time.Millisecond
	joined := make(chan string)
	set.Retry(func() { joined <- names() })
	up.Store(true)
	if got := <-joined; !strings.HasSuffix(got, " web__dies web__echo web__env web__fails") || len(set.Missing()) != 2 {
		t.Errorf("tools %s, missing %v", got, set.Missing())
	}
}
