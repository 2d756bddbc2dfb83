package turn_test

import (
	"context"
	"strings"
	"testing"

	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/store"
)

// words counts a token for each word.
func words(text string) int { return len(strings.Fields(text)) }

// settled returns the usage of the only call in the ledger.
func settled(t *testing.T, s *store.State) llm.Usage {
	t.Helper()
	all := entries(t, s, "")
	if len(all) != 1 {
		t.Fatalf("%d entries", len(all))
	}
	return all[0].Usage
}

func TestMeter_CountsWhatAProviderOnlyEstimates(t *testing.T) {
	req := llm.Request{Model: "large", Messages: []llm.Message{llm.Text(llm.User, "one two three")}}
	guess := llm.Chunk{Usage: &llm.Usage{Input: 100, Output: 100, Estimated: true}}
	text := llm.Chunk{Text: "four five six seven", Reasoning: "hm hm"}
	for name, c := range map[string]struct {
		model model
		leave bool
	}{
		"guessed":   {chunks(nil, text, guess), false},
		"not said":  {chunks(nil, text), false},
		"cancelled": {chunks(nil, text, guess), true},
	} {
		s := open(t).State()
		m := ledger.New(s, ledger.Options{Count: words}).Meter("openai", c.model)
		want := llm.Usage{Input: 3 + 4, Output: 4 + 2, Reasoning: 2, Estimated: true}
		for chunk := range m.Stream(t.Context(), req) {
			if chunk.Usage != nil && *chunk.Usage != want {
				t.Errorf("%s: %+v was passed on", name, *chunk.Usage)
			}
			if c.leave {
				break
			}
		}
		if got := settled(t, s); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestMeter_EstimatesWhatIsTooLongToCount(t *testing.T) {
	counted := 0
	count := func(text string) int { counted += len(text); return words(text) }
	long := strings.Repeat("word ", 1<<20/5)
	req := llm.Request{Model: "large", Messages: []llm.Message{llm.Text(llm.User, "one two"), llm.Text(llm.User, long)}}
	s := open(t).State()
	m := ledger.New(s, ledger.Options{Count: count}).Meter("openai", chunks(nil, llm.Chunk{Text: "a b"}, llm.Chunk{Text: long}))
	if got := llmtest.Ask(t.Context(), m, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	got, estimate := settled(t, s), llm.EstimateTokens(long)
	if got.Input != 8+2+estimate || got.Output != 2+estimate || counted > 100 {
		t.Errorf("%+v, of which %d bytes were counted", got, counted)
	}
}

type gives struct{}

func (gives) Embed(context.Context, llm.EmbedRequest) (llm.Embeddings, error) {
	return llm.Embeddings{Vectors: [][]float32{{1}, {1}}}, nil
}

func (gives) Rerank(context.Context, llm.RerankRequest) (llm.Ranking, error) {
	return llm.Ranking{Scores: []float64{0, 1}}, nil
}

func TestMeter_CountsTheTextsOfAnEmbedderAndAReranker(t *testing.T) {
	s := open(t).State()
	l := ledger.New(s, ledger.Options{Count: words})
	out, err := llm.Guards{Meter: l.Of("openai")}.Embedder(gives{}).Embed(t.Context(), llm.EmbedRequest{Texts: []string{"a b", "c"}})
	if want := (llm.Usage{Input: 3, Estimated: true}); err != nil || out.Usage != want || settled(t, s) != want {
		t.Errorf("embedder: %+v, %v", out.Usage, err)
	}
	s = open(t).State()
	l = ledger.New(s, ledger.Options{Count: words})
	ranking, err := llm.Guards{Meter: l.Of("openai")}.Reranker(gives{}).Rerank(t.Context(), llm.RerankRequest{Query: "q r", Documents: []string{"a b", "c"}})
	if want := (llm.Usage{Input: 3 + 2*2, Estimated: true}); err != nil || ranking.Usage != want || settled(t, s) != want {
		t.Errorf("reranker: %+v, %v", ranking.Usage, err)
	}
}
