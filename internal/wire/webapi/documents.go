package webapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/format"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// The limits of lists.
const (
	maxListed     = 200
	defaultListed = 50
	maxAsked      = 4096 // bytes of a name or a search text
	maxFilter     = 8192 // bytes of a filter

	maxKeysListed   = 20
	maxValuesListed = 50
)

// document is a document in responses.
type document struct {
	ID         string      `json:"id"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Title      string      `json:"title"`
	URL        string      `json:"url"`
	Category   string      `json:"category"`
	MediaType  string      `json:"media_type"`
	Kind       format.View `json:"kind"`
	Size       int64       `json:"size"`
	Pages      int         `json:"pages"`
	Chunks     int         `json:"chunks"`
	Embedded   int         `json:"embedded"`
	IndexedAt  string      `json:"indexed_at"`
	ContentURL string      `json:"content_url"`
	Uploaded   bool        `json:"uploaded"`
	Notes      string      `json:"notes"` // parts that could not be read

	Attributes json.RawMessage `json:"attributes,omitempty"`
}

func (h *Handler) shown(d retrieval.Document, embedded int, uploaded bool) document {
	return document{
		ID: d.ID, Namespace: d.Namespace, Name: d.Name, Title: d.Title, URL: webURL(d.URL), Category: d.Category,
		MediaType: d.MediaType, Kind: format.ViewOf(d.MediaType), Size: d.Size, Pages: d.Pages, Chunks: d.Chunks,
		Embedded: embedded, IndexedAt: instant(d.IndexedAt),
		ContentURL: h.address(wire.ContentPath(d.Name), d.Namespace, nil), Uploaded: uploaded, Notes: d.Notes,
		Attributes: d.Attributes,
	}
}

// webURL returns s if a page may link to it, otherwise "": documents set their own URLs, and the code of a
// "javascript:" URL would run in the page.
func webURL(s string) string {
	scheme, _, ok := strings.Cut(s, ":")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return ""
	}
	return s
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// documents handles GET /api/documents.
func (h *Handler) documents(w http.ResponseWriter, r *wire.Request) error {
	f, wanted, err := h.wanted(r)
	if err != nil {
		return err
	}
	after, err := textOf(r, "after", maxAsked)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", 1, maxListed, defaultListed)
	if err != nil {
		return err
	}
	found, total, err := h.cfg.Catalog.FindDocuments(r.Context(), f, wanted, after, limit+1)
	if err != nil {
		return fmt.Errorf("find documents: %w", err)
	}
	out := struct {
		Documents []document `json:"documents"`
		Next      string     `json:"next"`
		Total     int        `json:"total"`
	}{Documents: []document{}, Total: total}
	if len(found) > limit {
		found = found[:limit]
		out.Next = found[limit-1].Name
	}
	if out.Documents, err = h.complete(r, f, found); err != nil {
		return err
	}
	return sendTagged(w, r, out)
}

// wanted reads which documents a list is limited to: those that pass f and whose names or titles contain q.
func (h *Handler) wanted(r *wire.Request) (f retrieval.Filter, q string, err error) {
	if f, err = h.filter(r); err != nil {
		return f, "", err
	}
	if q, err = textOf(r, "q", maxAsked); err != nil {
		return f, "", err
	}
	given, err := textOf(r, "filter", maxFilter)
	if err != nil || given == "" {
		return f, q, err
	}
	v, err := wire.ParseValue([]byte(given))
	if err != nil {
		return f, "", wire.Invalidf("filter must be JSON")
	}
	where, wrong := wire.FilterOf(v)
	if wrong != "" {
		return f, "", wire.Invalidf("filter: %s", strings.TrimSuffix(wrong, "."))
	}
	f.Where = where
	return f, q, nil
}

// attributes handles GET /api/attributes.
func (h *Handler) attributes(w http.ResponseWriter, r *wire.Request) error {
	f, wanted, err := h.wanted(r)
	if err != nil {
		return err
	}
	var counts attribute.Counts
	err = h.cfg.Catalog.EachFound(r.Context(), f, wanted, func(d retrieval.Document) {
		all := d.AllAttributes()
		for _, key := range unlisted {
			delete(all, key)
		}
		counts.Add(all)
	})
	if err != nil {
		return fmt.Errorf("count attributes: %w", err)
	}
	out := struct {
		Attributes []attributeShown `json:"attributes"`
	}{[]attributeShown{}}
	for _, key := range counts.Most(maxKeysListed, maxValuesListed) {
		shown := attributeShown{Key: key.Key, Documents: key.Documents, More: key.More, Values: []valueShown{}}
		for _, v := range key.Values {
			shown.Values = append(shown.Values, valueShown{v.Value, v.Documents})
		}
		out.Attributes = append(out.Attributes, shown)
	}
	return sendTagged(w, r, out)
}

// unlisted contains the attributes that differ for nearly every document or mean nothing to users.
var unlisted = []string{retrieval.AttributePath, retrieval.AttributeTitle, retrieval.AttributeURL, retrieval.AttributeMediaType, retrieval.AttributeIndexedAt}

// attributeShown is an attribute in responses, with its most frequent values.
type attributeShown struct {
	Key       string       `json:"key"`
	Documents int          `json:"documents"` // number of documents that have it
	Values    []valueShown `json:"values"`
	More      bool         `json:"more"` // there are values that are not listed
}

type valueShown struct {
	Value     any `json:"value"` // a string, a number or a boolean
	Documents int `json:"documents"`
}

// complete converts documents to the form for responses. It adds how many of their chunks have a vector,
// and whether the caller uploaded them.
func (h *Handler) complete(r *wire.Request, f retrieval.Filter, found []retrieval.Document) ([]document, error) {
	revisions := make([]int64, len(found))
	for i, d := range found {
		revisions[i] = d.Revision
	}
	embedded, err := h.cfg.Catalog.EmbeddedChunks(r.Context(), revisions)
	if err != nil {
		return nil, fmt.Errorf("count vectors: %w", err)
	}
	uploaded, err := h.cfg.Uploaded(r.Context(), f.Namespace, f.Principal.Subject)
	if err != nil {
		return nil, fmt.Errorf("list the uploads: %w", err)
	}
	out := make([]document, len(found))
	for i, d := range found {
		out[i] = h.shown(d, embedded[d.Revision], uploaded[d.ID])
	}
	return out, nil
}

// oneDocument handles GET /api/documents/{id}.
func (h *Handler) oneDocument(w http.ResponseWriter, r *wire.Request) error {
	d, f, err := h.document(r)
	if err != nil {
		return err
	}
	out, err := h.complete(r, f, []retrieval.Document{d})
	if err != nil {
		return err
	}
	return sendTagged(w, r, out[0])
}

// chunk is a chunk in responses.
type chunk struct {
	Ordinal  int      `json:"ordinal"`
	Text     string   `json:"text"`
	Tokens   int      `json:"tokens"`
	Headings []string `json:"headings"`
	Spans    []span   `json:"spans"`
}

// span is a part of a page's text, in UTF-16 code units.
type span struct {
	Page  int `json:"page"`
	Start int `json:"start"`
	End   int `json:"end"`
}

// chunks handles GET /api/documents/{id}/chunks.
func (h *Handler) chunks(w http.ResponseWriter, r *wire.Request) error {
	d, _, err := h.document(r)
	if err != nil {
		return err
	}
	const last = 1 << 30
	after, err := number(r, "after", 0, last, -1)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", 1, maxListed, defaultListed)
	if err != nil {
		return err
	}
	page, err := number(r, "page", 0, last, -1)
	if err != nil {
		return err
	}
	brief := r.URL.Query().Get("text") == "false"
	all, err := h.cfg.Catalog.RevisionChunks(r.Context(), d.Revision)
	if err != nil {
		return fmt.Errorf("read chunks: %w", err)
	}
	if page >= 0 {
		all = slices.DeleteFunc(all, func(c retrieval.Chunk) bool {
			return !slices.ContainsFunc(c.Spans, func(s retrieval.Span) bool { return s.Page == page })
		})
	}
	out := struct {
		Chunks []chunk `json:"chunks"`
		Next   *int    `json:"next"`
		Total  int     `json:"total"`
	}{Chunks: []chunk{}, Total: len(all)}
	all = slices.DeleteFunc(all, func(c retrieval.Chunk) bool { return c.Key.Ordinal <= after })
	if len(all) > limit {
		all = all[:limit]
		out.Next = &all[limit-1].Key.Ordinal
	}
	if brief {
		for i := range all {
			all[i].Text, all[i].Spans = "", nil
		}
	}
	texts, err := h.pageTexts(r, d, all)
	if err != nil {
		return err
	}
	for _, c := range all {
		out.Chunks = append(out.Chunks, shownChunk(c, texts))
	}
	return sendTagged(w, r, out)
}

// pageTexts returns the texts of the pages that chunks are on, by page number.
func (h *Handler) pageTexts(r *wire.Request, d retrieval.Document, chunks []retrieval.Chunk) (map[int]offsets, error) {
	texts := map[int]offsets{}
	for _, c := range chunks {
		for _, s := range c.Spans {
			if _, ok := texts[s.Page]; ok {
				continue
			}
			p, _, err := h.cfg.Catalog.Page(r.Context(), d.Revision, s.Page)
			if err != nil {
				return nil, fmt.Errorf("read page %d: %w", s.Page, err)
			}
			texts[s.Page] = offsets{p.Text}
		}
	}
	return texts, nil
}

func shownChunk(c retrieval.Chunk, texts map[int]offsets) chunk {
	out := chunk{Ordinal: c.Key.Ordinal, Text: c.Text, Tokens: c.Tokens, Headings: wire.ListOf(c.Headings), Spans: []span{}}
	for _, s := range c.Spans {
		o := texts[s.Page]
		out.Spans = append(out.Spans, span{Page: s.Page, Start: o.units(s.Start), End: o.units(s.End)})
	}
	return out
}

// delete handles DELETE /api/documents/{id}.
func (h *Handler) delete(w http.ResponseWriter, r *wire.Request) error {
	d, f, err := h.document(r)
	if err != nil {
		return err
	}
	if err := mayChange(f.Principal, d); err != nil {
		return err
	}
	returns, err := h.cfg.Delete(r.Context(), d)
	if err != nil {
		return fmt.Errorf("delete document %s: %w", d.ID, err)
	}
	message := "The document is deleted."
	if returns {
		message = "The document is deleted from the index. Its source file still exists. If the file changes, it will be read again."
	}
	return wire.Reply(w, http.StatusOK, struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Returns bool   `json:"returns"`
		Message string `json:"message"`
	}{d.ID, d.Name, returns, message})
}

// mayChange returns an error for a caller who sees a document but may not change it.
func mayChange(who access.Principal, d retrieval.Document) error {
	if who.MayChange(d.Namespace, d.Owner) {
		return nil
	}
	return errNotYours
}

// reindex handles POST /api/documents/{id}/reindex.
func (h *Handler) reindex(w http.ResponseWriter, r *wire.Request) error {
	d, f, err := h.document(r)
	if err != nil {
		return err
	}
	if h.cfg.Reindex == nil {
		return errNoReindex
	}
	if err := mayChange(f.Principal, d); err != nil {
		return err
	}
	job, err := h.cfg.Reindex(r.Context(), f.Principal, d)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusAccepted, struct {
		JobID string `json:"job_id"`
	}{job})
}

// namespaceShown is a namespace in responses.
type namespaceShown struct {
	Name      string `json:"name"`
	Documents int    `json:"documents"`
	Chunks    int    `json:"chunks"`
	Default   bool   `json:"default"`
	Manage    bool   `json:"manage"`   // the caller may change its members and the rights of its documents
	Instruct  bool   `json:"instruct"` // the caller may change its instructions for models
}

// namespaces handles GET /api/namespaces. It lists the server's own namespace first, then the others that
// the caller may use.
func (h *Handler) namespaces(w http.ResponseWriter, r *wire.Request) error {
	who := r.Who
	names, err := h.cfg.Namespaces(r.Context(), who)
	if err != nil {
		return fmt.Errorf("list the namespaces: %w", err)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == h.cfg.Namespace })
	out := []namespaceShown{}
	for _, name := range append([]string{h.cfg.Namespace}, names...) {
		documents, chunks, err := h.count(r, retrieval.Filter{Principal: who, Namespace: name})
		if err != nil {
			return err
		}
		out = append(out, namespaceShown{Name: name, Documents: documents, Chunks: chunks, Default: name == h.cfg.Namespace, Manage: who.MayManage(name),
			Instruct: who.MayInstruct(name) && (who.Subject != "" || h.cfg.Changes)})
	}
	return sendTagged(w, r, out)
}

// count returns the number of documents that the caller may see in a namespace, and the number of chunks
// in the namespace. chunks is 0 if the namespace has documents that the caller may not see.
func (h *Handler) count(r *wire.Request, f retrieval.Filter) (documents, chunks int, err error) {
	_, documents, err = h.cfg.Catalog.FindDocuments(r.Context(), f, "", "", 0)
	if err != nil {
		return 0, 0, fmt.Errorf("count documents: %w", err)
	}
	stats, err := h.cfg.Catalog.Stats(r.Context(), f.Namespace)
	if err != nil {
		return 0, 0, fmt.Errorf("count the namespace: %w", err)
	}
	if stats.Documents != documents {
		return documents, 0, nil
	}
	return documents, stats.Chunks, nil
}
