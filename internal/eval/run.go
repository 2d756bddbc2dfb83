package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Env is the product as it is to be measured. All documents are in Namespace.
type Env struct {
	Corpus    *retrieval.Corpus
	Store     Store // of the corpus
	Namespace string
	Embedding string // the model that has embedded all documents, "provider:model"; "" when there is none
	Rewrite   func(ctx context.Context, history []chat.Message, question string) chat.QueryRewritten
	Ask       func(ctx context.Context, question string) (*chat.Turn, error) // for documents
	// Find runs the stages of a turn that find passages, with Options; for RankStages.
	Find     Find
	Options  chat.Options
	Progress func(done int) // passages indexed; may be nil
}

// Store is the part of the corpus's store that an evaluation reads.
type Store interface {
	Roots(ctx context.Context, namespace string) ([]retrieval.Root, error)
	AllDocuments(ctx context.Context, namespace, after string, limit int) ([]retrieval.Document, error)
}

// Report is the outcome of an evaluation.
type Report struct {
	Dataset   string      `json:"dataset"`
	Documents int         `json:"documents"`
	Chunks    int         `json:"chunks"`
	Indexing  float64     `json:"indexing_seconds"` // 0 when the index was there already
	Rankings  []Ranking   `json:"rankings,omitempty"`
	Pages     *PageReport `json:"pages,omitempty"`
}

// indexBatch is the number of passages that one transaction adds.
const indexBatch = 512

// Index puts the corpus of a data set of passages into the namespace, each passage as a document
// cut by the product's splitter, unless it is there from an earlier run.
func Index(ctx context.Context, env Env, d *Dataset) (time.Duration, error) {
	hash, err := d.corpusHash()
	if err != nil {
		return 0, err
	}
	root := retrieval.Root{Path: "/eval/" + hash + "/" + ingest.SplitOptions{}.Generation()}
	roots, err := env.Store.Roots(ctx, env.Namespace)
	if err != nil {
		return 0, fmt.Errorf("read what is indexed: %w", err)
	}
	for _, r := range roots {
		if r == root {
			return 0, nil
		}
	}
	if len(roots) > 0 {
		return 0, fmt.Errorf("the data folder holds another data set: name another one with --data")
	}
	began := time.Now()
	b := retrieval.Batch{Namespace: env.Namespace}
	done := 0
	flush := func() error {
		if err := env.Corpus.Apply(ctx, b); err != nil {
			return fmt.Errorf("index %d passages: %w", len(b.Put), err)
		}
		done += len(b.Put)
		b.Put = b.Put[:0]
		if env.Progress != nil {
			env.Progress(done)
		}
		return nil
	}
	for p, err := range d.Passages() {
		if err != nil {
			return 0, err
		}
		b.Put = append(b.Put, put(env.Namespace, p))
		if len(b.Put) == indexBatch {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
	b.PutRoots = []retrieval.Root{root}
	return time.Since(began), flush()
}

// put makes a document of a passage.
func put(namespace string, p Passage) retrieval.Put {
	body := p.cutTitle()
	doc := &extract.Document{Title: p.Title, Pages: []extract.Page{{
		Text: body, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(body)}},
	}}}
	chunks := ingest.Split(doc, ingest.SplitOptions{})
	if len(chunks) == 0 { // a passage that is nothing but its title
		doc.Pages[0] = extract.Page{Text: p.Title, Blocks: []extract.Block{{Kind: extract.Paragraph, End: len(p.Title)}}}
		chunks = ingest.Split(doc, ingest.SplitOptions{})
	}
	return retrieval.Put{
		Document: retrieval.Document{
			ID: p.ID, Namespace: namespace, Name: p.ID, Title: p.Title, URL: p.URL,
			MediaType: "text/plain", IndexedAt: time.Now(),
		},
		Pages:  []retrieval.Page{{Text: doc.Pages[0].Text}},
		Chunks: chunks,
	}
}

// form is one way to put a query.
type form struct {
	name  string
	query func(q Query) (text string, context []retrieval.WeightedTerm, ok bool)
}

func forms(ctx context.Context, env Env) []form {
	return []form{
		{"last_turn", func(q Query) (string, []retrieval.WeightedTerm, bool) { return q.Text, nil, true }},
		{"rewrite", func(q Query) (string, []retrieval.WeightedTerm, bool) {
			r := env.Rewrite(ctx, history(q.Conversation), q.Text)
			return r.Query, r.Context, true
		}},
		{"human_rewrite", func(q Query) (string, []retrieval.WeightedTerm, bool) { return q.Rewrite, nil, q.Rewrite != "" }},
	}
}

