package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// corpus is a store and a searcher of a few documents. Those in "hr" are for ann only.
type corpus struct {
	docs    []retrieval.Document
	queries []retrieval.Query
	err     error
}

func (c *corpus) Search(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
	c.queries = append(c.queries, q)
	return retrieval.Result{Passages: []retrieval.Passage{chattest.Passage("a/guide (1).pdf", 3, "Leave is 30 days.")}}, c.err
}

func (c *corpus) Document(_ context.Context, f retrieval.Filter, name string) (retrieval.Document, error) {
	if c.err != nil {
		return retrieval.Document{}, c.err
	}
	for _, d := range c.docs {
		if d.Name == name && d.Namespace == f.Namespace && d.Access.Allows(f.Principal) {
			return d, nil
		}
	}
	return retrieval.Document{}, retrieval.ErrNotFound
}

func (c *corpus) Documents(_ context.Context, f retrieval.Filter, after string, limit int) ([]retrieval.Document, error) {
	var out []retrieval.Document
	for _, d := range c.docs {
		if d.Namespace == f.Namespace && d.Name > after && d.Access.Allows(f.Principal) && len(out) < limit {
			out = append(out, d)
		}
	}
	return out, c.err
}

func (c *corpus) Pages(_ context.Context, revision int64) ([]retrieval.Page, error) {
	return []retrieval.Page{{Number: 1, Text: fmt.Sprintf("page one of %d", revision)}, {Number: 2, Text: "page two"}}, nil
}

func document(namespace, name string, users ...string) retrieval.Document {
	return retrieval.Document{Namespace: namespace, Name: name, Title: "T " + name, Revision: int64(len(name)), Access: access.List{Users: users}}
}

// connect serves a handler over HTTP and returns a client's session with it. The header X-Test-User
// says who the client is.
func connect(t *testing.T, h *Handler, user string) *sdk.ClientSession {
	t.Helper()
	s := httptest.NewServer(serve(h))
	t.Cleanup(s.Close)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.URL + "/mcp", DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: as(user)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type as string

func (u as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Test-User", string(u))
	return http.DefaultTransport.RoundTrip(r)
}

func serve(h *Handler) http.Handler { return wiretest.Handler(h.Protocol()) }

func newHandler(engine *chattest.Engine, c *corpus) *Handler {
	return New(Config{
		Base: wire.Base{
			Runner:    engine,
			Defaults:  chat.DefaultOptions(),
			PublicURL: "https://parley.example",
			Namespaces: func(_ context.Context, who access.Principal) ([]string, error) {
				if who.Subject == "ann" {
					return []string{"hr"}, nil
				}
				return nil, nil
			},
		},
		Search:    c,
		Documents: c,
	})
}

func use(t *testing.T, s *sdk.ClientSession, name string, args any, out any) (text string, failed bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	if out != nil && !res.IsError {
		b, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(b, out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return res.Content[0].(*sdk.TextContent).Text, res.IsError
}

func TestTools_AreListed(t *testing.T) {
	s := connect(t, newHandler(&chattest.Engine{}, &corpus{}), "ann")
	res, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
			t.Errorf("%+v", tool)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "ask fetch search" {
		t.Errorf("tools: %s", got)
	}
}

func TestSearch_FindsWithTheRightsOfTheCaller(t *testing.T) {
	c := &corpus{}
	s := connect(t, newHandler(&chattest.Engine{}, c), "ann")
	var got searchResult
	text, failed := use(t, s, "search", map[string]any{"query": " leave ", "namespace": "hr", "limit": 7}, &got)
	const id, url = "parley://hr/a/guide%20%281%29.pdf#page=3", "https://parley.example/content/a/guide%20%281%29.pdf?namespace=hr#page=3"
	if failed || text != `{"results":[{"id":"`+id+`","title":"`+got.Results[0].Title+`","url":"`+url+`","text":"[a/guide (1).pdf#page=3] Leave is 30 days."}]}` {
		t.Errorf("%v %q", failed, text)
	}
	want := searchResult{Results: []found{{ID: id, Title: got.Results[0].Title, URL: url}}, Passages: []passage{{Citation: "a/guide (1).pdf#page=3", Title: got.Passages[0].Title, Text: "Leave is 30 days.",
		URL: url, Score: got.Passages[0].Score}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if q := c.queries[0]; q.Namespace != "hr" || q.Principal.Subject != "ann" || q.Text != "leave" || q.Limit != 7 {
		t.Errorf("query %+v", q)
	}
}

func TestSearch_RefusesWhatItCanNotDo(t *testing.T) {
	c := &corpus{}
	s := connect(t, newHandler(&chattest.Engine{}, c), "bob")
	for want, args := range map[string]map[string]any{
		"the query is empty":          {"query": " "},
		"the limit is not between":    {"query": "x", "limit": 51},
		"There is no such namespace.": {"query": "x", "namespace": "hr"},
		`unexpected additional`:       {"query": "x", "principal": "root"},
		"want \"string\"":             {"query": 5},
		"missing properties":          {},
	} {
		if text, failed := use(t, s, "search", args, nil); !failed || !strings.Contains(text, want) {
			t.Errorf("%v: %v %q", args, failed, text)
		}
	}
	if len(c.queries) > 0 {
		t.Errorf("searched: %+v", c.queries)
	}
	c.err = fmt.Errorf("open /secret/path")
	if text, failed := use(t, s, "search", map[string]any{"query": "x"}, nil); !failed || strings.Contains(text, "secret") {
		t.Errorf("%v %q", failed, text)
	}
}

func TestAsk_Answers(t *testing.T) {
	engine := &chattest.Engine{Events: chattest.Turn("How long?", "Thirty days ", "[a.pdf#page=3].")}
	s := connect(t, newHandler(engine, &corpus{}), "ann")
	var got askResult
	text, failed := use(t, s, "ask", map[string]any{"question": "How long?", "namespace": "hr"}, &got)
	if failed || text != "Thirty days [a.pdf#page=3]." || got.Answer != text || got.Model == "" {
		t.Errorf("%v %q %+v", failed, text, got)
	}
	req := engine.Requests()[0]
	if req.Namespace != "hr" || req.Principal.Subject != "ann" || req.Messages[0].Text() != "How long?" || req.TurnID == "" {
		t.Errorf("request %+v", req)
	}
}

func TestAsk_TellsOfAFailureWithoutInternalText(t *testing.T) {
	for want, err := range map[string]error{
		"The last user message is empty.": &chat.Error{Kind: chat.Invalid, Msg: "The last user message is empty."},
		"":                                fmt.Errorf("secret"),
	} {
		s := connect(t, newHandler(&chattest.Engine{Err: err}, &corpus{}), "ann")
		if text, failed := use(t, s, "ask", map[string]any{"question": "x"}, nil); !failed || !strings.Contains(text, want) || strings.Contains(text, "secret") {
			t.Errorf("%v %q", failed, text)
		}
	}
}

func TestResources_AreWhatTheCallerMaySee(t *testing.T) {
	c := &corpus{docs: []retrieval.Document{
		document("default", "a b.md"), document("default", "dir/c#1.pdf", "ann"), document("hr", "hr.pdf"),
	}}
	for user, want := range map[string]string{
		"ann": "parley://default/a%20b.md parley://default/dir/c%231.pdf", "bob": "parley://default/a%20b.md",
	} {
		s := connect(t, newHandler(&chattest.Engine{}, c), user)
		var uris []string
		for r, err := range s.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, r.URI)
		}
		if got := strings.Join(uris, " "); got != want {
			t.Errorf("%s: %s", user, got)
		}
	}
	read := func(user, uri string) (string, error) {
		res, err := connect(t, newHandler(&chattest.Engine{}, c), user).ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, c := range res.Contents {
			fmt.Fprintf(&b, "%s: %s\n", c.URI, c.Text)
		}
		return b.String(), nil
	}
	if got, err := read("ann", "parley://default/dir/c%231.pdf"); err != nil || got !=
		"parley://default/dir/c%231.pdf#page=1: page one of 11\nparley://default/dir/c%231.pdf#page=2: page two\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read("ann", "parley://hr/hr.pdf"); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"parley://default/dir/c%231.pdf", "parley://hr/hr.pdf", "parley://default/none", "file:///etc/passwd", "parley://default/", "parley://default/%2e%2e/x"} {
		if got, err := read("bob", uri); err == nil {
			t.Errorf("bob read %s: %q", uri, got)
		}
	}
}

func TestResources_OfABrokenStoreAreNoneThatDoNotExist(t *testing.T) {
	var log wiretest.Log
	h := newHandler(&chattest.Engine{}, &corpus{err: errors.New("open /secret/path")})
	h.cfg.Logger = slog.New(&log)
	_, err := connect(t, h, "ann").ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "parley://default/a.md"})
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "not found") {
		t.Errorf("the client is told %v", err)
	}
	if log.Levels() != "ERROR" || !strings.Contains(log.Text(), "/secret/path") {
		t.Errorf("logged at %s: %s", log.Levels(), log.Text())
	}
}

