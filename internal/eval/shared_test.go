package eval

import (
	"context"
	"testing"

	"parley/test/needs"
)

// goal is a least value of a measure of one form of the queries.
type goal struct {
	dataset, form, measure string
	least                  float64
}

// goals are those of the data sets of passages.
var goals = []goal{
	{"scifact", "last_turn", "nDCG@10", 0.68},
	{"cacm", "last_turn", "MAP", 0.31},
	{"mtrag-fiqa", "human_rewrite", "R@10", 0.27},
	{"mtrag-fiqa", "rewrite", "R@10", 0.25},
	{"mtrag-govt", "rewrite", "R@10", 0.65},
}

// measuring skips a test that is about quality on large data sets.
func measuring(t *testing.T) {
	t.Helper()
	if needs.Race || testing.Short() {
		t.Skip("indexes whole data sets")
	}
}

func TestRank_ReachesItsGoals(t *testing.T) {
	measuring(t)
	for _, dataset := range []string{"scifact", "cacm", "mtrag-fiqa", "mtrag-govt"} {
		t.Run(dataset, func(t *testing.T) {
			d := load(t, shared(t, "data/"+dataset))
			p := newProduct(t)
			p.index(t, d)
			rankings, err := Rank(context.Background(), p.Env, d)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range goals {
				if g.dataset != dataset {
					continue
				}
				reached := false
				for _, r := range rankings {
					if r.Form == g.form {
						t.Logf("%s of %s: %.4f", g.measure, g.form, measures(r)[g.measure])
						reached = measures(r)[g.measure] >= g.least
					}
				}
				if !reached {
					t.Errorf("%s of %s is below %v", g.measure, g.form, g.least)
				}
			}
		})
	}
}
