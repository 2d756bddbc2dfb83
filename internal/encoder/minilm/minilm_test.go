package minilm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/internal/encoder"
	"parley/internal/encoder/encodertest"
)

func scorer(t testing.TB) *encoder.Scorer {
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScorer_DoesAsTheReference(t *testing.T) { encodertest.Scorer(t, scorer(t), 1) }

func TestTokens_OfWhatIsTooLongAreCutOff(t *testing.T) {
	tokens, second := scorer(t).Tokens(strings.Repeat("long ", 600), strings.Repeat("longer ", 600))
	if len(tokens) != 512 || second != 256 {
		t.Errorf("%d tokens, the passage from %d on; want 512 and 256", len(tokens), second)
	}
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
