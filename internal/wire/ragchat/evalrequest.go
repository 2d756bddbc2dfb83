package ragchat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/eval"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// evaluation is a request to find passages without answering.
type evaluation struct {
	req       chat.Request // the part that all questions share
	k         int
	keep      func(*retrieval.Passage) bool // reports whether a passage counts; see filterOf
	query     string                        // the single query; "" if there are questions
	questions []evalQuestion
	ways      []eval.Way
	moded     bool // the body names modes
	details   bool
	reranked  int       // number of passages after reranking, for a single query
	payload   bool      // the results of a single query include their payloads
	colbert   bool      // ColBERT was requested
	base      *exchange // for links
}

// evalQuestion is a question with the documents that should be found for it.
type evalQuestion struct {
	id, text string
	messages []chat.Message
	labels   []string       // of gold, as sent
	gold     map[string]int // grades by label
}

func (q *evalQuestion) request(e *evaluation) chat.Request {
	req := e.req
	req.Messages = slices.Clone(q.messages)
	return req
}

// best returns the first k passages that count.
func (e *evaluation) best(passages []retrieval.Passage) []retrieval.Passage {
	var kept []retrieval.Passage
	for i := range passages {
		if p := &passages[i]; len(kept) < e.k && len(p.Chunk.Spans) > 0 && e.keep(p) {
			kept = append(kept, *p)
		}
	}
	return kept
}

// evaluationOf reads the body of an evaluation.
func (h *Handler) evaluationOf(r *wire.Request, x *exchange) (*evaluation, error) {
	object, err := r.Object()
	if err != nil {
		return nil, err
	}
	h.useDefaults(x)
	x.req.Options.Rewrite.Clarify = false // there is no user to ask
	x.req.Principal, x.req.Namespace = r.Who, h.cfg.Namespace
	e := &evaluation{k: h.cfg.Parameters.TopK, reranked: defaultReranked, payload: true, base: x}
	if err := h.readSettings(x, e, object); err != nil {
		return nil, err
	}
	e.req = x.req
	top := e.k
	if e.keep, err = h.filterFor(e, object); err != nil {
		return nil, err
	} else if e.keep != nil {
		top = chat.MaxTop
	} else {
		e.keep = func(*retrieval.Passage) bool { return true }
	}
	for i := range e.ways {
		e.ways[i].Top = top
	}
	if err := h.readQuestions(e, object); err != nil {
		return nil, err
	}
	if n := len(e.questions) * len(e.ways); n > maxSearches {
		const want = "a shorter list: %d questions in %d ways exceed the limit of %d searches"
		return nil, &fieldError{"questions", fmt.Sprintf(want, len(e.questions), len(e.ways), maxSearches)}
	}
	return e, nil
}

// defaultReranked is the original's default number of passages after reranking.
const defaultReranked = 5

// shared lists the members of the body that work like the parameter of the same name in a chat.
var shared = []string{
	"active_domain", "namespace", "score_threshold", "user_id", "conversation_id", "model_keys", "prompt_domain",
	"rewrite_confidence_threshold", "rewrite_tail_turns", "rewrite_summary_turns",
}

// readSettings reads everything except the questions.
func (h *Handler) readSettings(x *exchange, e *evaluation, object wire.Object) error {
	for _, key := range shared {
		if err := apply(object, key, func(v wire.Value) string { return x.set(key, v) }); err != nil {
			return err
		}
	}
	var modes []retrieval.Mode
	rewrite, rerank := []bool{true}, []bool{x.req.Options.Rerank}
	for _, s := range []struct {
		key string
		set func(wire.Value) string
	}{
		{"top_k", func(v wire.Value) string { return setCount(&e.k, v, chat.MaxTop) }},
		{"k", func(v wire.Value) string { return setCount(&e.k, v, chat.MaxTop) }},
		{"search_mode", func(v wire.Value) string { return setModes(&modes, v) }},
		{"modes", func(v wire.Value) string { return setModes(&modes, v) }},
		{"enable_query_rewrite", func(v wire.Value) string { return setChoice(&rewrite, v) }},
		{"rewrite", func(v wire.Value) string { return setChoice(&rewrite, v) }},
		{"enable_cross_encoder_rerank", func(v wire.Value) string { return setChoice(&rerank, v) }},
		{"rerank", func(v wire.Value) string { return setChoice(&rerank, v) }},
		{"reranked_top_n", func(v wire.Value) string { return setCount(&e.reranked, v, chat.MaxTop) }},
		{"cross_encoder_top_n", func(v wire.Value) string { return setCount(&e.reranked, v, chat.MaxTop) }},
		{"with_payload", func(v wire.Value) string { return setBool(&e.payload, v) }},
		{"use_colbert", func(v wire.Value) string { return setBool(&e.colbert, v) }},
		{"details", func(v wire.Value) string { return setBool(&e.details, v) }},
	} {
		if err := apply(object, s.key, s.set); err != nil {
			return err
		}
	}
	if e.moded = modes != nil; !e.moded {
		modes = eval.Modes(h.cfg.Embedding)
	}
	for _, mode := range modes {
		for _, rewrites := range rewrite {
			for _, reranks := range rerank {
				e.ways = append(e.ways, eval.Way{Mode: mode, Rewrite: rewrites, Rerank: reranks})
			}
		}
	}
	return nil
}

