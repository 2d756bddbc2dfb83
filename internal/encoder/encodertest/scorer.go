// Package encodertest compares the program's models with what other programs make of the same weights.
package encodertest

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"parley/internal/encoder"
)

// pair is a question and a passage with the tokens and the score of another program: test/encoderweights/reference.py or
// trainmany.py.
type pair struct {
	Question, Passage string
	Tokens            []int32
	Second            int
	Score             float64
}

// Scorer checks that a scorer reads the pairs in testdata/reference.json with the tokens and, but for most, the scores of the other
// program.
func Scorer(t *testing.T, s *encoder.Scorer, most float64) {
	raw, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []pair
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	sum, greatest := 0.0, 0.0
	for _, p := range all {
		if got, second := s.Tokens(p.Question, p.Passage); !slices.Equal(got, p.Tokens) || second != p.Second {
			t.Errorf("%q, %q:\ngot  %v %d\nwant %v %d", p.Question, p.Passage, got, second, p.Tokens, p.Second)
		}
		got, err := s.Score(t.Context(), p.Question, p.Passage)
		if err != nil {
			t.Fatal(err)
		}
		d := math.Abs(got - p.Score)
		sum, greatest = sum+d, max(greatest, d)
		if d > most {
			t.Errorf("%q, %.60q: got %.2f, want %.2f", p.Question, p.Passage, got, p.Score)
		}
	}
	t.Logf("mean difference %.3f, greatest %.3f", sum/float64(len(all)), greatest)
}
