package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/ident"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

type searchArgs struct {
	Query     string `json:"query" jsonschema:"a question or keywords"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the number of passages, 1 to 50; 5 when absent"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the collection to search; the server's own when absent"`
}

type searchResult struct {
	Passages []passage `json:"passages" jsonschema:"best first"`
}

type passage struct {
	Citation string  `json:"citation" jsonschema:"document and page"`
	Title    string  `json:"title"`
	URL      string  `json:"url,omitempty" jsonschema:"where people can read the document"`
	Text     string  `json:"text"`
	Score    float64 `json:"score" jsonschema:"between 0 and 1"`
}

// The limits of a call's arguments.
const (
	defaultLimit = 5
	maxLimit     = 50
)

func (c *client) search(ctx context.Context, _ *sdk.CallToolRequest, args searchArgs) (*sdk.CallToolResult, searchResult, error) {
	var out searchResult
	query := strings.TrimSpace(args.Query)
	if query == "" {
		return nil, out, errors.New("the query is empty")
	}
	if err := chat.CheckQuestion(query); err != nil {
		return nil, out, c.explain(ctx, "search", err)
	}
	limit := cmp.Or(args.Limit, defaultLimit)
	if limit < 1 || limit > maxLimit {
		return nil, out, fmt.Errorf("the limit is not between 1 and %d", maxLimit)
	}
	ns, err := c.namespace(ctx, args.Namespace)
	if err != nil {
		return nil, out, c.explain(ctx, "search", err)
	}
	found, err := c.cfg.Search.Search(ctx, retrieval.Query{
		Filter: retrieval.Filter{Principal: c.Principal, Namespace: ns},
		Text:   query, Mode: retrieval.Hybrid, Limit: limit,
	})
	if err != nil {
		return nil, out, c.explain(ctx, "search", err)
	}
	out.Passages = make([]passage, len(found.Passages))
	var text strings.Builder
	for i, p := range found.Passages {
		label := cite.LabelOf(&p)
		out.Passages[i] = passage{
			Citation: label, Title: p.Document.Title, URL: c.link(p.Document, label), Text: p.Chunk.Text, Score: p.Score,
		}
		fmt.Fprintf(&text, "[%s] %s\n\n", label, p.Chunk.Text)
	}
	if len(out.Passages) == 0 {
		text.WriteString("Nothing was found.")
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimSpace(text.String())}}}, out, nil
}

type askArgs struct {
	Question  string `json:"question"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the collection to ask; the server's own when absent"`
}

type askResult struct {
	Answer    string     `json:"answer"`
	Citations []citation `json:"citations"`
	Model     string     `json:"model" jsonschema:"the model that answered"`
}

type citation struct {
	Citation string `json:"citation" jsonschema:"as it stands in the answer between brackets"`
	Title    string `json:"title"`
	URL      string `json:"url,omitempty" jsonschema:"where people can read the document"`
	Page     int    `json:"page,omitempty"`
	Snippet  string `json:"snippet"`
}

func (c *client) ask(ctx context.Context, _ *sdk.CallToolRequest, args askArgs) (*sdk.CallToolResult, askResult, error) {
	var out askResult
	ns, err := c.namespace(ctx, args.Namespace)
	if err != nil {
		return nil, out, c.explain(ctx, "ask", err)
	}
	turn, err := chat.Collect(c.cfg.Runner.Run(ctx, &chat.Request{
		TurnID: ident.New(), Principal: c.Principal, Namespace: ns,
		Messages: []chat.Message{chat.TextMessage(llm.User, args.Question)}, Options: c.cfg.Defaults, Whole: true,
	}))
	if err != nil {
		return nil, out, c.explain(ctx, "ask", err)
	}
	m, err := wire.AnswerOf(turn)
	if err != nil {
		return nil, out, c.explain(ctx, "ask", err)
	}
	out = askResult{Answer: m.Text, Model: m.Model, Citations: make([]citation, len(m.Citations))}
	for i, cited := range m.Citations {
		out.Citations[i] = citation{
			Citation: cited.Label, Title: cited.Title, Page: cited.Page, Snippet: cited.Snippet,
			URL: c.link(retrieval.Document{URL: cited.URL, Namespace: ns}, cited.Label),
		}
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: m.Text}}}, out, nil
}

// link is where people can read a document: its own URL, or the server's copy.
func (c *client) link(d retrieval.Document, label string) string {
	if d.URL != "" || c.base == "" {
		return d.URL
	}
	other := ""
	if d.Namespace != c.cfg.Namespace {
		other = d.Namespace
	}
	return wire.ContentURLIn(c.base, label, other)
}

// read answers resources/read with the text of a document. One that the caller may not see is as if it
// did not exist.
func (c *client) read(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	ns, name, ok := parseURI(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	ns, err := c.namespace(ctx, ns)
	if chat.KindOf(err) == chat.NotFound {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, c.explain(ctx, "read document", err)
	}
	d, err := c.cfg.Documents.Document(ctx, retrieval.Filter{Principal: c.Principal, Namespace: ns}, name)
	if errors.Is(err, retrieval.ErrNotFound) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, c.explain(ctx, "read document", err)
	}
	pages, err := c.cfg.Documents.Pages(ctx, d.Revision)
	if err != nil {
		return nil, c.explain(ctx, "read document", err)
	}
	res := &sdk.ReadResourceResult{}
	for _, p := range pages {
		at := uri
		if p.Number > 0 {
			at = fmt.Sprintf("%s#page=%d", uri, p.Number)
		}
		res.Contents = append(res.Contents, &sdk.ResourceContents{URI: at, MIMEType: "text/plain", Text: p.Text})
	}
	if len(res.Contents) == 0 {
		res.Contents = append(res.Contents, &sdk.ResourceContents{URI: uri, MIMEType: "text/plain"})
	}
	return res, nil
}

// resourceURI is parley://NAMESPACE/PATH, each segment escaped.
func resourceURI(d retrieval.Document) string {
	segments := strings.Split(d.Name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return scheme + url.PathEscape(d.Namespace) + "/" + strings.Join(segments, "/")
}

func parseURI(uri string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", "", false
	}
	rest, _, _ = strings.Cut(rest, "#")
	namespace, name, ok = strings.Cut(rest, "/")
	if !ok {
		return "", "", false
	}
	namespace, err1 := url.PathUnescape(namespace)
	name, err2 := url.PathUnescape(name)
	return namespace, name, err1 == nil && err2 == nil && namespace != "" && name != ""
}
