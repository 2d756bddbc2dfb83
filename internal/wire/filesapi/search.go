package filesapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"parley/internal/attribute"
	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// The limits of a search.
const (
	defaultResults = 10
	maxResults     = 50
	maxQueries     = 8
)

// query is a request for a search.
type query struct {
	texts []string

	filter *attribute.Condition
	limit  int
	least  float64 // minimum score
}

// resultBody is a passage in responses.
type resultBody struct {
	FileID     string          `json:"file_id"`
	Filename   string          `json:"filename"`
	Score      float64         `json:"score"`
	Attributes json.RawMessage `json:"attributes"`
	Content    []contentBody   `json:"content"`
	Page       int             `json:"page,omitempty"` // Parley's own
	URL        string          `json:"url"`            // Parley's own: the page in the original
}

type contentBody struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// resultsPage is the response to a search. There is never a next page.
type resultsPage struct {
	Object   string       `json:"object"`
	Query    any          `json:"search_query"`
	Data     []resultBody `json:"data"`
	HasMore  bool         `json:"has_more"`
	NextPage *string      `json:"next_page"`
}

// search handles POST /v1/vector_stores/{id}/search.
func (h *Handler) search(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	q, err := queryOf(object)
	if err != nil {
		return err
	}
	from, err := h.searchedBy(r)
	if err != nil {
		return err
	}
	passages, err := h.passages(r, q)
	if err != nil {
		return err
	}
	data, err := h.results(r, from, passages)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, resultsPage{Object: "vector_store.search_results.page", Query: q.texts, Data: data})
}

// searchedBy returns the target of a search from the path of the request: a vector store or another namespace.
func (h *Handler) searchedBy(r *wire.Request) (Searched, error) {
	id := r.PathValue("id")
	if library.IsStore(id) {
		return h.Open(r.Context(), r.Who.Subject, id)
	}
	ok, err := h.catalog.Has(r.Context(), r.Who, id)
	if err != nil {
		return Searched{}, err
	}
	if !ok {
		return Searched{}, library.ErrNotFound
	}
	return Searched{}, nil
}

func queryOf(object wire.Object) (q query, err error) {
	q.limit = defaultResults
	var in struct {
		Query   wire.Value `json:"query"`
		Filters wire.Value `json:"filters"`
		Limit   wire.Value `json:"max_num_results"`
		Ranking wire.Value `json:"ranking_options"`
		Rewrite wire.Value `json:"rewrite_query"`
	}
	object.Read(&in)
	if q.texts, err = textsOf(in.Query); err != nil {
		return q, err
	}
	if q.filter, err = FilterOf(in.Filters, "filters"); err != nil {
		return q, err
	}
	if in.Limit.IsGiven() {
		n, ok := in.Limit.Number()
		if !ok || n < 1 || n > maxResults || n != float64(int(n)) {
			return q, openai.Refusef("max_num_results", openai.Invalid, `"max_num_results" must be a whole number from 1 to %d.`, maxResults)
		}
		q.limit = int(n)
	}
	if _, ok := in.Rewrite.Bool(); in.Rewrite.IsGiven() && !ok {
		return q, openai.Refusef("rewrite_query", openai.Invalid, `"rewrite_query" must be true or false.`)
	}
	q.least, err = ThresholdOf(in.Ranking, "ranking_options")
	return q, err
}

// FilterOf reads a filter on attributes; param is its name in errors.
func FilterOf(v wire.Value, param string) (*attribute.Condition, error) {
	c, wrong := wire.FilterOf(v)
	if wrong != "" {
		return nil, openai.Refusef(param, openai.Invalid, "%q is not a filter: %s", param, wrong)
	}
	return c, nil
}

// ThresholdOf returns the minimum score in ranking options; param is their name in errors. There is only
// one ranker, so any name of a ranker is accepted.
func ThresholdOf(v wire.Value, param string) (float64, error) {
	if !v.IsGiven() {
		return 0, nil
	}
	var in struct {
		Threshold wire.Value `json:"score_threshold"`
	}
	if !v.Read(&in) {
		return 0, openai.Refusef(param, openai.Invalid, "%q must be an object.", param)
	}
	if !in.Threshold.IsGiven() {
		return 0, nil
	}
	n, ok := in.Threshold.Number()
	if !ok || n < 0 || n > 1 {
		return 0, openai.Refusef(param+".score_threshold", openai.Invalid, "%q must be a number from 0 to 1.", param+".score_threshold")
	}
	return n, nil
}

