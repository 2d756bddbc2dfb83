package eval

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"parley/internal/retrieval"
	"parley/test/needs"
)

// fusion is a way to make one ranking of two.
type fusion struct {
	name string
	fuse func(words []hit, vectors scores) []hit
}

// reciprocal sums 1/(k+rank) over both rankings; share is the weight of the vectors.
func reciprocal(k, share float64) fusion {
	return fusion{fmt.Sprintf("RRF, k %.0f, vectors %.1f", k, share), func(words []hit, v scores) []hit {
		sum := map[int]float64{}
		for i, h := range v.best[:min(100, len(v.best))] {
			sum[h.chunk] += share / (k + float64(i+1))
		}
		for i, h := range words[:min(100, len(words))] {
			sum[h.chunk] += (1 - share) / (k + float64(i+1))
		}
		return fused(sum)
	}}
}

// gaps says what stands for a score that one of the lists of candidates does not have.
type gaps int

const (
	zero   gaps = iota
	scored      // the real score, that of the words as far as it is among the first 1,000
)

// convex sums both scores, that of the words in relation to the best, the cosine made comparable by
// a function.
func convex(name string, share float64, g gaps, scaled func(cosine float64, v scores) float64) fusion {
	return fusion{fmt.Sprintf("%s, vectors %.1f", name, share), func(words []hit, v scores) []hit {
		byWords := map[int]float64{}
		depth := 100
		if g == scored {
			depth = 1000
		}
		for _, h := range words[:min(depth, len(words))] {
			byWords[h.chunk] = h.score / words[0].score
		}
		sum := map[int]float64{}
		for _, h := range v.best[:min(100, len(v.best))] {
			sum[h.chunk] = share*scaled(h.score, v) + (1-share)*byWords[h.chunk]
		}
		for _, h := range words[:min(100, len(words))] {
			if _, ok := sum[h.chunk]; ok {
				continue
			}
			sum[h.chunk] = (1 - share) * byWords[h.chunk]
			if g == scored {
				sum[h.chunk] += share * scaled(v.all[h.chunk], v)
			}
		}
		return fused(sum)
	}}
}

func fused(sum map[int]float64) []hit {
	var hits []hit
	for chunk, score := range sum {
		hits = append(hits, hit{chunk, score})
	}
	sortHits(hits)
	return hits
}

func unit(x float64) float64 { return min(max(x, 0), 1) }

// The ways to make a cosine scaled.
func asItIs(c float64, _ scores) float64 { return unit(c) }
func lifted(c float64, _ scores) float64 { return unit(.5 + c/2) } // as models with a narrow range give it
func minMax(c float64, v scores) float64 {
	return unit((c - v.hundredth()) / (v.best[0].score - v.hundredth()))
}
func fromMean(c float64, v scores) float64 { return unit((c - v.mean) / (v.best[0].score - v.mean)) }

func (v scores) hundredth() float64 { return v.best[min(99, len(v.best)-1)].score }

// compared are the ways that are compared. The product's own is convex and fromMean, with real scores.
func compared() []fusion {
	all := []fusion{
		{"words alone", func(words []hit, _ scores) []hit { return words }},
		{"vectors alone", func(_ []hit, v scores) []hit { return v.best }},
		reciprocal(60, .5), reciprocal(60, .7), reciprocal(10, .5), reciprocal(10, .6),
		convex("cosine as it is", .5, scored, asItIs), convex("cosine as it is", .7, scored, asItIs),
		convex("cosine of a narrow model", .7, scored, lifted),
		convex("min-max of 100", .5, zero, minMax), convex("min-max of 100", .6, zero, minMax),
		convex("mean to best, of 100", .6, zero, fromMean),
	}
	for _, share := range []float64{.5, .6, .7} {
		all = append(all, convex("mean to best", share, scored, fromMean))
	}
	return all
}

// scenario is a data set with a goal for vectors alone: a published figure of BGE-base (of a weaker
// model where that is said), or, where none is known, a share of what words alone reach.
type scenario struct {
	dataset, form, measure string
	goal, ofWords          float64
}

