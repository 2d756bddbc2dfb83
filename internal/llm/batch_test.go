package llm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
)

// embedder is a scripted embedder.
type embedder func(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error)

func (e embedder) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	return e(ctx, req)
}

// lengths embeds a text as its length, and records the requests.
type lengths struct {
	mu       sync.Mutex
	requests []llm.EmbedRequest
}

func (l *lengths) Embed(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, req)
	out := llm.Embeddings{Model: "lengths-1", Usage: llm.Usage{Input: len(req.Texts)}}
	for _, text := range req.Texts {
		out.Vectors = append(out.Vectors, []float32{float32(len(text)), 1})
	}
	return out, nil
}

// calls returns the number of texts of each call, largest batch first.
func (l *lengths) calls() map[int]int {
	counts := map[int]int{}
	for _, r := range l.requests {
		counts[len(r.Texts)]++
	}
	return counts
}

func texts(n int) (list []string) {
	for i := range n {
		list = append(list, strings.Repeat("x", i%50+1))
	}
	return list
}

func TestBatched_SplitsTextsAndKeepsTheirOrder(t *testing.T) {
	for name, c := range map[string]struct {
		limits llm.EmbedLimits
		texts  []string
		want   map[int]int // keys are numbers of texts, values numbers of calls
	}{
		"one text":                   {llm.EmbedLimits{}, texts(1), map[int]int{1: 1}},
		"limits not known":           {llm.EmbedLimits{}, texts(100), map[int]int{32: 3, 4: 1}},
		"as many as there may be":    {llm.EmbedLimits{Texts: 10}, texts(20), map[int]int{10: 2}},
		"far more than is sensible":  {llm.EmbedLimits{Texts: 1 << 20}, texts(300), map[int]int{128: 2, 44: 1}},
		"by tokens":                  {llm.EmbedLimits{Texts: 10, Tokens: 25}, []string{strings.Repeat("x", 40), strings.Repeat("x", 60), strings.Repeat("x", 4)}, map[int]int{2: 1, 1: 1}},
		"a text longer than a batch": {llm.EmbedLimits{Tokens: 1}, []string{"12345", "12345"}, map[int]int{1: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var inner lengths
			got, err := llm.Batched(&inner, llm.BatchOptions{Limits: c.limits}).Embed(t.Context(),
				llm.EmbedRequest{Model: "m", Texts: c.texts, Purpose: llm.ForQuery, Dimensions: 2})
			if err != nil {
				t.Fatal(err)
			}
			want := llm.Embeddings{Model: "lengths-1", Usage: llm.Usage{Input: len(c.texts)}}
			for _, text := range c.texts {
				want.Vectors = append(want.Vectors, []float32{float32(len(text)), 1})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, inner.calls()); diff != "" {
				t.Errorf("calls by size (-want +got):\n%s", diff)
			}
			for _, r := range inner.requests {
				if r.Model != "m" || r.Purpose != llm.ForQuery || r.Dimensions != 2 {
					t.Errorf("a call was made with %+v", r)
				}
			}
		})
	}
}

func TestBatched_CutsWhatIsTooLong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"as long as it may be": {"123456789012345", "123456789012345"},
		"too long":             {"1234567890123456", "123456789012345"},
		"within a character":   {"1234567890123é", "1234567890123é"},
		"through a character":  {"12345678901234é", "12345678901234"},
		"at a space":           {"1234567890123 5678", "1234567890123 5"},
		"blanks at the end":    {"12345           567890", "12345"},
	} {
		var inner lengths
		e := llm.Batched(&inner, llm.BatchOptions{Limits: llm.EmbedLimits{TextTokens: 10}})
		if _, err := e.Embed(t.Context(), llm.EmbedRequest{Texts: []string{c.text}}); err != nil {
			t.Fatal(err)
		}
		if got := inner.requests[0].Texts[0]; got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.text, got, c.want)
		}
	}
	var inner lengths
	long := strings.Repeat("word ", 10_000)
	if _, err := llm.Batched(&inner, llm.BatchOptions{}).Embed(t.Context(), llm.EmbedRequest{Texts: []string{long}}); err != nil {
		t.Fatal(err)
	}
	if n := len(inner.requests[0].Texts[0]); n > 8191*3/2 || n < 8191 {
		t.Errorf("without limits, %d bytes were left", n)
	}
}

