// Package webapi serves the requests of Parley's own web page other than asking questions: documents with
// their pages, pictures and chunks; turns with their citations and thoughts; namespaces, settings and usage;
// prompts, folders and shared chats. docs/ui-api.md is its contract for developers of front ends.
//
// Every route applies the rights of its caller, as /content does: an object that the caller may not see is
// reported as not found. Titles, names and texts come from documents; they are returned only as JSON
// strings, never as markup.
//
//	h := webapi.New(webapi.Config{Catalog: store, Pictures: pictures, Turns: turns, …})
//	server.New(cfg, server.Deps{Protocols: []wire.Protocol{h.Protocol()}, …})
package webapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/pageview"
	"parley/internal/retrieval"
	"parley/internal/turn"
	"parley/internal/wire"
)

// Catalog looks up documents. A method that finds nothing for a single key returns an error that wraps
// retrieval.ErrNotFound. Implementations pass storetest.Corpus.
type Catalog interface {
	// Document returns the current revision of a document that passes the filter.
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	// DocumentByID is like Document, with an id.
	DocumentByID(ctx context.Context, f retrieval.Filter, id string) (retrieval.Document, error)
	// FindDocuments returns documents whose names or titles contain a text: up to limit of those whose
	// names sort after the given one, sorted by name, and the total number regardless of after. It ignores
	// the case of ASCII letters.
	FindDocuments(ctx context.Context, f retrieval.Filter, text, after string, limit int) ([]retrieval.Document, int, error)
	// EachFound calls f with every document that FindDocuments would list. Only the fields that AllAttributes needs are
	// certain to be set.
	EachFound(ctx context.Context, filter retrieval.Filter, text string, f func(retrieval.Document)) error
	// EmbeddedChunks returns, by revision, the number of chunks that have a vector in the newest
	// generation. It omits revisions without such chunks.
	EmbeddedChunks(ctx context.Context, revisions []int64) (map[int64]int, error)
	// RevisionChunks returns all chunks of a revision, in order.
	RevisionChunks(ctx context.Context, revision int64) ([]retrieval.Chunk, error)
	// Page returns the page of a revision with a number, and the revision's highest page number.
	Page(ctx context.Context, revision int64, number int) (retrieval.Page, int, error)
	// Pages returns all pages of a revision, in order.
	Pages(ctx context.Context, revision int64) ([]retrieval.Page, error)
	// Stats counts the contents of a namespace.
	Stats(ctx context.Context, namespace string) (retrieval.Stats, error)
}

// Pictures renders pages. pageview.Viewer implements it.
type Pictures interface {
	Picture(ctx context.Context, d retrieval.Document, page, width int) (pageview.Picture, error)
	Measure(ctx context.Context, d retrieval.Document, page retrieval.Page, ranges []pageview.Range) (pageview.Measure, error)
	// Headings returns the headings of a page, in order, if the original marks them.
	Headings(ctx context.Context, d retrieval.Document, page int) ([]pageview.Heading, error)
}

// Turns finds the logs of turns. turn.Runner implements it.
type Turns interface {
	// Log returns the log of one of the owner's turns, or an error that wraps turn.ErrNotFound.
	Log(ctx context.Context, owner, id string) (*turn.Log, error)
}

// Records finds saved turns and their ledger entries. turn.Store and ledger.Store implement it.
type Records interface {
	Turn(ctx context.Context, scope turn.Scope, id string) (turn.Record, error)
	Entries(ctx context.Context, turnID string) ([]ledger.Entry, error)
	Totals(ctx context.Context, k ledger.AccountKey) (ledger.Totals, error)
}

// Config configures a Handler. Reindex and Uploaded are optional; everything else is required.
type Config struct {
	Namespaces func(context.Context, access.Principal) ([]string, error) // those that a caller may use, besides Namespace
	Namespace  string
	Catalog    Catalog
	Pictures   Pictures
	Turns      Turns
	Records    Records
	Chats      Chats
	Shelf      Shelf
	Settings   func(context.Context) Settings // the page's settings
	Usage      func(context.Context, ledger.UsageQuery) ([]ledger.UsageRow, error)

	// Delete deletes a document. It reports whether the document returns when its file changes.
	Delete func(context.Context, retrieval.Document) (returns bool, err error)
	// Reindex starts a job that reads a document again, and returns the id of the job. Optional; if nil, the
	// route responds with 404.
	Reindex func(context.Context, access.Principal, retrieval.Document) (job string, err error)
	// Changes means that callers who may ask without signing in may also change documents.
	Changes bool
	// Uploaded returns the ids of the documents in a namespace that an owner has uploaded. Optional.
	Uploaded func(ctx context.Context, namespace, owner string) (map[string]bool, error)
}

// Handler handles the routes. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	keeping sync.Mutex // held while a request looks for an equal item and saves its own
}

