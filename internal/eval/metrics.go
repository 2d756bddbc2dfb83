package eval

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Ranking holds the measures of one way to search, each the mean over all queries.
type Ranking struct {
	Retriever string  `json:"retriever"` // "bm25", the key of an embedding model, or both
	Mode      string  `json:"mode"`      // text, vectors, hybrid
	Form      string  `json:"form"`      // last_turn, rewrite, human_rewrite
	Queries   int     `json:"queries"`
	Recall1   float64 `json:"recall@1"`
	Recall3   float64 `json:"recall@3"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	NDCG10    float64 `json:"ndcg@10"` // linear gain, as trec_eval's ndcg_cut
	MRR10     float64 `json:"mrr@10"`
	MAP       float64 `json:"map"` // over the first 1,000 passages
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// add adds the measures of one query. ranked holds distinct document ids, best first.
func (r *Ranking) add(ranked []string, relevant map[string]int) {
	at := func(k int) Measures { return MeasuresAt(ranked, relevant, k) }
	r.Recall1 += at(1).Recall
	r.Recall3 += at(3).Recall
	r.Recall5 += at(5).Recall
	ten := at(10)
	r.Recall10 += ten.Recall
	r.NDCG10 += ten.NDCG
	r.MRR10 += ten.MRR
	found, precision := 0, 0.0
	for i, id := range ranked {
		if relevant[id] > 0 {
			found++
			precision += float64(found) / float64(i+1)
		}
	}
	r.MAP += precision / float64(len(relevant))
	r.Queries++
}

// gain returns the value of a grade at a place, counted from 0.
func gain(grade, place int) float64 { return float64(grade) / math.Log2(float64(place)+2) }

// ideal is the gain of the best ranking down to rank k.
func ideal(relevant map[string]int, k int) (sum float64) {
	grades := slices.Sorted(maps.Values(relevant))
	slices.Reverse(grades)
	for i, g := range grades[:min(k, len(grades))] {
		sum += gain(g, i)
	}
	return sum
}

// finish turns sums into means.
func (r *Ranking) finish(latencies []time.Duration) {
	n := float64(max(r.Queries, 1))
	for _, v := range []*float64{&r.Recall1, &r.Recall3, &r.Recall5, &r.Recall10, &r.NDCG10, &r.MRR10, &r.MAP} {
		*v /= n
	}
	r.P50, r.P99 = percentile(latencies, .5), percentile(latencies, .99)
}

// percentile returns the p-quantile in milliseconds.
func percentile(d []time.Duration, p float64) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	i := min(int(p*float64(len(d))), len(d)-1)
	return float64(d[i].Microseconds()) / 1000
}

// PageReport holds the measures of a data set of documents, means over all questions.
type PageReport struct {
	Questions     int          `json:"questions"`
	Unanswerable  int          `json:"unanswerable"` // of the questions: they have no gold page, and count in RefusedRight alone
	Searches      []PageSearch `json:"searches"`
	CitedGold     float64      `json:"cited_gold"`         // share of gold pages that the answer cites
	CitePrecision float64      `json:"citation_precision"` // share of all cited pages that are gold
	PagesCited    float64      `json:"pages_cited"`        // per answer
	MostCited     int          `json:"most_pages_cited"`   // in one answer
	CitedAny      float64      `json:"cited_any"`          // share of the questions whose answer cites a gold page
	Refused       int          `json:"refused"`            // answers without a citation
	RefusedRight  int          `json:"refused_right"`      // those of them to questions without an answer
}

// PageSearch holds the measures of one way to search for pages.
type PageSearch struct {
	Retriever string  `json:"retriever"`   // as in Ranking
	Mode      string  `json:"mode"`        // text, vectors, hybrid
	Document1 float64 `json:"document@1"`  // share of questions whose best passage is of a gold page's document
	Gold1     float64 `json:"gold_page@1"` // share of facts that the pages of the best passage prove
	Gold3     float64 `json:"gold_page@3"` // share of gold pages among the pages of the best 3 passages
	Gold5     float64 `json:"gold_page@5"`
	Gold10    float64 `json:"gold_page@10"`
	Near3     float64 `json:"gold_page_within_1@3"` // the same, a page before or after counting too
	Near5     float64 `json:"gold_page_within_1@5"`
	Near10    float64 `json:"gold_page_within_1@10"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

// share returns the part of gold that got holds, pages within the given distance counting.
func share(gold, got []string, distance int) float64 {
	hit := 0
	for _, g := range gold {
		if slices.ContainsFunc(got, func(c string) bool { return within(g, c, distance) }) {
			hit++
		}
	}
	return float64(hit) / float64(max(len(gold), 1))
}