func TestBatched_RefusesRequestsThatHaveNoVectors(t *testing.T) {
	for name, texts := range map[string][]string{"no text": nil, "an empty text": {"a", ""}} {
		var inner lengths
		_, err := llm.Batched(&inner, llm.BatchOptions{}).Embed(t.Context(), llm.EmbedRequest{Texts: texts})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Retryable || len(inner.requests) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// S14 of shared/guides/HARDENING.md.
func TestBatched_RejectsWhatCannotBeRight(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, c := range map[string]struct {
		vectors    [][]float32
		dimensions int
		says       string
	}{
		"too few":             {[][]float32{{1}}, 0, "1 vectors for 2 texts"},
		"too many":            {[][]float32{{1}, {1}, {1}}, 0, "3 vectors for 2 texts"},
		"none":                {nil, 0, "0 vectors for 2 texts"},
		"lengths differ":      {[][]float32{{1, 2}, {1}}, 0, "vector 1 has 1 dimensions, not 2"},
		"not what was wanted": {[][]float32{{1, 2}, {1, 2}}, 3, "vector 0 has 2 dimensions, not 3"},
		"not a number":        {[][]float32{{1, 2}, {1, nan}}, 2, "vector 1 has a value that is not a finite number"},
		"infinite":            {[][]float32{{inf, 2}, {1, 2}}, 0, "vector 0 has a value that is not a finite number"},
		"zero":                {[][]float32{{1, 2}, {0, 0}}, 0, "vector 1 is zero"},
		"empty":               {[][]float32{{}, {}}, 0, "vector 0 is zero"},
	} {
		inner := embedder(func(context.Context, llm.EmbedRequest) (llm.Embeddings, error) {
			return llm.Embeddings{Vectors: c.vectors}, nil
		})
		got, err := llm.Batched(inner, llm.BatchOptions{}).Embed(t.Context(), llm.EmbedRequest{Texts: []string{"a", "b"}, Dimensions: c.dimensions})
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Retryable || !strings.Contains(e.Error(), c.says) || got.Vectors != nil {
			t.Errorf("%s: %v, %v; want %q", name, got.Vectors, err, c.says)
		}
	}
}

func TestBatched_RejectsBatchesOfDifferentLengths(t *testing.T) {
	var n atomic.Int32
	inner := embedder(func(context.Context, llm.EmbedRequest) (llm.Embeddings, error) {
		return llm.Embeddings{Vectors: [][]float32{make([]float32, n.Add(1))}}, nil
	})
	wrapped := embedder(func(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
		out, err := inner.Embed(ctx, req)
		out.Vectors[0][0] = 1
		return out, err
	})
	_, err := llm.Batched(wrapped, llm.BatchOptions{Limits: llm.EmbedLimits{Texts: 1}}).Embed(t.Context(), llm.EmbedRequest{Texts: texts(2)})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Retryable || !strings.Contains(e.Error(), "dimensions") {
		t.Errorf("error = %v", err)
	}
}

func TestBatched_ReplacesAUsageThatCannotBe(t *testing.T) {
	req := llm.EmbedRequest{Texts: []string{"eight by", "tes each"}}
	estimate := llm.Usage{Input: 4, Estimated: true}
	for _, c := range []struct{ reported, want llm.Usage }{
		{llm.Usage{Input: 5}, llm.Usage{Input: 5}},
		{llm.Usage{Input: 5, Output: 7, Cached: 3}, llm.Usage{Input: 5}},
		{llm.Usage{Input: 500, Estimated: true}, llm.Usage{Input: 500, Estimated: true}},
		{llm.Usage{}, estimate},
		{llm.Usage{Input: -5}, estimate},
		{llm.Usage{Input: 1000}, estimate},
		{llm.Usage{Input: 1e18}, estimate},
	} {
		inner := embedder(func(context.Context, llm.EmbedRequest) (llm.Embeddings, error) {
			return llm.Embeddings{Vectors: [][]float32{{1}, {2}}, Usage: c.reported}, nil
		})
		got, err := llm.Batched(inner, llm.BatchOptions{}).Embed(t.Context(), req)
		if err != nil || got.Usage != c.want {
			t.Errorf("%+v became %+v, %v; want %+v", c.reported, got.Usage, err, c.want)
		}
	}
}

func TestBatched_MakesAFewCallsAtOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active, most atomic.Int32
		inner := embedder(func(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
			now := active.Add(1)
			defer active.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			time.Sleep(time.Second)
			return llm.Embeddings{Vectors: [][]float32{{1}}}, nil
		})
		start := time.Now()
		e := llm.Batched(inner, llm.BatchOptions{Limits: llm.EmbedLimits{Texts: 1}, Parallel: 3})
		if _, err := e.Embed(t.Context(), llm.EmbedRequest{Texts: texts(9)}); err != nil {
			t.Fatal(err)
		}
		if most.Load() != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("%d calls at one time, done after %v", most.Load(), time.Since(start))
		}
	})
}

