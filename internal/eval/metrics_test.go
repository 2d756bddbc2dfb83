package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/test/needs"
)

// wantNear compares measures by name.
func wantNear(t *testing.T, got, want map[string]float64, within float64) {
	t.Helper()
	for name, w := range want {
		if math.IsNaN(got[name]) || math.Abs(got[name]-w) > within {
			t.Errorf("%s = %v, want %v", name, got[name], w)
		}
	}
}

func measures(r Ranking) map[string]float64 {
	return map[string]float64{
		"R@1": r.Recall1, "R@3": r.Recall3, "R@5": r.Recall5, "R@10": r.Recall10,
		"nDCG@10": r.NDCG10, "MRR@10": r.MRR10, "MAP": r.MAP,
	}
}

// fill returns ids of which none is relevant, with others at given ranks from 1.
func fill(n int, at map[int]string) []string {
	ids := make([]string, n)
	for i := range ids {
		if ids[i] = at[i+1]; ids[i] == "" {
			ids[i] = fmt.Sprintf("none%d", i)
		}
	}
	return ids
}

func TestRanking_MeasuresOneQuery(t *testing.T) {
	log2 := math.Log2
	for _, c := range []struct {
		name     string
		ranked   []string
		relevant map[string]int
		want     map[string]float64
	}{
		{
			"all first", []string{"a", "b", "x"}, map[string]int{"a": 2, "b": 1},
			map[string]float64{"R@1": 0.5, "R@3": 1, "R@5": 1, "R@10": 1, "nDCG@10": 1, "MRR@10": 1, "MAP": 1},
		},
		{
			"the lesser grade first", []string{"b", "a"}, map[string]int{"a": 2, "b": 1},
			map[string]float64{"R@1": 0.5, "nDCG@10": (1 + 2/log2(3)) / (2 + 1/log2(3)), "MRR@10": 1, "MAP": 1},
		},
		{
			"second, fourth and missing", fill(10, map[int]string{2: "a", 4: "c"}), map[string]int{"a": 1, "b": 3, "c": 1},
			map[string]float64{
				"R@1": 0, "R@3": 1. / 3, "R@5": 2. / 3, "R@10": 2. / 3,
				"nDCG@10": (1/log2(3) + 1/log2(5)) / (3 + 1/log2(3) + 1/log2(4)), "MRR@10": 0.5, "MAP": (1./2 + 2./4) / 3,
			},
		},
		{
			"only beyond the tenth", fill(20, map[int]string{11: "a"}), map[string]int{"a": 1},
			map[string]float64{"R@1": 0, "R@10": 0, "nDCG@10": 0, "MRR@10": 0, "MAP": 1. / 11},
		},
		{
			"tenth", fill(20, map[int]string{10: "a", 11: "b"}), map[string]int{"a": 1, "b": 1},
			map[string]float64{"R@5": 0, "R@10": 0.5, "nDCG@10": (1 / log2(11)) / (1 + 1/log2(3)), "MRR@10": 0.1, "MAP": (1./10 + 2./11) / 2},
		},
		{
			"nothing found", nil, map[string]int{"a": 1},
			map[string]float64{"R@1": 0, "R@10": 0, "nDCG@10": 0, "MRR@10": 0, "MAP": 0},
		},
		{
			"more relevant than places", fill(10, map[int]string{1: "a"}),
			map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1, "k": 1, "l": 1},
			map[string]float64{"R@1": 1. / 12, "R@10": 1. / 12, "nDCG@10": 1 / idealOfTen(), "MRR@10": 1, "MAP": 1. / 12},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Ranking
			r.add(c.ranked, c.relevant)
			r.finish(nil)
			wantNear(t, measures(r), c.want, 1e-12)
		})
	}
}

// idealOfTen is the gain of ten documents of grade 1 in the first ten places.
func idealOfTen() float64 {
	sum := 0.0
	for i := range 10 {
		sum += 1 / math.Log2(float64(i)+2)
	}
	return sum
}

