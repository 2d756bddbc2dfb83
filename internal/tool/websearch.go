package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// WebSearchOptions selects the search engine.
type WebSearchOptions struct {
	Engine string // searxng, brave or tavily
	URL    string // of the engine; "" means its public address, which SearXNG does not have
	Key    string // for brave and tavily
}

// The public addresses of the engines that have one.
const (
	braveURL  = "https://api.search.brave.com/res/v1/web/search"
	tavilyURL = "https://api.tavily.com/search"
)

// webResults is the number of results that a search returns.
const webResults = 5

// WebSearch returns the tool that searches the web.
func WebSearch(opts WebSearchOptions) (Tool, error) {
	w := webSearch{newService(), opts}
	switch opts.Engine {
	case "searxng":
		if opts.URL == "" {
			return Tool{}, fmt.Errorf("SearXNG has no public address: give the address of a server")
		}
		w.opts.URL = strings.TrimSuffix(opts.URL, "/") + "/search"
	case "brave", "tavily":
		if opts.Key == "" {
			return Tool{}, fmt.Errorf("%s needs a key", opts.Engine)
		}
		w.opts.URL = cmp.Or(opts.URL, map[string]string{"brave": braveURL, "tavily": tavilyURL}[opts.Engine])
	default:
		return Tool{}, fmt.Errorf("%q is not brave, tavily or the address of a SearXNG server", opts.Engine)
	}
	return Tool{
		Tool: llm.Tool{
			Name:        "web_search",
			Description: "Searches the web and returns titles, addresses and extracts of the best pages.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`),
		},
		Run: w.run,
	}, nil
}

type webSearch struct {
	*service
	opts WebSearchOptions
}

// webResult is one result. Brave calls the text a description, the others content.
type webResult struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Content     string `json:"content"`
	Description string `json:"description"`
}

func (w webSearch) run(ctx context.Context, call Call) (Result, error) {
	args, err := arguments[struct {
		Query string `json:"query"`
	}](call)
	if err != nil {
		return Result{}, err
	}
	query := strings.TrimSpace(args.Query)
	if query == "" || len(query) > 400 {
		return Result{}, failf("The query is empty or longer than 400 bytes.")
	}
	req, err := w.request(ctx, query)
	if err != nil {
		return Result{}, fmt.Errorf("address the search engine: %w", err)
	}
	var reply struct {
		Results []webResult `json:"results"` // SearXNG, Tavily
		Web     struct {
			Results []webResult `json:"results"` // Brave
		} `json:"web"`
	}
	if err := w.call(req, &reply); err != nil {
		return Result{}, err
	}
	return Result{Text: describe(append(reply.Results, reply.Web.Results...))}, nil
}

func (w webSearch) request(ctx context.Context, query string) (*http.Request, error) {
	switch w.opts.Engine {
	case "tavily":
		body, err := json.Marshal(map[string]any{"query": query, "max_results": webResults})
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.opts.URL, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+w.opts.Key)
		return req, nil
	case "brave":
		q := url.Values{"q": {query}, "count": {strconv.Itoa(webResults)}}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.opts.URL+"?"+q.Encode(), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-Subscription-Token", w.opts.Key)
		return req, nil
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, w.opts.URL+"?"+url.Values{"q": {query}, "format": {"json"}}.Encode(), nil)
}

var markup = lazyregexp.New(`<[^>]*>`)

// describe formats the results, one per paragraph. It removes the HTML with which engines highlight words.
func describe(results []webResult) string {
	var b strings.Builder
	n := 0
	for _, r := range results {
		if u, err := url.Parse(r.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if n++; n > webResults {
			break
		}
		fmt.Fprintf(&b, "%d. %s\n%s\n%s\n\n", n, plain(r.Title), r.URL, plain(cmp.Or(r.Content, r.Description)))
	}
	if n == 0 {
		return "Nothing was found."
	}
	return strings.TrimSpace(b.String())
}

func plain(s string) string {
	return clip(strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(s, ""))), " "), 1000)
}