func TestBatched_EndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broke := &llm.Error{Status: 500, Err: errors.New("broke")}
		var calls, cancelled atomic.Int32
		inner := embedder(func(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
			if calls.Add(1) == 2 {
				time.Sleep(time.Second)
				return llm.Embeddings{}, fmt.Errorf("call: %w", broke)
			}
			<-ctx.Done()
			cancelled.Add(1)
			return llm.Embeddings{}, ctx.Err()
		})
		e := llm.Batched(inner, llm.BatchOptions{Limits: llm.EmbedLimits{Texts: 1}, Parallel: 3})
		_, err := e.Embed(t.Context(), llm.EmbedRequest{Texts: texts(20)})
		if !errors.Is(err, broke) || calls.Load() != 3 || cancelled.Load() != 2 {
			t.Errorf("%v after %d calls, of which %d were cancelled", err, calls.Load(), cancelled.Load())
		}
	})
}

func TestBatched_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var calls atomic.Int32
		inner := embedder(func(ctx context.Context, _ llm.EmbedRequest) (llm.Embeddings, error) {
			calls.Add(1)
			<-ctx.Done()
			return llm.Embeddings{}, fmt.Errorf("call: %w", ctx.Err())
		})
		for _, n := range []int{1, 20} {
			e := llm.Batched(inner, llm.BatchOptions{Limits: llm.EmbedLimits{Texts: 1}, Parallel: 3})
			if _, err := e.Embed(ctx, llm.EmbedRequest{Texts: texts(n)}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d texts: error = %v", n, err)
			}
		}
		if calls.Load() != 1 {
			t.Errorf("%d calls, want none after the context had ended", calls.Load())
		}
	})
}

func BenchmarkBatched_1000TextsOf1536Dimensions(b *testing.B) {
	vector := make([]float32, 1536)
	vector[1535] = 1
	inner := embedder(func(_ context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
		out := llm.Embeddings{Vectors: make([][]float32, len(req.Texts)), Usage: llm.Usage{Input: len(req.Texts)}}
		for i := range out.Vectors {
			out.Vectors[i] = vector
		}
		return out, nil
	})
	list := make([]string, 1000)
	for i := range list {
		list[i] = strings.Repeat("word ", 200)
	}
	e := llm.Batched(inner, llm.BatchOptions{})
	for b.Loop() {
		if _, err := e.Embed(b.Context(), llm.EmbedRequest{Texts: list}); err != nil {
			b.Fatal(err)
		}
	}
}
