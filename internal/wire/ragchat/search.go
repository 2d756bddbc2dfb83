package ragchat

import (
	"net/http"
	"slices"
	"strings"

	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// searchResult is the response of POST /search.
type searchResult struct {
	Results []source `json:"results"`
	Total   int      `json:"total"`
}

// maxFiltered is the number of passages that are examined if the filter uses fields that the index cannot filter
// by.
const maxFiltered = 1000

// search handles POST /search. It finds passages for a query, without an answer.
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
	q.Namespace, q.Mode, q.MinScore, limit = h.cfg.Namespace, h.cfg.Engine.Mode, h.cfg.Defaults.ScoreThreshold, h.cfg.Defaults.TopK
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
	if !isGiven(v) {
		return nil
	}
	if want := set(v); want != "" {
		return &fieldError{key, want}
	}
	return nil
}

// filters maps the fields of a query_filter, except the category, to the values of a passage.
var filters = map[string]func(p *retrieval.Passage) string{
	"url":      func(p *retrieval.Passage) string { return p.Document.URL },
	"title":    func(p *retrieval.Passage) string { return p.Document.Title },
	"filename": func(p *retrieval.Passage) string { return p.Document.Name },
	"section":  func(p *retrieval.Passage) string { return section(p.Chunk.Headings) },
}

// filterOf reads query_filter: required values of fields of the results. The index filters by category;
// for the others, keep filters the best passages.
func filterOf(object wire.Object, q *retrieval.Query) (keep func(*retrieval.Passage) bool, err error) {
	keep = func(*retrieval.Passage) bool { return true }
	v, _ := object.Get("query_filter")
	if !isGiven(v) {
		return keep, nil
	}
	fields, ok := v.Object()
	if !ok {
		return nil, &fieldError{"query_filter", "an object"}
	}
	wanted := map[string]string{}
	for key, v := range fields.Members() {
		text, ok := v.Text()
		_, known := filters[key]
		switch {
		case key == "category" && ok:
			q.IncludeCategory = text
		case known && ok:
			wanted[key] = text
		case known || key == "category":
			return nil, &fieldError{"query_filter." + key, "a string"}
		default:
			names := []string{"category"}
			for name := range filters {
				names = append(names, name)
			}
			slices.Sort(names)
			return nil, &fieldError{"query_filter." + clip(key, 40), "one of " + strings.Join(names, ", ")}
		}
	}
	if len(wanted) > 0 {
		q.Limit = maxFiltered
	}
	return func(p *retrieval.Passage) bool {
		for key, value := range wanted {
			if filters[key](p) != value {
				return false
			}
		}
		return true
	}, nil
}
