package minilm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/internal/encoder"
)

// reference is a question and a passage with the score of other programs: test/encoderweights/reference.py.
type reference struct {
	Question, Passage string
	Tokens            []int32
	Second            int
	Score             float64
}

func references(t testing.TB) []reference {
	raw, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []reference
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func scorer(t testing.TB) *encoder.Scorer {
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTokens_AreThoseOfTheReference(t *testing.T) {
	for _, r := range references(t) {
		if got, second := scorer(t).Tokens(r.Question, r.Passage); !slices.Equal(got, r.Tokens) || second != r.Second {
			t.Errorf("%q, %q:\ngot  %v %d\nwant %v %d", r.Question, r.Passage, got, second, r.Tokens, r.Second)
		}
	}
}

func TestTokens_OfWhatIsTooLongAreCutOff(t *testing.T) {
	tokens, second := scorer(t).Tokens(strings.Repeat("long ", 600), strings.Repeat("longer ", 600))
	if len(tokens) != 512 || second != 256 {
		t.Errorf("%d tokens, the passage from %d on; want 512 and 256", len(tokens), second)
	}
}

func TestScore_IsThatOfTheReference(t *testing.T) {
	s := scorer(t)
	sum, most := 0.0, 0.0
	for _, r := range references(t) {
		got, err := s.Score(context.Background(), r.Question, r.Passage)
		if err != nil {
			t.Fatal(err)
		}
		d := math.Abs(got - r.Score)
		sum, most = sum+d, max(most, d)
		if d > 1 {
			t.Errorf("%q, %.60q: got %.2f, want %.2f", r.Question, r.Passage, got, r.Score)
		}
	}
	t.Logf("mean difference %.3f, greatest %.3f", sum/float64(len(references(t))), most)
}

func TestScores_TellWhatAnswers(t *testing.T) {
	got, err := scorer(t).Scores(context.Background(), "How long may I stay away when my child is ill?", []string{
		"Children may visit the office on Fridays.",
		"Parents get ten days of leave a year to look after a sick son or daughter.",
		"Employees get twenty-five days of paid leave a year, and five more after ten years.",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got[1] < 2 || got[0] > -2 || got[2] > -2 {
		t.Errorf("got %.1f; only the second passage answers", got)
	}
}

func TestScores_EndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := scorer(t).Scores(ctx, "question", []string{"text", "text", "text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkScores shows what it costs to read blocks of some lengths with a question.
func BenchmarkScores(b *testing.B) {
	s := scorer(b)
	for _, words := range []int{20, 60, 200} {
		passages := slices.Repeat([]string{strings.Repeat("leave ", words)}, 16)
		b.Run(fmt.Sprintf("passages=16/words=%d", words), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Scores(context.Background(), "How many days of leave do I get?", passages); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