// textsOf reads "query": a question or a list of questions.
func textsOf(v wire.Value) (texts []string, err error) {
	values := []wire.Value{v}
	if elements, ok := v.Elements(); ok {
		if _, few := wire.AtMost(maxQueries, elements); !few {
			return nil, openai.Refusef("query", openai.Invalid, `"query" may hold %d texts at most.`, maxQueries)
		}
		values = slices.Collect(elements)
	}
	for _, v := range values {
		text, ok := v.Text()
		if text = strings.TrimSpace(text); !ok || text == "" {
			return nil, openai.Refusef("query", openai.Invalid, `"query" must be a text that is not empty, or a list of such texts.`)
		}
		if err := chat.CheckQuestion(text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, openai.Refusef("query", openai.Missing, `"query" must be a text that is not empty, or a list of such texts.`)
	}
	return texts, nil
}

// Searched is the target of a search: a vector store, or a namespace without files.
type Searched struct {
	// File returns the file from which a document was made. The error is library.ErrNotFound if it is no
	// longer in the store. Nil means that there are no files.
	File func(ctx context.Context, documentID string) (library.Member, error)
}

// Open opens a store for a search by its owner. The error is library.ErrNotFound if there is none. The
// result is not safe for concurrent use.
func (h *Handler) Open(ctx context.Context, owner, id string) (Searched, error) {
	s, err := h.cfg.Library.Store(ctx, owner, id)
	if err == nil {
		err = Failure(h.cfg.Library.Use(ctx, s))
	}
	if err != nil {
		return Searched{}, err
	}
	finder, err := h.cfg.Library.Finder(ctx, s)
	if err != nil {
		return Searched{}, err
	}
	return Searched{File: finder.Find}, nil
}

// passages returns the passages found for all questions, best first, without duplicates.
func (h *Handler) passages(r *wire.Request, q query) (all []retrieval.Passage, err error) {
	seen := map[retrieval.ChunkKey]bool{}
	for _, text := range q.texts {
		found, err := h.cfg.Search(r.Context(), retrieval.Query{
			Filter: retrieval.Filter{Principal: r.Who, Namespace: r.PathValue("id"), Where: q.filter},
			Text:   text, Mode: h.cfg.Mode, Limit: q.limit, MinScore: q.least, Captions: true,
		})
		if err != nil {
			return nil, err
		}
		for _, p := range found.Passages {
			if !seen[p.Chunk.Key] && len(p.Chunk.Spans) > 0 {
				all = append(all, p)
			}
			seen[p.Chunk.Key] = true
		}
	}
	if len(q.texts) > 1 {
		slices.SortStableFunc(all, func(a, b retrieval.Passage) int { return cmp.Compare(b.Score, a.Score) })
	}
	return all[:min(len(all), q.limit)], nil
}

func (h *Handler) results(r *wire.Request, from Searched, passages []retrieval.Passage) ([]resultBody, error) {
	data := make([]resultBody, 0, len(passages))
	base := wire.BaseURL(r.Request, h.cfg.PublicURL, false)
	for _, p := range passages {
		m := library.Member{File: p.Document.ID, Filename: path.Base(p.Document.Name), Attributes: plainAttributes(p.Document)}
		if from.File != nil {
			var err error
			if m, err = from.File(r.Context(), p.Document.ID); errors.Is(err, library.ErrNotFound) {
				continue // the file was removed in the meantime
			} else if err != nil {
				return nil, err
			}
		}
		page := p.BestPage()
		data = append(data, resultBody{
			FileID: m.File, Filename: m.Filename, Score: p.Score, Attributes: objectOrEmpty(m.Attributes),
			Content: []contentBody{{"text", p.Chunk.Text}}, Page: page, URL: h.catalog.Link(p.Document.Name, page, base, r.PathValue("id")),
		})
	}
	return data, nil
}