func TestRanking_IsTheMeanOverAllQueries(t *testing.T) {
	var r Ranking
	r.add([]string{"a"}, map[string]int{"a": 1})
	r.add([]string{"x", "a"}, map[string]int{"a": 1})
	r.add(nil, map[string]int{"a": 1})
	r.add([]string{"x"}, map[string]int{"a": 1})
	r.finish([]time.Duration{4 * time.Millisecond, time.Millisecond, 3 * time.Millisecond, 2 * time.Millisecond})
	if r.Queries != 4 || r.P50 != 3 || r.P99 != 4 {
		t.Errorf("%d queries, p50 %v, p99 %v", r.Queries, r.P50, r.P99)
	}
	wantNear(t, measures(r), map[string]float64{
		"R@1": 0.25, "R@3": 0.5, "MRR@10": 1.5 / 4, "MAP": 1.5 / 4, "nDCG@10": (1 + 1/math.Log2(3)) / 4,
	}, 1e-12)
}

func TestRanking_OfNothingIsZero(t *testing.T) {
	var r Ranking
	r.finish(nil)
	if r != (Ranking{}) {
		t.Errorf("%+v", r)
	}
}

func TestShare_CountsGoldPagesOnce(t *testing.T) {
	for _, c := range []struct {
		gold, got string
		distance  int
		want      float64
	}{
		{"a.pdf#page=3 a.pdf#page=9", "a.pdf#page=3 a.pdf#page=3", 0, 0.5},
		{"a.pdf#page=3", "a.pdf#page=4 b.pdf#page=3", 0, 0},
		{"a.pdf#page=3", "a.pdf#page=4", 1, 1},
		{"a.pdf#page=3", "a.pdf#page=2", 1, 1},
		{"a.pdf#page=3", "a.pdf#page=5", 1, 0},
		{"a.pdf#page=3", "b.pdf#page=4", 1, 0},
		{"a.md", "a.md b.md", 0, 1},
		{"a.md", "a.md#page=1", 1, 0},
		{"a.pdf#page=x", "a.pdf#page=x", 1, 1},
		{"", "a.md", 0, 0},
	} {
		if got := share(strings.Fields(c.gold), strings.Fields(c.got), c.distance); got != c.want {
			t.Errorf("share(%q, %q, %d) = %v, want %v", c.gold, c.got, c.distance, got, c.want)
		}
	}
}

// The measures are those of another implementation, on rankings of the product and on random ones.
func TestRanking_AgreesWithTheSharedTool(t *testing.T) {
	tool := shared(t, "tools/eval_metrics.py")
	python, err := exec.LookPath("python3")
	if err != nil {
		needs.Missing(t, "python3")
	}
	d := load(t, "testdata/small")
	p := newProduct(t)
	p.index(t, d)
	runs := p.lists(t, d)
	delete(runs, "human_rewrite") // not of all queries: the tool would count the others as 0
	runs["random"] = randomLists(d)
	for name, lists := range runs {
		t.Run(name, func(t *testing.T) {
			var r Ranking
			run := filepath.Join(t.TempDir(), "run")
			var b strings.Builder
			for _, l := range lists {
				r.add(l.ids, l.query.Relevant)
				for i, id := range l.ids {
					fmt.Fprintf(&b, "%s Q0 %s %d %d parley\n", l.query.ID, id, i+1, 10_000-i)
				}
			}
			r.finish(nil)
			if err := os.WriteFile(run, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(python, tool, "testdata/small/qrels.tsv", run).Output()
			if err != nil {
				t.Fatal(err)
			}
			theirs := make(map[string]float64)
			for field := range strings.FieldsSeq(string(out)) {
				if key, value, ok := strings.Cut(field, "="); ok {
					if v, err := strconv.ParseFloat(value, 64); err == nil {
						theirs[key] = v
					}
				}
			}
			if theirs["queries"] != float64(r.Queries) || len(theirs) < 9 {
				t.Fatalf("%d queries here, there %s", r.Queries, out)
			}
			ours := measures(r)
			for _, key := range []string{"R@1", "R@3", "R@5", "R@10", "nDCG@10", "MRR@10"} {
				if math.Abs(ours[key]-theirs[key]) > 1e-4 {
					t.Errorf("%s = %v, the tool says %v", key, ours[key], theirs[key])
				}
			}
		})
	}
}

// randomLists ranks passages at random, with the relevant ones more often in front.
func randomLists(d *Dataset) []list {
	rnd := rand.New(rand.NewPCG(1, 2))
	var lists []list
	for _, q := range d.Queries {
		var ids []string
		for id := range q.Relevant {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for i := range 8 + rnd.IntN(20) {
			ids = append(ids, fmt.Sprintf("none%d", i))
		}
		rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		lists = append(lists, list{query: q, ids: ids})
	}
	return lists
}
