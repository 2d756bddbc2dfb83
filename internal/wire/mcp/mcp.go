// Package mcp makes Parley a server of the Model Context Protocol (MCP), over streamable HTTP at /mcp and, in
// `parley mcp`, over standard input and output. It serves the tools `search`, `fetch` and `ask`, prompts, and the
// documents as resources. Each request runs with the rights of its caller, as in every other protocol. README.md in this
// directory describes what is served.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Searcher finds passages. retrieval.Corpus implements it.
type Searcher interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
}

// Documents reads stored documents. retrieval.Store implements it.
type Documents interface {
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	Documents(ctx context.Context, f retrieval.Filter, after string, limit int) ([]retrieval.Document, error)
	Pages(ctx context.Context, revision int64) ([]retrieval.Page, error)
}

// Config configures a Handler. Runner, Search and Documents are required.
type Config struct {
	wire.Base

	Search    Searcher
	Documents Documents

	SignIn  SignIn       // not offered without issuers
	Version string       // of Parley
	Logger  *slog.Logger // nil means that nothing is logged
}

// Handler answers the requests of MCP clients. It is safe for concurrent use.
type Handler struct {
	cfg    Config
	http   http.Handler // responds with JSON
	stream http.Handler // responds with events, for requests with a progress token
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Defaults.FollowUps = false // the protocol has no place for them
	h := &Handler{cfg: cfg}
	// Stateless: requests are independent, so any replica can answer them, and each has the rights of its own sender,
	// not those of the client that opened a session. The server that mounts this handler has checked hosts and origins.
	h.http = sdk.NewStreamableHTTPHandler(h.serverOf, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true,
	})
	h.stream = sdk.NewStreamableHTTPHandler(h.serverOf, &sdk.StreamableHTTPOptions{
		Stateless: true, DisableLocalhostProtection: true,
	})
	return h
}

// maxBody is the maximum size of a message in bytes. Messages contain little more than a question.
const maxBody = 256 << 10

// Protocol returns the routes of the streamable HTTP transport and of the metadata that tells clients how to sign in. The
// server opens no streams and has no sessions, so GET and DELETE are not allowed (MCP 2025-06-18, Transports, section 2.1).
func (h *Handler) Protocol() wire.Protocol {
	return wire.Protocol{OpenAPI: openAPI, Routes: append(wire.Slashed(wire.Route{
		Pattern: "POST /mcp", Right: wire.Ask, Body: wire.JSON, Limit: maxBody, Fail: h.refuse, Handle: h.serve,
	}), h.metadataRoutes()...)}
}

func (h *Handler) serve(w http.ResponseWriter, r *wire.Request) error {
	if err := wire.Check(r.Body); err != nil {
		r.Fail = failAs(parseError, nil)
		return err
	}
	id, err := checkEnvelope(r.Body)
	if err != nil {
		r.Fail = failAs(invalidRequest, id)
		return err
	}
	c := caller{r.Who, h.baseOf(r), r.Context()}
	again := r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
	again.Body = io.NopCloser(bytes.NewReader(r.Body))
	again.Header = r.Header.Clone()
	again.Header.Set("Content-Type", "application/json") // the route admits nothing else
	t := &translator{ResponseWriter: w, id: id}
	if asksForProgress(r.Body) {
		h.stream.ServeHTTP(t, again)
	} else {
		h.http.ServeHTTP(t, again)
	}
	t.end()
	return nil
}

