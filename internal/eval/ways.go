package eval

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/retrieval"
)

// Find runs the stages of a turn that find passages.
type Find func(ctx context.Context, req *chat.Request) (*chat.Turn, error)

// Way is a way in which the stages of a turn find passages.
type Way struct {
	Mode    retrieval.Mode // "" is the engine's
	Rewrite bool           // with the conversation before the question
	Rerank  bool
	Top     int // passages
}

// Try asks one question one way. The request has the caller, the namespace, the messages, and the
// options that the way does not set.
func (w Way) Try(ctx context.Context, find Find, req chat.Request) (*chat.Turn, time.Duration, error) {
	req.Options.Mode, req.Options.Top = w.Mode, w.Top
	req.Options.Rerank, req.Options.Rewrite.Off = w.Rerank, !w.Rewrite
	began := time.Now()
	turn, err := find(ctx, &req)
	return turn, time.Since(began), err
}

// Measures are those of one ranking, or the means of many, down to a rank k.
type Measures struct {
	Recall  float64 // share of the relevant passages that are among the first k
	NDCG    float64 // linear gain, as trec_eval's ndcg_cut
	MRR     float64 // 1 / the rank of the first relevant passage; 0 if that rank is above k
	HitRate float64 // 1 if one of the first k passages is relevant
}

// MeasuresAt returns the measures of one ranking: distinct ids, best first. Relevant ids have a grade above 0.
func MeasuresAt(ranked []string, relevant map[string]int, k int) (m Measures) {
	if len(relevant) == 0 {
		return m
	}
	found, dcg := 0, 0.0
	for i, id := range ranked[:min(k, len(ranked))] {
		grade := relevant[id]
		if grade == 0 {
			continue
		}
		if found++; found == 1 {
			m.MRR, m.HitRate = 1/float64(i+1), 1
		}
		dcg += gain(grade, i)
	}
	m.Recall, m.NDCG = float64(found)/float64(len(relevant)), dcg/ideal(relevant, k)
	return m
}

// Row is the measures of one way over many questions.
type Row struct {
	Measures
	Questions int
	Mean      float64 // ms
	P50       float64
	P99       float64

	latencies []time.Duration
}

// Add adds the measures of one question, and the time that it took.
func (r *Row) Add(m Measures, took time.Duration) {
	r.Recall += m.Recall
	r.NDCG += m.NDCG
	r.MRR += m.MRR
	r.HitRate += m.HitRate
	r.Questions++
	r.latencies = append(r.latencies, took)
}

// Finish turns sums into means.
func (r *Row) Finish() {
	n := float64(max(r.Questions, 1))
	for _, v := range []*float64{&r.Recall, &r.NDCG, &r.MRR, &r.HitRate} {
		*v /= n
	}
	total := time.Duration(0)
	for _, d := range r.latencies {
		total += d
	}
	r.Mean = float64(total.Microseconds()) / 1000 / n
	r.P50, r.P99 = percentile(r.latencies, .5), percentile(r.latencies, .99)
}

// Ranked returns passages as a ranking of the labels that gold uses: documents by their name or URL ("manual.pdf"), or pages of
// them ("manual.pdf#page=3"). A passage yields each label of gold that it is the first to match. One that matches none yields
// its page if gold names pages, else its document, so that finding a document again does not move others down.
func Ranked(passages []retrieval.Passage, gold map[string]int) []string {
	pages := false
	for label := range gold {
		pages = pages || strings.Contains(label, pageMark)
	}
	var ranked []string
	add := func(label string) {
		if !slices.Contains(ranked, label) {
			ranked = append(ranked, label)
		}
	}
	for i := range passages {
		p, met := &passages[i], false
		for label := range labels(p) {
			if gold[label] > 0 {
				met = true
				add(label)
			}
		}
		switch {
		case met:
		case pages:
			add(withPage(p.Document.Name, p.Chunk.PageAt(0)))
		default:
			add(p.Document.Name)
		}
	}
	return ranked
}

// pageMark stands between a document and the number of a page.
const pageMark = "#page="

// labels ranges over the labels that gold may use for a passage: its pages, in order, and its document.
func labels(p *retrieval.Passage) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range []string{p.Document.Name, p.Document.URL} {
			if name == "" {
				continue
			}
			last := 0
			for _, s := range p.Chunk.Spans {
				if s.Page == last {
					continue
				}
				if last = s.Page; !yield(withPage(name, s.Page)) {
					return
				}
			}
			if !yield(name) {
				return
			}
		}
	}
}

// withPage returns the label of a page, or of the document where it has none.
func withPage(name string, page int) string {
	if page == 0 {
		return name
	}
	return name + pageMark + strconv.Itoa(page)
}