// New returns a Handler.
func New(cfg Config) *Handler {
	if cfg.Uploaded == nil {
		cfg.Uploaded = func(context.Context, string, string) (map[string]bool, error) { return nil, nil }
	}
	return &Handler{cfg: cfg}
}

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	read := wire.Route{Right: wire.Ask, Fail: wire.PlainError}
	change, reindex, events, put := read, read, read, read
	change.Right, events.Events = wire.Edit, true
	reindex.Right, reindex.Body = wire.Edit, wire.Ignored
	put.Body = wire.Ignored
	const document, turn, share = " /api/documents/{id}", " /api/turns/{id}", " /api/chats/{id}/link"
	routes := []wire.Route{
		read.At("GET /api/documents", h.documents),
		read.At("GET /api/attributes", h.attributes),
		read.At("GET"+document, h.oneDocument),
		change.At("DELETE"+document, h.delete),
		reindex.At("POST"+document+"/reindex", h.reindex),
		read.At("GET"+document+"/chunks", h.chunks),
		read.At("GET"+document+"/pages/{n}", h.onePage),
		read.At("GET"+document+"/pages/{n}/image", h.image),
		read.At("GET"+document+"/pages/{n}/boxes", h.boxes),
		read.At("GET"+turn, h.turn),
		read.At("DELETE"+turn, h.stop),
		events.At("GET"+turn+"/events", h.events),
		read.At("GET /api/namespaces", h.namespaces),
		read.At("GET /api/ui/config", h.config),
		read.At("GET /api/usage", h.usage),
		read.At("GET"+share, h.link),
		put.At("PUT"+share, h.share),
		read.At("DELETE"+share, h.unshare),
		read.At("GET /api/shared/{link}", h.shared),
	}
	for _, k := range h.kept() {
		routes = append(routes, k.routes(h)...)
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: routes}
}

var (
	errNoDocument  = &chat.Error{Kind: chat.NotFound, Msg: "There is no such document."}
	errNoPage      = &chat.Error{Kind: chat.NotFound, Msg: "The document has no such page."}
	errNoPicture   = &chat.Error{Kind: chat.NotFound, Msg: "There is no picture of this page."}
	errNoTurn      = &chat.Error{Kind: chat.NotFound, Msg: "There is no such turn."}
	errNoReindex   = &chat.Error{Kind: chat.NotFound, Msg: "This server cannot reindex documents."}
	errNotYours    = &chat.Error{Kind: chat.Forbidden, Msg: "You may not change this document. The person who added it and the owners of the namespace may."}
	errNoNamespace = &chat.Error{Kind: chat.NotFound, Msg: "There is no such namespace."}
)

// filter returns a filter for the documents that the caller may see in the requested namespace.
func (h *Handler) filter(r *wire.Request) (retrieval.Filter, error) {
	f := retrieval.Filter{Principal: r.Who, Namespace: r.URL.Query().Get("namespace")}
	f.Namespace = cmp.Or(f.Namespace, h.cfg.Namespace)
	allowed, err := h.mayAsk(r.Context(), r.Who, f.Namespace)
	if err == nil && !allowed {
		err = errNoNamespace
	}
	return f, err
}

// mayAsk reports whether a caller may use a namespace.
func (h *Handler) mayAsk(ctx context.Context, who access.Principal, namespace string) (bool, error) {
	if namespace == h.cfg.Namespace {
		return true, nil
	}
	names, err := h.cfg.Namespaces(ctx, who)
	if err != nil {
		return false, fmt.Errorf("list the namespaces: %w", err)
	}
	return slices.Contains(names, namespace), nil
}

// document returns the document with the id in the path, and the filter that it passed.
func (h *Handler) document(r *wire.Request) (retrieval.Document, retrieval.Filter, error) {
	f, err := h.filter(r)
	if err != nil {
		return retrieval.Document{}, f, err
	}
	d, err := h.cfg.Catalog.DocumentByID(r.Context(), f, r.PathValue("id"))
	if errors.Is(err, retrieval.ErrNotFound) {
		return d, f, errNoDocument
	}
	if err != nil {
		return d, f, fmt.Errorf("look up a document: %w", err)
	}
	return d, f, nil
}

// number reads a whole number from least to most from the query. It returns otherwise if the parameter is absent.
func number(r *wire.Request, name string, least, most, otherwise int) (int, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, wire.Invalidf("%s must be a whole number from %d to %d", name, least, most)
	}
	return n, nil
}

// textOf reads a text of at most longest bytes from the query. It returns "" if the parameter is absent.
func textOf(r *wire.Request, name string, longest int) (string, error) {
	s := r.URL.Query().Get(name)
	if len(s) > longest {
		return "", wire.Invalidf("%s must be at most %d bytes long", name, longest)
	}
	return s, nil
}

// sendTagged responds with v as JSON and an ETag, or with 304 if the client already has that version.
func sendTagged(w http.ResponseWriter, r *wire.Request, v any) error {
	raw, err := wire.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	// A browser may cache it, but must revalidate it each time: the caller's rights may have changed.
	w.Header().Set("Cache-Control", "private, no-cache")
	if fresh(w, r, hex.EncodeToString(sum[:12])) {
		return nil
	}
	return wire.WriteCompressed(w, r, raw)
}

// fresh sets the ETag. If the client already has that version, fresh responds with 304 and returns true (RFC
// 9110 section 13.1.2).
func fresh(w http.ResponseWriter, r *wire.Request, tag string) bool {
	tag = `"` + tag + `"`
	w.Header().Set("ETag", tag)
	for _, known := range r.Header.Values("If-None-Match") {
		for one := range strings.SplitSeq(known, ",") {
			if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// address returns a path of this server with a query, to which it adds the namespace unless that is the default. The query
// goes before the fragment.
func (h *Handler) address(path, namespace string, query url.Values) string {
	if namespace != h.cfg.Namespace {
		if query == nil {
			query = url.Values{}
		}
		query.Set("namespace", namespace)
	}
	if len(query) == 0 {
		return path
	}
	path, fragment, found := strings.Cut(path, "#")
	path += "?" + query.Encode()
	if found {
		path += "#" + fragment
	}
	return path
}