// modeNames maps this program's and the original's names of modes.
var modeNames = map[string]retrieval.Mode{
	"text": retrieval.Text, "sparse": retrieval.Text, "bm25": retrieval.Text,
	"vectors": retrieval.Vectors, "dense": retrieval.Vectors,
	"hybrid": retrieval.Hybrid,
}

// setModes reads the name of a mode, or a list of names.
func setModes(to *[]retrieval.Mode, v wire.Value) string {
	const want = `one of "text" (or "sparse"), "vectors" (or "dense") and "hybrid", or a list of them`
	list, ok := v.Elements()
	if !ok {
		list = func(yield func(wire.Value) bool) { yield(v) }
	}
	*to = nil
	for v := range list {
		name, _ := v.Text()
		mode, known := modeNames[strings.ToLower(strings.TrimSpace(name))]
		if !known {
			return want
		}
		if !slices.Contains(*to, mode) {
			*to = append(*to, mode)
		}
	}
	if len(*to) == 0 {
		return want
	}
	return ""
}

// setChoice reads a boolean, or "both" for a row with each value.
func setChoice(to *[]bool, v wire.Value) string {
	if text, _ := v.Text(); strings.EqualFold(strings.TrimSpace(text), "both") {
		*to = []bool{false, true}
		return ""
	}
	on, ok := v.Flag()
	if !ok {
		return `true, false or "both"`
	}
	*to = []bool{on}
	return ""
}

// filterFor reads query_filter. It returns nil if the index applies the whole filter.
func (h *Handler) filterFor(e *evaluation, object wire.Object) (func(*retrieval.Passage) bool, error) {
	var q retrieval.Query
	keep, err := filterOf(object, &q)
	if err != nil {
		return nil, err
	}
	e.req.Options.Where = q.Where
	if q.Limit == 0 {
		return nil, nil
	}
	return keep, nil
}

// readQuestions reads the single query, or the questions.
func (h *Handler) readQuestions(e *evaluation, object wire.Object) error {
	query, _ := object.Get("query")
	list, _ := object.Get("questions")
	if query.IsGiven() == list.IsGiven() {
		return &fieldError{"questions", `a list of questions, each with "gold"; or send "query" instead`}
	}
	if query.IsGiven() {
		text, ok := query.Text()
		if e.query = strings.TrimSpace(text); !ok || e.query == "" {
			return &fieldError{"query", "a string that is not empty"}
		}
		return chat.CheckQuestion(e.query)
	}
	elements, ok := list.Elements()
	if !ok {
		return &fieldError{"questions", "a list of questions"}
	}
	i := 0
	for v := range elements {
		if i == maxQuestions {
			return &fieldError{"questions", fmt.Sprintf("a list of at most %d questions", maxQuestions)}
		}
		q, err := h.questionOf(e, v, i)
		if err != nil {
			if field, ok := errors.AsType[*fieldError](err); ok {
				err = &fieldError{fmt.Sprintf("questions.%d.%s", i, field.path), field.want}
			}
			return err
		}
		e.questions = append(e.questions, q)
		i++
	}
	if i == 0 {
		return &fieldError{"questions", "a list of at least one question"}
	}
	return nil
}