func history(conversation []Message) []chat.Message {
	var h []chat.Message
	for _, m := range conversation {
		h = append(h, chat.TextMessage(llm.Role(m.Role), m.Content))
	}
	return h
}

// depth is the number of chunks that are ranked to score documents by their best chunk.
const depth = 2000

// way is a way to search.
type way struct {
	retriever string
	mode      retrieval.Mode
}

// ways returns the ways to search that the configured product offers. RankStages measures the stages around a search: rewriting
// by a model, and reranking.
func ways(env Env) []way {
	var all []way
	for _, mode := range Modes(env.Embedding) {
		all = append(all, way{Retriever(mode, env.Embedding), mode})
	}
	return all
}

// Modes returns the modes of search that an embedding model makes available; without a model, only search by words.
func Modes(embedding string) []retrieval.Mode {
	if embedding == "" {
		return []retrieval.Mode{retrieval.Text}
	}
	return []retrieval.Mode{retrieval.Text, retrieval.Vectors, retrieval.Hybrid}
}

// Retriever returns the name of the ranker of a mode, with the key of the model that embeds.
func Retriever(mode retrieval.Mode, embedding string) string {
	switch mode {
	case retrieval.Vectors:
		return embedding
	case retrieval.Hybrid:
		return "bm25+" + embedding
	}
	return "bm25"
}

// Rank measures every way to search with every form of the queries. Latency is that of a search as
// the product does it, for ten passages with their text, rewriting and embedding included.
func Rank(ctx context.Context, env Env, d *Dataset) ([]Ranking, error) {
	ids, err := documentIDs(ctx, env)
	if err != nil {
		return nil, err
	}
	forms, ways := forms(ctx, env), ways(env)
	rankings := make([]measured, len(ways)*len(forms))
	for f, form := range forms {
		for _, q := range d.Queries {
			began := time.Now()
			text, terms, ok := form.query(q)
			if !ok {
				continue
			}
			s := search{Env: env, before: time.Since(began), query: retrieval.Query{
				Filter: retrieval.Filter{Namespace: env.Namespace}, Text: text, Context: terms,
			}}
			for w, way := range ways {
				m := &rankings[w*len(forms)+f]
				m.Retriever, m.Mode, m.Form = way.retriever, string(way.mode), form.name
				took, err := s.time(ctx, way.mode)
				if err != nil {
					return nil, fmt.Errorf("search for query %s: %w", q.ID, err)
				}
				m.latencies = append(m.latencies, took)
				query := s.query
				query.Mode, query.Limit = way.mode, depth
				hits, err := env.Corpus.Rank(ctx, query)
				if err != nil {
					return nil, fmt.Errorf("rank for query %s: %w", q.ID, err)
				}
				m.add(ranked(hits, ids), q.Relevant)
			}
		}
	}
	var done []Ranking
	for _, m := range rankings {
		if m.Queries > 0 {
			m.finish(m.latencies)
			done = append(done, m.Ranking)
		}
	}
	return done, nil
}

// measured is a ranking that is being measured.
type measured struct {
	Ranking
	latencies []time.Duration
}

// search is a query that is searched for in several ways.
type search struct {
	Env
	query    retrieval.Query
	before   time.Duration // what the query itself took
	embedded time.Duration // the part of before for embedding, which the corpus does once
	found    retrieval.Result
}

// time searches for ten passages, and returns how long that search alone takes.
func (s *search) time(ctx context.Context, mode retrieval.Mode) (time.Duration, error) {
	query := s.query
	query.Mode, query.Limit = mode, 10
	began := time.Now()
	found, err := s.Corpus.Search(ctx, query)
	took := time.Since(began)
	switch {
	case err != nil:
		return 0, err
	case found.Mode != mode:
		return 0, fmt.Errorf("searched by %s instead of %s: %s", found.Mode, mode, found.Note)
	}
	s.found = found
	if mode == retrieval.Text {
		return s.before + took, nil
	}
	s.embedded = max(s.embedded, found.EmbedTime)
	return s.before + took - found.EmbedTime + s.embedded, nil
}