func TestResources_ArePaged(t *testing.T) {
	c := &corpus{}
	for i := range 450 {
		c.docs = append(c.docs, document("default", fmt.Sprintf("%03d.md", i)))
	}
	n := 0
	for _, err := range connect(t, newHandler(&chattest.Engine{}, c), "ann").Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 450 {
		t.Errorf("%d resources", n)
	}
}

func TestServeHTTP_RefusesACallerThatIsNobody(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	r.Header.Set("X-Test-User", "nobody")
	serve(newHandler(&chattest.Engine{}, &corpus{})).ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestServe_AnswersOverATransport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	here, there := sdk.NewInMemoryTransports()
	done := make(chan error, 1)
	go func() { done <- newHandler(&chattest.Engine{}, &corpus{}).Serve(ctx, access.Anonymous, there) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, failed := use(t, session, "search", map[string]any{"query": "x"}, nil); failed {
		t.Error(text)
	}
	_ = session.Close()
	cancel()
	<-done
}

// Clients of MCP 2026-07-28 refuse a result without a scope; a public one may be given to other callers by what stands between.
func TestResults_AreForTheCallerOnly(t *testing.T) {
	h := newHandler(&chattest.Engine{}, &corpus{docs: []retrieval.Document{document("default", "hr.md", "ann")}})
	s := connect(t, h, "ann")
	if version := s.InitializeResult().ProtocolVersion; version != "2026-07-28" {
		t.Fatalf("the version is %q", version)
	}
	for name, ask := range map[string]func(context.Context) (sdk.CacheableResult, error){
		"tools":     func(ctx context.Context) (sdk.CacheableResult, error) { return s.ListTools(ctx, nil) },
		"prompts":   func(ctx context.Context) (sdk.CacheableResult, error) { return s.ListPrompts(ctx, nil) },
		"resources": func(ctx context.Context) (sdk.CacheableResult, error) { return s.ListResources(ctx, nil) },
		"templates": func(ctx context.Context) (sdk.CacheableResult, error) { return s.ListResourceTemplates(ctx, nil) },
		"resource": func(ctx context.Context) (sdk.CacheableResult, error) {
			return s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "parley://default/hr.md"})
		},
	} {
		if res, err := ask(t.Context()); err != nil || res.GetCacheScope() != "private" {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}
