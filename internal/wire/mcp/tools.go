package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/chat/cite"
	"parley/internal/ident"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// filter is a JSON object that wire.FilterOf reads.
type filter map[string]any

type searchArgs struct {
	Query     string `json:"query" jsonschema:"a question or keywords"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the number of passages, 1 to 50; the default is 5"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the collection to search; the default is the server's own"`

	Filter filter `json:"filter,omitempty" jsonschema:"only documents whose attributes match, for example {\"type\":\"eq\",\"key\":\"category\",\"value\":\"policy\"}; types eq, ne, gt, gte, lt, lte, in, nin, and, or"`
}

// searchResult has the matching pages, in the shape that ChatGPT's connectors expect, and the passages on them.
type searchResult struct {
	Results  []found   `json:"results" jsonschema:"the pages found, best first; pass their ids to fetch"`
	Passages []passage `json:"passages" jsonschema:"best first"`
}

// found is a page with a matching passage.
type found struct {
	ID    string `json:"id" jsonschema:"the id to pass to fetch"`
	Title string `json:"title"`
	URL   string `json:"url" jsonschema:"where people can read the page"`
	Text  string `json:"text,omitempty"` // the passage after its citation; only in the text of a result
}

type passage struct {
	Citation string  `json:"citation" jsonschema:"document and page"`
	Title    string  `json:"title"`
	URL      string  `json:"url,omitempty" jsonschema:"where people can read the document"`
	Text     string  `json:"text"`
	Score    float64 `json:"score" jsonschema:"between 0 and 1"`
}

// The number of passages that search returns.
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
	where, err := conditionOf(args.Filter)
	if err != nil {
		return nil, out, err
	}
	result, err := c.cfg.Search.Search(ctx, retrieval.Query{
		Filter: retrieval.Filter{Principal: c.Principal, Namespace: ns, Where: where},
		Text:   query, Mode: retrieval.Hybrid, Limit: limit,
	})
	if err != nil {
		return nil, out, c.explain(ctx, "search", err)
	}
	out.Passages, out.Results = make([]passage, len(result.Passages)), []found{}
	var told struct {
		Results []found `json:"results"`
	}
	told.Results = []found{}
	for i, p := range result.Passages {
		label, d := cite.LabelOf(&p), p.Document
		d.Namespace = ns
		out.Passages[i] = passage{Citation: label, Title: d.Title, URL: c.link(d, label), Text: p.Chunk.Text, Score: p.Score}
		page := found{ID: idOf(d, label), Title: titleOf(d, label), URL: cmp.Or(c.link(d, label), idOf(d, label))}
		if !slices.Contains(out.Results, page) {
			out.Results = append(out.Results, page)
		}
		page.Text = "[" + label + "] " + p.Chunk.Text
		told.Results = append(told.Results, page)
	}
	res, err := asText(told)
	return res, out, err
}

// conditionOf converts a filter to a condition. It returns nil for a nil filter.
func conditionOf(f filter) (*attribute.Condition, error) {
	if f == nil {
		return nil, nil //nolint:nilnil // no condition is not an error
	}
	body, err := wire.AppendJSON(nil, f)
	if err != nil {
		return nil, err
	}
	where, wrong := wire.FilterOf(wire.Value(body))
	if wrong != "" {
		return nil, errors.New("invalid filter: " + wrong)
	}
	return where, nil
}

// asText returns a result whose only content is a text with v as JSON, which is what connectors expect.
func asText(v any) (*sdk.CallToolResult, error) {
	text, err := wire.AppendJSON(nil, v)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
}

type askArgs struct {
	Question  string `json:"question"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the collection to ask; the default is the server's own"`

	Filter filter `json:"filter,omitempty" jsonschema:"only documents whose attributes match, as for search"`
}

type askResult struct {
	Answer    string     `json:"answer"`
	Citations []citation `json:"citations"`
	Model     string     `json:"model" jsonschema:"the model that answered"`
}

type citation struct {
	Citation string `json:"citation" jsonschema:"as it appears in brackets in the answer"`
	Title    string `json:"title"`
	URL      string `json:"url,omitempty" jsonschema:"where people can read the document"`
	Page     int    `json:"page,omitempty"`
	Snippet  string `json:"snippet"`
}

func (c *client) ask(ctx context.Context, req *sdk.CallToolRequest, args askArgs) (*sdk.CallToolResult, askResult, error) {
	var out askResult
	ns, err := c.namespace(ctx, args.Namespace)
	if err != nil {
		return nil, out, c.explain(ctx, "ask", err)
	}
	options := c.cfg.Defaults
	if options.Where, err = conditionOf(args.Filter); err != nil {
		return nil, out, err
	}
	turn, err := chat.Collect(tellingStages(ctx, req, c.cfg.Runner.Run(ctx, &chat.Request{
		TurnID: ident.New(), Principal: c.Principal, Namespace: ns,
		Messages: []chat.Message{chat.TextMessage(llm.User, args.Question)}, Options: options, Whole: true,
	})))
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

// tellingStages passes on the events of a turn. If the client asked for progress, it also sends a notification at the
// beginning of each stage. It ignores failures to send one.
func tellingStages(ctx context.Context, req *sdk.CallToolRequest, events iter.Seq2[chat.Event, error]) iter.Seq2[chat.Event, error] {
	token := req.Params.GetProgressToken()
	if token == nil {
		return events
	}
	return func(yield func(chat.Event, error) bool) {
		stages := 0
		for e, err := range events {
			if stage, ok := e.(chat.StageStarted); ok {
				stages++
				_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(stages), Message: string(stage.Stage)})
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// link returns the URL at which people can read a document: its own, or that of the server's copy. It returns "" if the
// server's URL is unknown.
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
