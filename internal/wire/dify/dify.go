// Package dify implements Dify's API for external knowledge bases: POST /retrieval finds passages for Dify's
// applications, which write the answers themselves. A knowledge base is a namespace or a vector store.
//
// README.md in this directory describes the protocol as implemented.
package dify

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// Config configures a Handler. Search is required.
type Config struct {
	// Search finds passages in a namespace.
	Search func(context.Context, retrieval.Query) (retrieval.Result, error)
	// Namespaces returns the namespaces that a caller may search, in addition to Namespace. Optional.
	Namespaces func(context.Context, access.Principal) ([]string, error)
	// Library has the vector stores, whose files have attributes. Nil means that there are no vector stores.
	Library *library.Library

	Mode      retrieval.Mode // of searches; "" means hybrid
	Namespace string         // of the server; "" means "default"
	PublicURL string         // the URL of the server for clients; "" means the URL of each request
}

// Handler handles the requests of Dify. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	catalog openai.Catalog
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	return &Handler{cfg: cfg, catalog: openai.Catalog{Namespaces: cfg.Namespaces, Own: cfg.Namespace}}
}

//go:embed openapi.json
var openAPI []byte

// Protocol returns the route.
func (h *Handler) Protocol() wire.Protocol {
	ask := wire.Route{Right: wire.Ask, Body: wire.JSON, Fail: fail}
	return wire.Protocol{OpenAPI: openAPI, Routes: wire.Slashed(ask.At("POST /retrieval", h.retrieve))}
}

// Dify's error codes. Its API defines only these three; other errors have their HTTP status as code.
const (
	malformedAuthorization = 1001
	refusedAuthorization   = 1002
	unknownKnowledge       = 2001
)

// errUnknownKnowledge means that the caller has no knowledge base with the id.
var errUnknownKnowledge = &chat.Error{Kind: chat.NotFound, Msg: "The knowledge does not exist: the external knowledge id must be the name of a namespace or the id of a vector store of this server."}

// fail writes an error in Dify's form.
func fail(w http.ResponseWriter, r *wire.Request, err error) {
	f := wire.FailureOf(err)
	code, text := f.Status, f.Text
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case f.Status == http.StatusUnauthorized && !strings.EqualFold(scheme, "Bearer"):
		code, text = malformedAuthorization, "Invalid Authorization header format. Expected 'Bearer <api-key>' format. "+text
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden:
		code, text = refusedAuthorization, "Authorization failed. "+text
	case errors.Is(err, errUnknownKnowledge):
		code = unknownKnowledge
	}
	body := strconv.AppendInt([]byte(`{"error_code":`), int64(code), 10)
	f.Write(w, append(wire.AppendString(append(body, `,"error_msg":`...), text), '}'))
}

// record is a passage in responses.
type record struct {
	Content string  `json:"content"`
	Score   float64 `json:"score"`
	Title   string  `json:"title"`
	// Metadata must be an object, because Dify adds members to it. Its members are those that conditions can name,
	// including attributes, whose names clients choose.
	Metadata attribute.Values `json:"metadata"`
}

// maxExamined is the number of passages that are examined if conditions name members by which the index cannot filter.
const maxExamined = 1000

// retrieve handles POST /retrieval.
func (h *Handler) retrieve(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	in, err := requestOf(object)
	if err != nil {
		return err
	}
	ok, err := h.catalog.Has(r.Context(), r.Who, in.knowledge)
	if err != nil {
		return err
	}
	if !ok {
		return errUnknownKnowledge
	}
	records, err := h.records(r, in)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, map[string][]record{"records": records})
}