// documentIDs returns the passage id of each revision.
func documentIDs(ctx context.Context, env Env) (map[int64]string, error) {
	ids := make(map[int64]string)
	after := ""
	for {
		docs, err := env.Store.AllDocuments(ctx, env.Namespace, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		for _, d := range docs {
			ids[d.Revision] = d.Name
			after = d.Name
		}
		if len(docs) < 1000 {
			return ids, nil
		}
	}
}

// ranked returns documents in the order of their best chunk, at most 1,000.
func ranked(hits []retrieval.Hit, ids map[int64]string) []string {
	seen := make(map[string]bool)
	var out []string
	for _, h := range hits {
		id := ids[h.Key.Revision]
		if !seen[id] && len(out) < 1000 {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// AskPages measures every way to search, and the citations of the product's own answers, on questions
// about documents with pages.
func AskPages(ctx context.Context, env Env, d *Dataset) (*PageReport, error) {
	r := &PageReport{Questions: len(d.Questions)}
	ways := ways(env)
	r.Searches = make([]PageSearch, len(ways))
	latencies := make([][]time.Duration, len(ways))
	cited, right := 0, 0
	for i := range d.Questions {
		q := &d.Questions[i]
		s := search{Env: env, query: retrieval.Query{Filter: retrieval.Filter{Namespace: env.Namespace}, Text: q.Text}}
		for w, way := range ways {
			r.Searches[w].Retriever, r.Searches[w].Mode = way.retriever, string(way.mode)
			took, err := s.time(ctx, way.mode)
			if err != nil {
				return nil, fmt.Errorf("search for question %s: %w", q.ID, err)
			}
			latencies[w] = append(latencies[w], took)
			r.Searches[w].add(q, pagesOf(s.found.Passages))
		}
		turn, err := env.Ask(ctx, q.Text)
		if err != nil {
			return nil, fmt.Errorf("answer question %s: %w", q.ID, err)
		}
		labels := citations(turn)
		if len(labels) == 0 {
			r.Refused++
		}
		if len(q.facts()) == 0 {
			r.Unanswerable++
			if len(labels) == 0 {
				r.RefusedRight++
			}
			continue
		}
		r.CitedGold += q.recall(labels, 0)
		cited += len(labels)
		hits := int(share(labels, q.pages(), 0)*float64(len(labels)) + .5)
		right += hits
		if hits > 0 {
			r.CitedAny++
		}
		r.MostCited = max(r.MostCited, len(labels))
	}
	n := float64(max(r.Questions-r.Unanswerable, 1))
	r.CitedGold /= n
	r.CitedAny /= n
	r.PagesCited = float64(cited) / n
	r.CitePrecision = float64(right) / float64(max(cited, 1))
	for w := range ways {
		r.Searches[w].finish(n, latencies[w])
	}
	return r, nil
}

func (s *PageSearch) add(q *Question, pages []string) {
	top := func(k int) []string { return pages[:min(k, len(pages))] }
	gold := q.pages()
	if len(pages) > 0 && slices.ContainsFunc(gold, func(g string) bool { return sameDocument(g, pages[0]) }) {
		s.Document1++
	}
	s.Gold1 += q.recall(top(1), 0)
	s.Gold3 += q.recall(top(3), 0)
	s.Gold5 += q.recall(top(5), 0)
	s.Gold10 += q.recall(top(10), 0)
	s.Near3 += q.recall(top(3), 1)
	s.Near5 += q.recall(top(5), 1)
	s.Near10 += q.recall(top(10), 1)
}

// sameDocument reports whether two citations name pages of one document.
func sameDocument(a, b string) bool {
	a, _, _ = strings.Cut(a, pageMark)
	b, _, _ = strings.Cut(b, pageMark)
	return a == b
}

// finish turns sums into means.
func (s *PageSearch) finish(n float64, latencies []time.Duration) {
	for _, v := range []*float64{&s.Document1, &s.Gold1, &s.Gold3, &s.Gold5, &s.Gold10, &s.Near3, &s.Near5, &s.Near10} {
		*v /= n
	}
	s.P50, s.P99 = percentile(latencies, .5), percentile(latencies, .99)
}

// pagesOf returns the first page of each passage as a citation.
func pagesOf(passages []retrieval.Passage) []string {
	var pages []string
	for _, p := range passages {
		pages = append(pages, withPage(p.Document.Name, p.Chunk.PageAt(0)))
	}
	return pages
}

// citations returns the distinct labels that a turn's answer cites.
func citations(t *chat.Turn) []string {
	seen := make(map[string]bool)
	var labels []string
	for _, m := range t.Messages {
		for _, c := range m.Citations {
			if !seen[c.Label] {
				seen[c.Label] = true
				labels = append(labels, c.Label)
			}
		}
	}
	return labels
}

// within reports whether two citations name the same document and pages at most distance apart.
func within(a, b string, distance int) bool {
	nameA, pageA, okA := splitCitation(a)
	nameB, pageB, okB := splitCitation(b)
	if !okA || !okB {
		return a == b
	}
	return nameA == nameB && max(pageA-pageB, pageB-pageA) <= distance
}

func splitCitation(c string) (name string, page int, ok bool) {
	name, number, ok := strings.Cut(c, pageMark)
	if !ok {
		return "", 0, false
	}
	page, err := strconv.Atoi(number)
	return name, page, err == nil
}
