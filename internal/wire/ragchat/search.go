package ragchat

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// searchResult is the response of POST /search.
type searchResult struct {
	Results []source `json:"results"`
	Total   int      `json:"total"`
}

// maxFiltered is the number of passages that are examined if the filter uses a field by which the index cannot
// filter.
const maxFiltered = 1000

// search handles POST /search. It finds passages for a query without answering.
func (h *Handler) search(w http.ResponseWriter, r *wire.Request) error {
	x := &exchange{view: view{base: wire.BaseURL(r.Request, h.cfg.PublicURL, false), home: h.cfg.Namespace}}
	q, limit, keep, err := h.searchOf(r)
	var found retrieval.Result
	if err == nil {
		found, err = h.cfg.Search(r.Context(), q)
	}
	if err != nil {
		return err
	}
	out := searchResult{Results: []source{}}
	for i := range found.Passages {
		if p := &found.Passages[i]; len(out.Results) < limit && len(p.Chunk.Spans) > 0 && keep(p) {
			out.Results = append(out.Results, x.sourceOf(p))
		}
	}
	out.Total = len(out.Results)
	return wire.Reply(w, http.StatusOK, out)
}

// searchOf reads the body of a search: the query, the number of results, and a filter.
func (h *Handler) searchOf(r *wire.Request) (q retrieval.Query, limit int, keep func(*retrieval.Passage) bool, err error) {
	object, err := r.Object()
	if err != nil {
		return q, 0, nil, err
	}
	q.Principal = r.Who
	q.Namespace, q.Mode, q.MinScore, limit = h.cfg.Namespace, h.cfg.Defaults.Mode, h.cfg.Parameters.ScoreThreshold, h.cfg.Parameters.TopK
	value, _ := object.Get("query")
	text, ok := value.Text()
	if !ok || strings.TrimSpace(text) == "" {
		return q, 0, nil, &fieldError{"query", "a string that is not empty"}
	}
	q.Text = strings.TrimSpace(text)
	if err := chat.CheckQuestion(q.Text); err != nil {
		return q, 0, nil, err
	}
	namespace := ""
	for _, field := range []struct {
		key string
		set func(wire.Value) string
	}{
		{"limit", func(v wire.Value) string { return setCount(&limit, v, chat.MaxTop) }},
		{"score_threshold", func(v wire.Value) string { return setNumber(&q.MinScore, v, 1) }},
		{"active_domain", func(v wire.Value) string { return setName(&namespace, v) }},
		{"namespace", func(v wire.Value) string { return setName(&namespace, v) }}, // takes precedence if both are given
	} {
		if err := apply(object, field.key, field.set); err != nil {
			return q, 0, nil, err
		}
	}
	if namespace != "" {
		q.Namespace = namespace
	}
	q.Limit = limit
	keep, err = filterOf(object, &q)
	return q, limit, keep, err
}

func apply(object wire.Object, key string, set func(wire.Value) string) error {
	v, _ := object.Get(key)
	if !v.IsGiven() {
		return nil
	}
	if want := set(v); want != "" {
		return &fieldError{key, want}
	}
	return nil
}

// fields maps the fields of results that a query_filter may name to attributes of documents; "" for fields of passages.
var fields = map[string]string{
	"category": retrieval.AttributeCategory, "url": retrieval.AttributeURL, "title": retrieval.AttributeTitle,
	"filename": retrieval.AttributePath, "section": "",
}

// filterOf reads query_filter, which has required values of fields, or is a filter on attributes of documents, into q.Where.
// A section is not an attribute of documents: for it, keep filters the best maxFiltered passages. keep is never nil.
func filterOf(object wire.Object, q *retrieval.Query) (keep func(*retrieval.Passage) bool, err error) {
	keep = func(*retrieval.Passage) bool { return true }
	v, _ := object.Get("query_filter")
	if !v.IsGiven() {
		return keep, nil
	}
	required, ok := v.Object()
	if !ok {
		return nil, &fieldError{"query_filter", "an object"}
	}
	if isFilter(required) {
		where, wrong := wire.FilterOf(v)
		if wrong != "" {
			return nil, &fieldError{"query_filter", "a filter: " + strings.TrimSuffix(wrong, ".")}
		}
		q.Where = where
		return keep, nil
	}
	var parts []*attribute.Condition
	for key, v := range required.Members() {
		wanted, ok := v.Text()
		name, known := fields[key]
		switch {
		case !known:
			names := slices.Sorted(maps.Keys(fields))
			return nil, &fieldError{"query_filter." + clip(key, 40), "one of " + strings.Join(names, ", ")}
		case !ok:
			return nil, &fieldError{"query_filter." + key, "a string"}
		case key == "section":
			q.Limit = maxFiltered
			keep = func(p *retrieval.Passage) bool { return section(p.Chunk.Headings) == wanted }
		case wanted != "":
			parts = append(parts, attribute.Compare("eq", name, wanted))
		case key != "category": // "" has always meant any category
			parts = append(parts, attribute.Not(attribute.Present(name)))
		}
	}
	q.Where = attribute.All(parts...)
	return keep, nil
}

// isFilter reports whether an object has the members of a filter on attributes.
func isFilter(object wire.Object) bool {
	kind, _ := object.Get("type")
	_, isText := kind.Text()
	_, compares := object.Get("key")
	_, joins := object.Get("filters")
	return isText && (compares || joins)
}