// records returns the passages for a request, best first.
func (h *Handler) records(r *wire.Request, in request) ([]record, error) {
	q := retrieval.Query{
		Filter: retrieval.Filter{Principal: r.Who, Namespace: in.knowledge},
		Text:   in.query, Mode: h.cfg.Mode, Limit: in.limit, MinScore: in.least, Captions: true,
	}
	attributes, err := h.confine(r, in, &q)
	if err != nil {
		return nil, err
	}
	found, err := h.cfg.Search(r.Context(), q)
	if err != nil {
		return nil, err
	}
	base := wire.BaseURL(r.Request, h.cfg.PublicURL, false)
	records := []record{}
	for _, p := range found.Passages {
		if len(records) == in.limit {
			break
		}
		if len(p.Chunk.Spans) == 0 {
			continue // a title without text
		}
		own, err := attributes(p.Document)
		if err != nil {
			return nil, err
		}
		if rec := h.recordOf(p, own, base, in.knowledge); !in.where.examines() || in.where.holds(nameable(p.Document, own, rec)) {
			records = append(records, rec)
		}
	}
	return records, nil
}

// confine limits a query to documents that meet the conditions, as far as the index can filter by them. It returns a
// function that returns the attributes of a document, or of its file in a vector store.
func (h *Handler) confine(r *wire.Request, in request, q *retrieval.Query) (func(retrieval.Document) (json.RawMessage, error), error) {
	if part, ok := in.where.part(func(name string) bool { return !isOfPassage(name) }); ok {
		q.Where = whereDocuments(part)
	}
	if in.where.examines() {
		q.Limit = maxExamined
	}
	if h.cfg.Library == nil || !library.IsStore(in.knowledge) {
		return func(d retrieval.Document) (json.RawMessage, error) { return d.Attributes, nil }, nil
	}
	s, err := h.cfg.Library.Store(r.Context(), r.Who.Subject, in.knowledge)
	if errors.Is(err, library.ErrNotFound) {
		return nil, errUnknownKnowledge // the store was deleted in the meantime
	}
	if err != nil {
		return nil, err
	}
	finder, err := h.cfg.Library.Finder(r.Context(), s)
	return func(d retrieval.Document) (json.RawMessage, error) {
		m, err := finder.Find(r.Context(), d.ID)
		if errors.Is(err, library.ErrNotFound) {
			return nil, nil // the file was removed in the meantime
		}
		return m.Attributes, err
	}, err
}

// whereDocuments converts the conditions to one condition on attributes of documents.
func whereDocuments(w where) *attribute.Condition {
	return attribute.Test("dify"+w.text, func(v attribute.Values) bool {
		all := maps.Clone(v)
		for member, name := range documentMembers {
			delete(all, member)
			if value, ok := v[name]; ok {
				all[member] = value
			}
		}
		return w.holds(all)
	})
}

// nameable returns the values that conditions can name for a passage: its document's attributes and its record's metadata.
func nameable(d retrieval.Document, attributes json.RawMessage, rec record) attribute.Values {
	d.Attributes = attributes
	named := d.AllAttributes()
	for _, name := range passageMembers {
		delete(named, name)
	}
	maps.Copy(named, rec.Metadata)
	return named
}

func (h *Handler) recordOf(p retrieval.Passage, attributes json.RawMessage, base, namespace string) record {
	page := p.BestPage()
	m := attribute.Decode(attributes)
	if m == nil {
		m = attribute.Values{}
	}
	for _, name := range reserved { // attributes cannot override these
		delete(m, name)
	}
	m["path"], m["document_title"], m["url"] = p.Document.Name, p.Document.Title, h.catalog.Link(p.Document.Name, page, base, namespace)
	m["indexed_at"] = p.Document.IndexedAt.UTC().Format("2006-01-02T15:04:05Z")
	if p.Document.URL != "" {
		m["source_url"] = p.Document.URL
	}
	if p.Document.Category != "" {
		m["category"] = p.Document.Category
	}
	if len(p.Chunk.Headings) > 0 {
		m["section"] = strings.Join(p.Chunk.Headings, " > ")
	}
	title := cmp.Or(p.Document.Title, p.Document.Name)
	if page > 0 {
		m["page"] = float64(page)
		title += ", page " + strconv.Itoa(page)
	}
	return record{Content: p.Chunk.Text, Score: p.Score, Title: title, Metadata: m}
}