var scenarios = []scenario{
	{"mtrag-fiqa", "last_turn", "R@10", .367, 0},
	{"mtrag-fiqa", "human_rewrite", "R@10", .418, 0},
	{"scifact", "last_turn", "nDCG@10", .741, 0},
	{"scifact", "last_turn", "nDCG@10", .645, 0}, // MiniLM-L6
	{"mtrag-govt", "last_turn", "R@10", 0, 1.1},
	{"mtrag-govt", "human_rewrite", "R@10", 0, 1.1},
	{"mtrag-govt", "human_rewrite", "R@10", 0, .9},
	{"cacm", "last_turn", "nDCG@10", 0, 1.1},
	{"cacm", "last_turn", "nDCG@10", 0, .9},
}

// strength calibrates a scenario.
func (c scenario) strength(s *simulation) float64 {
	goal := c.goal
	if goal == 0 {
		goal = c.ofWords * measures(s.measure(func(q int) []hit { return s.queries[q].words }))[c.measure]
	}
	return s.calibrate(c.measure, goal)
}

// hybrid measures the product itself with a model: embedding, storage, search and fusion.
func (s *simulation) hybrid(t testing.TB, m model) Ranking {
	t.Helper()
	e := s.Embedder(m).(simEmbedder)
	corpus, err := retrieval.Open(t.Context(), s.db.Corpus(), nil,
		retrieval.WithEmbedding(retrieval.Embedding{Embedders: e, Model: fmt.Sprintf("sim:%p", e)}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Embed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return s.measure(func(q int) []hit {
		query := retrieval.Query{Filter: retrieval.Filter{Namespace: s.Namespace}, Text: s.queries[q].text, Limit: 100, Mode: retrieval.Hybrid}
		for _, f := range forms(context.Background(), s.Env) {
			if strings.HasSuffix(s.name, f.name) {
				query.Text, query.Context, _ = f.query(s.queries[q].Query)
			}
		}
		hits, err := corpus.Rank(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		var all []hit
		for _, h := range hits {
			all = append(all, hit{s.byKey[h.Key], h.Score})
		}
		return all
	})
}

// TestFusion_GainsOverBothRankings holds on one data set that fusion in the product does what the
// simulation says, and that this is worth having: see BenchmarkFusion_Compared.
func TestFusion_GainsOverBothRankings(t *testing.T) {
	measuring(t)
	const strength = 0.3027 // as calibrated for the third scenario
	s := simulate(t, "scifact", "last_turn")
	m := s.embed(strength, 2)
	vectorsOf := make([]scores, len(s.queries))
	for q := range s.queries {
		vectorsOf[q] = s.score(m, q)
	}
	ndcg := func(f fusion) float64 {
		return s.measure(func(q int) []hit { return f.fuse(s.queries[q].words, vectorsOf[q]) }).NDCG10
	}
	all := compared()
	words, vectors, usual := ndcg(all[0]), ndcg(all[1]), ndcg(reciprocal(60, .5))
	want := ndcg(convex("", .6, scored, fromMean))
	got := s.hybrid(t, m).NDCG10
	t.Logf("nDCG@10: words %.4f, vectors %.4f, RRF %.4f, as simulated %.4f, the product %.4f", words, vectors, usual, want, got)
	if math.Abs(got-want) > .003 {
		t.Errorf("the product reaches %.4f where the simulation of its fusion reaches %.4f", got, want)
	}
	if got < max(words, vectors)+.04 || got < usual+.02 {
		t.Errorf("%.4f by both, %.4f by words, %.4f by vectors, %.4f by reciprocal ranks", got, words, vectors, usual)
	}
}

// BenchmarkFusion_Compared prints the table that stands in docs/measurements.md.
func BenchmarkFusion_Compared(t *testing.B) {
	const seeds = 3
	all := compared()
	values := make([][]float64, len(all))
	simulations := map[string]*simulation{}
	for _, c := range scenarios {
		s := simulations[c.dataset+c.form]
		if s == nil {
			s = simulate(t, c.dataset, c.form)
			simulations[c.dataset+c.form] = s
		}
		strength := c.strength(s)
		sums := make([]float64, len(all))
		for seed := range seeds {
			m := s.embed(strength, uint64(seed+2))
			vectors := make([]scores, len(s.queries))
			for q := range s.queries {
				vectors[q] = s.score(m, q)
			}
			for i, f := range all {
				sums[i] += s.measure(func(q int) []hit { return f.fuse(s.queries[q].words, vectors[q]) }).NDCG10 / seeds
			}
		}
		for i := range all {
			values[i] = append(values[i], sums[i])
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	for i, f := range all {
		mean, worst := 0.0, math.Inf(1)
		row := ""
		for n, v := range values[i] {
			gain := v - max(values[0][n], values[1][n])
			mean, worst = mean+gain/float64(len(scenarios)), min(worst, gain)
			row += fmt.Sprintf(" %.3f |\t", v)
		}
		fmt.Fprintf(w, "| %s |\t%s %+.3f |\t%+.3f |\n", f.name, row, mean, worst)
	}
	w.Flush()
}

// TestSimulation_ErrsAsARealModelDoes prints, for the real and the simulated BGE-base on MTRAG FiQA,
// what its ten best passages have in common with those of BM25, and checks that they are near.
func TestSimulation_ErrsAsARealModelDoes(t *testing.T) {
	if needs.Race || !needs.All() {
		t.Skip("takes 40 seconds, and runs with PARLEY_TEST_ALL=1 and without the race detector")
	}
	for _, c := range []struct{ form, run string }{{"last_turn", "lastturn"}, {"human_rewrite", "rewrite"}} {
		s := simulate(t, "mtrag-fiqa", c.form)
		var goal scenario
		for _, x := range scenarios {
			if x.dataset == "mtrag-fiqa" && x.form == c.form {
				goal = x
			}
		}
		m := s.embed(goal.strength(s), 2)
		lists := readRun(t, shared(t, "data/mtrag-fiqa/runs/bge."+c.run+".tsv"))
		truth := s.resemblance(func(q int) []string { return lists[s.queries[q].ID] })
		simulated := s.resemblance(func(q int) []string { return s.passages(s.score(m, q).best) })
		t.Logf("%s: real %.3f, simulated %.3f (in common with BM25, recall of both, nDCG@10)", c.form, truth, simulated)
		for i := range truth {
			if math.Abs(truth[i]-simulated[i]) > .06 {
				t.Errorf("%s: real %.3f, simulated %.3f", c.form, truth, simulated)
			}
		}
	}
}

// resemblance returns, as means over the queries that a system has a list for, the share of its ten
// best that are among those of BM25, the recall of both tens together, and its own nDCG@10.
func (s *simulation) resemblance(list func(query int) []string) (r [3]float64) {
	n := 0.0
	var alone Ranking
	for i, q := range s.queries {
		theirs := list(i)
		if len(theirs) == 0 {
			continue
		}
		n++
		theirs = theirs[:min(10, len(theirs))]
		words := s.passages(q.words)
		words = words[:min(10, len(words))]
		for _, id := range theirs {
			if slices.Contains(words, id) {
				r[0] += .1
			}
		}
		for id := range q.Relevant {
			if slices.Contains(words, id) || slices.Contains(theirs, id) {
				r[1] += 1 / float64(len(q.Relevant))
			}
		}
		alone.add(theirs, q.Relevant)
	}
	alone.finish(nil)
	return [3]float64{r[0] / n, r[1] / n, alone.NDCG10}
}

// readRun reads "query <tab> passage <tab> rank", best first.
func readRun(t testing.TB, path string) map[string][]string {
	t.Helper()
	run := map[string][]string{}
	for line, err := range lines(path) {
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Split(string(line), "\t")
		run[f[0]] = append(run[f[0]], f[1])
	}
	return run
}

// BenchmarkFusion_WithRealRanks fuses the ranks of real models on MTRAG FiQA, of which no scores are
// known, with those of BM25, and prints what comes of it.
func BenchmarkFusion_WithRealRanks(t *testing.B) {
	for _, c := range []struct{ form, run string }{{"last_turn", "lastturn"}, {"human_rewrite", "rewrite"}} {
		s := simulate(t, "mtrag-fiqa", c.form)
		for _, system := range []string{"bge", "elser"} {
			lists := readRun(t, shared(t, "data/mtrag-fiqa/runs/"+system+"."+c.run+".tsv"))
			for _, share := range []float64{0, .5, .6, .7, .8, 1} {
				var r Ranking
				for _, q := range s.queries {
					theirs := lists[q.ID]
					if len(theirs) == 0 {
						continue
					}
					sum := map[string]float64{}
					for i, id := range theirs {
						sum[id] += share / float64(10+i+1)
					}
					for i, id := range s.passages(q.words)[:30] {
						sum[id] += (1 - share) / float64(10+i+1)
					}
					ids := make([]string, 0, len(sum))
					for id, x := range sum {
						if x > 0 {
							ids = append(ids, id)
						}
					}
					slices.SortFunc(ids, func(a, b string) int {
						if sum[a] != sum[b] {
							return int(math.Copysign(1, sum[b]-sum[a]))
						}
						return strings.Compare(a, b)
					})
					r.add(ids, q.Relevant)
				}
				r.finish(nil)
				t.Logf("%s, %s, vectors %.1f: R@10 %.3f nDCG@10 %.3f", c.form, system, share, r.Recall10, r.NDCG10)
			}
		}
	}
}

// BenchmarkFusion_WhileSomeChunksHaveNoVector prints what is lost while a share of the chunks is not
// embedded, by what stands for their cosine: so much of their lexical share.
func BenchmarkFusion_WhileSomeChunksHaveNoVector(t *testing.B) {
	for _, c := range []scenario{scenarios[1], scenarios[2], scenarios[5], scenarios[7], scenarios[8]} {
		s := simulate(t, c.dataset, c.form)
		m := s.embed(c.strength(s), 2)
		for _, share := range []float64{.05, .3, .7, .95} {
			rnd := rand.New(rand.NewPCG(5, 5))
			vectorless := make([]bool, len(s.keys))
			for i := range vectorless {
				vectorless[i] = rnd.Float64() < share
			}
			row := ""
			for _, stand := range []float64{0, .25, .5, .75, 1} {
				r := s.measure(func(q int) []hit { return s.masked(q, m, vectorless, stand) })
				row += fmt.Sprintf(" %.3f", r.NDCG10)
			}
			t.Logf("%s, %.0f%% without a vector:%s", s.name, 100*share, row)
		}
	}
}

// masked is the product's fusion while some chunks have no vector.
func (s *simulation) masked(query int, m model, vectorless []bool, stand float64) []hit {
	v := s.score(m, query)
	mean, n, best := 0.0, 0.0, math.Inf(-1)
	for c, x := range v.all {
		if !vectorless[c] {
			mean, n, best = mean+x, n+1, max(best, x)
		}
	}
	mean /= n
	words := s.queries[query].words
	byWords := map[int]float64{}
	for _, h := range words[:min(1000, len(words))] {
		byWords[h.chunk] = h.score / words[0].score
	}
	sum := map[int]float64{}
	add := func(chunk int) {
		like := stand * byWords[chunk]
		if !vectorless[chunk] {
			like = unit((v.all[chunk] - mean) / (best - mean))
		}
		sum[chunk] = .6*like + .4*byWords[chunk]
	}
	for _, h := range words[:min(100, len(words))] {
		add(h.chunk)
	}
	liked := 0
	for _, h := range v.best {
		if !vectorless[h.chunk] && liked < 100 {
			add(h.chunk)
			liked++
		}
	}
	return fused(sum)
}
