package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/chat"
	"parley/internal/retrieval"
)

type fetchArgs struct {
	ID string `json:"id" jsonschema:"the id of a search result"`
}

// fetchResult is a page in the shape that ChatGPT's connectors expect.
type fetchResult struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Text     string            `json:"text"`
	URL      string            `json:"url" jsonschema:"where people can read the page"`
	Metadata map[string]string `json:"metadata" jsonschema:"document and namespace; for documents with pages also page and pages; truncated is true if the text was cut off"`
}

// maxFetch limits the text of a fetch or a prompt, in bytes. Models cannot read more.
const maxFetch = 256 << 10

// fetch returns the text of a page, or of a whole document.
func (c *client) fetch(ctx context.Context, _ *sdk.CallToolRequest, args fetchArgs) (*sdk.CallToolResult, fetchResult, error) {
	var out fetchResult
	d, pages, err := c.document(ctx, args.ID)
	if err != nil {
		if chat.KindOf(err) == chat.NotFound {
			err = &chat.Error{Kind: chat.NotFound, Msg: "There is no such document. Use the id of a search result."}
		}
		return nil, out, c.explain(ctx, "fetch", err)
	}
	page, err := pageIn(args.ID, pages)
	if err != nil {
		return nil, out, err
	}
	label := d.Name
	out.Metadata = map[string]string{"document": d.Name, "namespace": d.Namespace}
	var all strings.Builder
	last := 0
	for _, p := range pages {
		last = max(last, p.Number)
		if page == 0 || p.Number == page {
			all.WriteString(p.Text + "\n")
		}
	}
	if last > 0 {
		out.Metadata["pages"] = strconv.Itoa(last)
	}
	if page > 0 {
		label += "#page=" + strconv.Itoa(page)
		out.Metadata["page"] = strconv.Itoa(page)
	}
	out.Text = strings.TrimSpace(all.String())
	if short := clip(out.Text); len(short) < len(out.Text) {
		out.Text, out.Metadata["truncated"] = short, "true"
	}
	out.ID, out.Title = idOf(d, label), titleOf(d, label)
	out.URL = cmp.Or(c.link(d, label), out.ID)
	res, err := asText(out)
	return res, out, err
}

// clip cuts a text to maxFetch bytes, without splitting a character.
func clip(s string) string {
	if len(s) <= maxFetch {
		return s
	}
	return strings.ToValidUTF8(s[:maxFetch], "")
}

// pageIn returns the page number in an id, or 0 if the id names no page. It is an error if the document lacks the page.
func pageIn(id string, pages []retrieval.Page) (int, error) {
	_, number, named := strings.Cut(id, "#page=")
	if !named {
		return 0, nil
	}
	n, err := strconv.Atoi(number)
	for _, p := range pages {
		if err == nil && n > 0 && p.Number == n {
			return n, nil
		}
	}
	return 0, errors.New("the document has no such page")
}

// idOf returns the id of the page that label cites. It is a URI that fetch and resources/read accept.
func idOf(d retrieval.Document, label string) string {
	id := resourceURI(d)
	if i := strings.LastIndex(label, "#page="); i >= 0 {
		id += label[i:]
	}
	return id
}

// titleOf returns a title for people of the page that label cites.
func titleOf(d retrieval.Document, label string) string {
	title := cmp.Or(d.Title, d.Name)
	if i := strings.LastIndex(label, "#page="); i >= 0 {
		title += ", page " + label[i+len("#page="):]
	}
	return title
}

// document returns the document that a resource's URI names, with its pages. It reports documents that the caller may not
// see as chat.NotFound, like missing ones.
func (c *client) document(ctx context.Context, uri string) (d retrieval.Document, pages []retrieval.Page, err error) {
	missing := &chat.Error{Kind: chat.NotFound, Msg: "There is no such document."}
	ns, name, ok := parseURI(uri)
	if !ok {
		return d, nil, missing
	}
	if ns, err = c.namespace(ctx, ns); err != nil {
		return d, nil, err
	}
	d, err = c.cfg.Documents.Document(ctx, retrieval.Filter{Principal: c.Principal, Namespace: ns}, name)
	if errors.Is(err, retrieval.ErrNotFound) {
		return d, nil, missing
	}
	if err == nil {
		pages, err = c.cfg.Documents.Pages(ctx, d.Revision)
	}
	return d, pages, err
}

// read answers resources/read with the text of a document.
func (c *client) read(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	_, pages, err := c.document(ctx, uri)
	if chat.KindOf(err) == chat.NotFound {
		return nil, sdk.ResourceNotFoundError(uri)
	}
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

// resourceURI returns parley://NAMESPACE/NAME, with each segment of the name escaped.
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