// questionOf reads one question. The paths of its errors are relative to it.
func (h *Handler) questionOf(e *evaluation, v wire.Value, i int) (q evalQuestion, err error) {
	object, ok := v.Object()
	if !ok {
		return q, &fieldError{"question", "a string that is not empty, in an object"}
	}
	q.text, ok = firstGiven(object, "question", "query").Text()
	if q.text = strings.TrimSpace(q.text); !ok || q.text == "" {
		return q, &fieldError{"question", "a string that is not empty"}
	}
	if err := chat.CheckQuestion(q.text); err != nil {
		return q, err
	}
	q.id = strconv.Itoa(i + 1)
	if err := apply(object, "id", func(v wire.Value) string { return setName(&q.id, v) }); err != nil {
		return q, err
	}
	history, _ := object.Get("history")
	if q.messages, err = h.historyOf(history, q.text); err != nil {
		return q, err
	}
	q.messages = append(q.messages, chat.TextMessage(llm.User, q.text))
	return q, q.readGold(e.base.base, object)
}

func firstGiven(object wire.Object, keys ...string) wire.Value {
	for _, key := range keys {
		if v, _ := object.Get(key); v.IsGiven() {
			return v
		}
	}
	return nil
}

// readGold reads the expected results: labels, or objects with a document, a page and a grade.
func (q *evalQuestion) readGold(base string, object wire.Object) error {
	elements, ok := firstGiven(object, "gold", "relevant").Elements()
	if !ok {
		return &fieldError{"gold", `a list such as ["manual.pdf#page=3", "list.md"]`}
	}
	q.gold, q.labels = map[string]int{}, []string{}
	i := 0
	for v := range elements {
		label, grade, want := goldOf(v)
		if want == "" && i == maxGold {
			return &fieldError{"gold", fmt.Sprintf("a list of at most %d labels", maxGold)}
		}
		if want != "" {
			return &fieldError{fmt.Sprintf("gold.%d", i), want}
		}
		label = nameOfURL(base, label)
		if q.gold[label] == 0 {
			q.labels = append(q.labels, label)
		}
		q.gold[label] = grade
		i++
	}
	if i == 0 {
		return &fieldError{"gold", "a list of at least one document or page"}
	}
	return nil
}

// goldOf reads one label with its grade; want describes a valid value if the label is invalid.
func goldOf(v wire.Value) (label string, grade int, want string) {
	const should = `a document or page such as "manual.pdf#page=3", or {"document": "manual.pdf", "page": 3, "grade": 1}`
	grade = 1
	object, isObject := v.Object()
	if !isObject {
		label, _ = v.Text()
		if label = strings.TrimSpace(label); label == "" || len(label) > maxLabel {
			return "", 0, should
		}
		return label, grade, ""
	}
	var gold struct {
		Document wire.Value `json:"document"`
		Page     wire.Value `json:"page"`
		Grade    wire.Value `json:"grade"`
	}
	object.Read(&gold)
	label, _ = gold.Document.Text()
	if label = strings.TrimSpace(label); label == "" || len(label) > maxLabel {
		return "", 0, should
	}
	page := 0
	if gold.Page.IsGiven() && setCount(&page, gold.Page, 1<<30) != "" {
		return "", 0, should
	}
	if gold.Grade.IsGiven() && setCount(&grade, gold.Grade, maxGrade) != "" {
		return "", 0, should
	}
	if page > 0 {
		label += fmt.Sprintf("#page=%d", page)
	}
	return label, grade, ""
}

// maxLabel is the maximum length of an expected label in bytes.
const maxLabel = 4096

// nameOfURL converts the URL of a document on this server, as in the payload of results, to a label. It
// returns other labels unchanged.
func nameOfURL(base, label string) string {
	c, ok := wire.ParseContentURL(base, label)
	switch {
	case !ok:
		return label
	case c.Page != "":
		return c.Name + "#page=" + c.Page
	}
	return c.Name
}

// cutPage splits the page from a label.
func cutPage(label string) (name, page string, ok bool) {
	if i := strings.LastIndex(label, "#page="); i >= 0 {
		return label[:i], label[i+len("#page="):], true
	}
	return label, "", false
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}