// asksForProgress reports whether a message has a progress token. It returns false for batches, which only old versions of
// the protocol allow.
func asksForProgress(body []byte) bool {
	var m struct {
		Params struct {
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	return bytes.Contains(body, []byte(`"progressToken"`)) && json.Unmarshal(body, &m) == nil && m.Params.Meta.Token != nil
}

// callerKey is the context key of the caller. serverOf needs it, because the SDK passes it only the HTTP request.
type callerKey struct{}

// caller is the sender of a request. base and request depend on the transport.
type caller struct {
	access.Principal
	base    string          // URL of the server; "" if unknown
	request context.Context // of the HTTP request, canceled when the client leaves; nil without HTTP
}

func (h *Handler) serverOf(r *http.Request) *sdk.Server {
	who, ok := r.Context().Value(callerKey{}).(caller)
	if !ok {
		return nil
	}
	return h.server(who)
}

// Serve serves one client over a transport, such as standard input and output, until the client leaves or ctx ends. The
// client has the rights of who.
func (h *Handler) Serve(ctx context.Context, who access.Principal, t sdk.Transport) error {
	return h.server(caller{Principal: who, base: h.cfg.PublicURL}).Run(ctx, t)
}

// server returns an SDK server for one caller.
func (h *Handler) server(who caller) *sdk.Server {
	c := &client{Handler: h, caller: who}
	s := sdk.NewServer(&sdk.Implementation{Name: "parley", Title: "Parley", Version: h.cfg.Version}, &sdk.ServerOptions{
		Instructions: "Answers questions from a collection of documents, with citations. " +
			"Use ask for an answer, search for the passages themselves, and fetch for the pages that contain them.",
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Completions: &sdk.CompletionCapabilities{},
		},
		CompletionHandler: c.complete,
		SetCacheable:      func(_ context.Context, _ sdk.Request, hint *sdk.Cacheable) { hint.CacheScope = callersOnly },
	})
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}
	sdk.AddTool(s, &sdk.Tool{
		Name: "search", Title: "Search the documents", Annotations: reads,
		Description: "Finds the passages that best match a question or keywords, " +
			"each with its citation and a score between 0 and 1, and the ids of their pages for fetch.",
	}, c.search)
	sdk.AddTool(s, &sdk.Tool{
		Name: "fetch", Title: "Read a page", Annotations: reads,
		Description: "Returns the text of a page, or of a document without pages, for an id that search returned. " +
			"An id without #page=… returns the whole document.",
	}, c.fetch)
	sdk.AddTool(s, &sdk.Tool{
		Name: "ask", Title: "Ask the documents", Annotations: reads,
		Description: "Answers a question from the documents. " +
			"The answer names its sources in square brackets, for example [handbook.pdf#page=3].",
	}, c.ask)
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "document", Title: "A document", URITemplate: scheme + "{namespace}/{+name}", MIMEType: "text/plain",
		Description: "The text of a document, page by page.",
	}, c.read)
	c.addPrompts(s)
	s.AddReceivingMiddleware(c.leaving, c.listing)
	return s
}

// client implements the tools, prompts and resources for one caller.
type client struct {
	*Handler
	caller
}

// explain logs an error and returns one that is safe to show to the client: errors of tools are shown to the model. doing
// names the operation in the log.
func (c *client) explain(ctx context.Context, doing string, err error) error {
	c.cfg.Logger.Log(ctx, wire.LevelOf(ctx, err), "mcp request ended with an error", "doing", doing, "error", err)
	return errors.New(wire.FailureOf(err).Text)
}

// namespace returns the named namespace, or the server's own for "". The error is chat.NotFound if the caller may not ask
// it.
func (c *client) namespace(ctx context.Context, name string) (string, error) {
	if name == "" || name == c.cfg.Namespace {
		return c.cfg.Namespace, nil
	}
	if c.cfg.Namespaces != nil {
		names, err := c.cfg.Namespaces(ctx, c.Principal)
		if err != nil {
			return "", err
		}
		if slices.Contains(names, name) {
			return name, nil
		}
	}
	return "", &chat.Error{Kind: chat.NotFound, Msg: "There is no such namespace."}
}

// leaving is middleware that cancels a request when its client leaves. The SDK would let it continue.
func (c *client) leaving(next sdk.MethodHandler) sdk.MethodHandler {
	if c.request == nil {
		return next
	}
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(c.request, func() { cancel(context.Cause(c.request)) })()
		return next(ctx, method, req)
	}
}

// listing is middleware that answers resources/list from the store, page by page. The SDK can only list resources that
// it holds in memory.
func (c *client) listing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, req)
		}
		params, _ := req.GetParams().(*sdk.ListResourcesParams)
		after := ""
		if params != nil && params.Cursor != "" {
			b, err := base64.RawURLEncoding.DecodeString(params.Cursor)
			if err != nil {
				return nil, &jsonrpc.Error{Code: invalidParams, Message: "The cursor is invalid."}
			}
			after = string(b)
		}
		return c.list(ctx, after)
	}
}

const (
	scheme   = "parley://"
	pageSize = 200

	// callersOnly is the cache scope of every result, so that no gateway passes a document on to somebody who may not see
	// it (MCP 2026-07-28, Caching).
	callersOnly = "private"
)

func (c *client) list(ctx context.Context, after string) (*sdk.ListResourcesResult, error) {
	f := retrieval.Filter{Principal: c.Principal, Namespace: c.cfg.Namespace}
	docs, err := c.cfg.Documents.Documents(ctx, f, after, pageSize)
	if err != nil {
		return nil, c.explain(ctx, "list documents", err)
	}
	res := &sdk.ListResourcesResult{Resources: make([]*sdk.Resource, len(docs))}
	res.CacheScope = callersOnly
	for i, d := range docs {
		res.Resources[i] = &sdk.Resource{
			URI: resourceURI(d), Name: d.Name, Title: d.Title, MIMEType: "text/plain", Size: d.Size,
			Description: strings.TrimSpace(d.Category + " " + d.URL),
		}
	}
	if len(docs) == pageSize {
		res.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(docs[len(docs)-1].Name))
	}
	return res, nil
}
