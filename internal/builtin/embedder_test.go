package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/llm"
)

func TestEmbedder_MakesVectorsOfQuestionsAndDocuments(t *testing.T) {
	embed := func(purpose llm.Purpose, texts ...string) [][]float32 {
		out, err := Embedder{}.Embed(t.Context(), llm.EmbedRequest{Model: "multilingual-e5-small", Texts: texts, Purpose: purpose})
		if err != nil {
			t.Fatal(err)
		}
		return out.Vectors
	}
	question := embed(llm.ForQuery, "Where do I park my car?")[0]
	passages := embed(llm.ForDocument, "Vehicles may be left in the garage behind the building.", "The library lends books for four weeks.")
	near, far := dot(question, passages[0]), dot(question, passages[1])
	if len(question) != 384 || near < far+.04 {
		t.Errorf("%d dimensions; the right passage has %.3f, the wrong one %.3f", len(question), near, far)
	}
}

func TestEmbedder_CountsTheTokensOfEachText(t *testing.T) {
	used := func(texts ...string) int {
		out, err := Embedder{}.Embed(t.Context(), llm.EmbedRequest{Model: "multilingual-e5-small", Texts: texts})
		if err != nil {
			t.Fatal(err)
		}
		return llm.EmbedUsage(llm.EmbedRequest{Texts: texts}, out.Usage).Input
	}
	if one, three, long := used("a"), used("a", "b", "c"), used("a cat"); one == 0 || three != 3*one || long != one+1 {
		t.Errorf("%d, %d and %d tokens", one, three, long)
	}
}

func TestEmbedder_RefusesWhatItHasNot(t *testing.T) {
	for _, req := range []llm.EmbedRequest{
		{Model: "bge-large", Texts: []string{"a"}},
		{Model: "multilingual-e5-small", Texts: []string{"a"}, Dimensions: 256},
	} {
		if _, err := (Embedder{}).Embed(t.Context(), req); err == nil {
			t.Errorf("%+v was taken", req)
		}
	}
}

func TestLikenessShare_BelongsToTheModel(t *testing.T) {
	if got := LikenessShare("builtin:multilingual-e5-small"); got != .3 {
		t.Errorf("got %g", got)
	}
	if got := LikenessShare("openai:text-embedding-3-small"); got != 0 {
		t.Errorf("another model has %g", got)
	}
}

// BenchmarkReader reads 16 blocks, alone and while vectors are made in the background.
func BenchmarkReader(b *testing.B) {
	r := NewReader()
	if r == nil {
		b.Skip("this processor has no kernels for a reader")
	}
	texts := slices.Repeat([]string{strings.Repeat("Employees get leave after a year. ", 10)}, maxRead)
	for _, busy := range []bool{false, true} {
		b.Run(fmt.Sprintf("embedding=%t", busy), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			var embedding sync.WaitGroup
			defer embedding.Wait()
			defer cancel()
			if busy {
				embedding.Go(func() {
					req := llm.EmbedRequest{Model: "multilingual-e5-small", Purpose: llm.ForDocument, Background: true, Texts: []string{strings.Repeat("Employees get leave. ", 60)}}
					for ctx.Err() == nil {
						_, _ = Embedder{}.Embed(ctx, req)
					}
				})
			}
			for b.Loop() {
				if _, err := r.English(ctx, "How many days of leave do I get?", texts); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				time.Sleep(100 * time.Millisecond) // the embedder goes on
				b.StartTimer()
			}
		})
	}
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
