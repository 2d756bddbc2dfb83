package lexicaltest_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/internal/lexical/lexicaltest"
	"parley/internal/text"
	"parley/test/needs"
)

// shape is the properties of text that determine the cost of indexing and searching it.
type shape struct {
	passages   int
	words      float64 // words of a passage, without function words
	vocabulary int
	df         []float64 // shares of passages that contain a word, by rank of the word
	asked      []float64 // the same for the words of questions, ascending
	summed     []float64 // their sums by question, ascending
}

func measure(passages, questions []string) shape {
	s := shape{passages: len(passages)}
	df := make(map[string]float64)
	for _, p := range passages {
		terms := text.Terms(p)
		s.words += float64(len(terms)) / float64(len(passages))
		slices.Sort(terms)
		for _, t := range slices.Compact(terms) {
			df[t] += 1 / float64(len(passages))
		}
	}
	s.vocabulary = len(df)
	for _, share := range df {
		s.df = append(s.df, share)
	}
	slices.SortFunc(s.df, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, q := range questions {
		terms, sum := text.Terms(q), 0.0
		slices.Sort(terms)
		for _, t := range slices.Compact(terms) {
			s.asked = append(s.asked, df[t])
			sum += df[t]
		}
		s.summed = append(s.summed, sum)
	}
	slices.Sort(s.asked)
	slices.Sort(s.summed)
	return s
}

func generated(passages, questions int) shape {
	g := lexicaltest.New(1)
	texts := make([]string, passages)
	for i := range texts {
		if i%10 == 0 {
			g.Document()
		}
		texts[i] = g.Passage()
	}
	asked := make([]string, questions)
	for i := range asked {
		asked[i] = g.LastTurn()
	}
	return measure(texts, asked)
}

// The generator's text is shaped like MTRAG's forum posts.
func TestGenerator_IsShapedLikeTheSharedSet(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "mtrag-fiqa")
	if _, err := os.Stat(dir); err != nil {
		needs.Missing(t, "the folder shared")
	}
	want := measure(texts(t, filepath.Join(dir, "corpus.jsonl")), texts(t, filepath.Join(dir, "queries.jsonl")))
	got := generated(want.passages, 2000)
	near(t, "words of a passage", got.words, want.words, 1.1)
	near(t, "vocabulary", float64(got.vocabulary), float64(want.vocabulary), 1.25)
	for _, rank := range []int{1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} {
		near(t, "share of the passages that hold a word of some rank", got.df[rank-1], want.df[rank-1], 1.6)
	}
	for _, q := range []float64{.1, .25, .5, .75, .9, .95} {
		near(t, "share of the passages that hold a word of a question", quantile(got.asked, q), quantile(want.asked, q), 1.5)
	}
	for _, q := range []float64{.25, .5, .75, .9} {
		near(t, "postings of a question", quantile(got.summed, q), quantile(want.summed, q), 1.5)
	}
}

func TestGenerator_TheSameSeedMakesTheSameText(t *testing.T) {
	a, b, c := lexicaltest.New(7), lexicaltest.New(7), lexicaltest.New(8)
	for range 20 {
		x, y, z := a.Passage()+a.LastTurn(), b.Passage()+b.LastTurn(), c.Passage()+c.LastTurn()
		if x != y {
			t.Fatal("two generators with one seed differ")
		}
		if x == z {
			t.Fatal("two seeds give the same text")
		}
	}
}

// near fails the test if a value is off by more than factor.
func near(t *testing.T, what string, got, want, factor float64) {
	t.Helper()
	if math.Abs(math.Log(got/want)) > math.Log(factor) {
		t.Errorf("%s: %.5f, want %.5f", what, got, want)
	}
}

func quantile(ascending []float64, q float64) float64 {
	return ascending[int(q*float64(len(ascending)-1))]
}

// texts returns the field "text" of each line of a file.
func texts(t *testing.T, path string) (all []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line.Text)
	}
	return all
}
