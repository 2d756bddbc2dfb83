package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
	"parley/internal/llm/upstream"
)

// upstreamModel returns the model of an upstream that fails as fault says, by the call's number.
func upstreamModel(t *testing.T, fault func(n int) string) (llm.Model, *llmtest.Upstream) {
	up := llmtest.NewUpstream(t)
	up.Fault = fault
	p, err := openai.New(openai.Config{BaseURL: up.URL, Upstream: upstream.Config{HTTP: llmtest.HTTPClient(t)}})
	if err != nil {
		t.Fatal(err)
	}
	return p, up
}

// clock is a time that moves only when somebody sleeps.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func retrier(c *clock) *llm.Retrier {
	return llm.NewRetrier(llm.RetryOptions{Sleep: c.Sleep, Random: func() float64 { return 0.5 }})
}

var broke = &llm.Error{Status: 500, Retryable: true, Err: errors.New("broke")}

// R5 of shared/guides/HARDENING.md.
func TestRetry_WaitsAsLongAsTheUpstreamAsksFor(t *testing.T) {
	m, up := upstreamModel(t, func(n int) string { return []string{"429", "503", "none"}[n] })
	c := &clock{}
	got := llmtest.Ask(t.Context(), llm.Guards{Retrier: retrier(c)}.Model(m), llmtest.Question("m"))
	if got.Err != nil || got.Text == "" || up.Calls() != 3 {
		t.Errorf("%q, %v after %d calls", got.Text, got.Err, up.Calls())
	}
	want := []time.Duration{7*time.Second + 125*time.Millisecond, 7*time.Second + 250*time.Millisecond}
	if diff := cmp.Diff(want, c.slept); diff != "" {
		t.Error(diff)
	}
}

func TestRetry_EndsAfterThreeAttempts(t *testing.T) {
	m, up := upstreamModel(t, func(int) string { return "500" })
	c := &clock{}
	got := llmtest.Ask(t.Context(), llm.Guards{Retrier: retrier(c)}.Model(m), llmtest.Question("m"))
	if e, ok := errors.AsType[*llm.Error](got.Err); !ok || e.Status != 500 || up.Calls() != 3 {
		t.Errorf("%v after %d calls", got.Err, up.Calls())
	}
	want := []time.Duration{187500 * time.Microsecond, 375 * time.Millisecond}
	if diff := cmp.Diff(want, c.slept); diff != "" {
		t.Error(diff)
	}
}

func TestRetry_NeverAfterTheFirstToken(t *testing.T) {
	for _, fault := range []string{"cut", "eof", "errchunk", "garbage"} {
		m, up := upstreamModel(t, func(int) string { return fault })
		got := llmtest.Ask(t.Context(), llm.Guards{Retrier: retrier(&clock{})}.Model(m), llmtest.Question("m"))
		if got.Err == nil || got.Text != "tok0 tok1 tok2 tok3 tok4 " || up.Calls() != 1 {
			t.Errorf("%s: %q, %v after %d calls", fault, got.Text, got.Err, up.Calls())
		}
	}
}

func TestRetry_AfterAnEventThatSaidNothing(t *testing.T) {
	m := llmtest.Fails(broke)
	m.Steps = append([]llmtest.Step{{Chunk: llm.Chunk{Model: "m", Vendor: &llm.Vendor{ID: "first"}}}}, m.Steps...)
	got := llmtest.Ask(t.Context(), llm.Guards{Retrier: retrier(&clock{})}.Model(m), llm.Request{})
	if got.Chunks != 0 || len(m.Requests()) != 3 || !errors.Is(got.Err, broke) {
		t.Errorf("%d chunks, %v after %d calls", got.Chunks, got.Err, len(m.Requests()))
	}
}

func TestRetry_TriesNothingAgainThatCannotHelp(t *testing.T) {
	for name, err := range map[string]error{
		"refused":         &llm.Error{Status: 400, Err: errors.New("bad")},
		"filtered":        &llm.Error{Retryable: true, Filtered: true, Err: errors.New("bad")},
		"silent":          &llm.Error{Retryable: true, Silent: true, Err: errors.New("bad")},
		"too long a wait": &llm.Error{Status: 429, Retryable: true, RetryAfter: time.Minute, Err: errors.New("bad")},
		"another error":   errors.New("bad"),
	} {
		m := llmtest.Fails(err)
		got := llmtest.Ask(t.Context(), llm.Guards{Retrier: retrier(&clock{})}.Model(m), llm.Request{})
		if !errors.Is(got.Err, err) || len(m.Requests()) != 1 {
			t.Errorf("%s: %v after %d calls", name, got.Err, len(m.Requests()))
		}
	}
	for name, c := range map[string]struct {
		ctx func() (context.Context, context.CancelFunc)
	}{
		"the caller left":          {func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }},
		"the deadline comes first": {func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), 5*time.Second) }},
	} {
		ctx, cancel := c.ctx()
		m := llmtest.Fails(&llm.Error{Retryable: true, RetryAfter: 6 * time.Second, Err: errors.New("bad")})
		if name == "the caller left" {
			m.Steps = append([]llmtest.Step{{Do: cancel}}, m.Steps...)
		}
		if got := llmtest.Ask(ctx, llm.Guards{Retrier: retrier(&clock{})}.Model(m), llm.Request{}); got.Err == nil || len(m.Requests()) != 1 {
			t.Errorf("%s: %v after %d calls", name, got.Err, len(m.Requests()))
		}
		cancel()
	}
}

func TestRetry_EndsItsWaitWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := llm.NewRetrier(llm.RetryOptions{Base: time.Hour, Random: func() float64 { cancel(); return 0.5 }})
	if got := llmtest.Ask(ctx, llm.Guards{Retrier: r}.Model(llmtest.Fails(broke)), llm.Request{}); got.Err == nil {
		t.Error("no error")
	}
}

// R7 of shared/guides/HARDENING.md.
func TestRetry_KeepsToItsBudgetInAStorm(t *testing.T) {
	const requests = 1000
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	m, up := upstreamModel(t, func(int) string {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < 0.5 {
			return "500"
		}
		return "none"
	})
	m = llm.Guards{Retrier: retrier(&clock{})}.Model(m)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range requests / 10 {
				_ = llmtest.Ask(t.Context(), m, llmtest.Question("m"))
			}
		})
	}
	wg.Wait()
	if calls := up.Calls(); calls > requests*12/10+10 || calls < requests*11/10 {
		t.Errorf("%d calls for %d requests", calls, requests)
	}
}

// R6 of shared/guides/HARDENING.md.
func TestBreakerAndChain_AnswerWhileAnEndpointIsDown(t *testing.T) {
	first, up := upstreamModel(t, func(int) string { return "500" })
	second := llmtest.Says("I ", "answer")
	c := &clock{}
	retries, breakers := retrier(c), llm.NewBreakers(llm.BreakerOptions{Now: c.Now})
	var failed []string
	m := llm.Chain([]llm.Link{
		{Model: llm.Guards{Endpoint: "openai:big", Retrier: retries, Breakers: breakers}.Model(first), Name: "big", Key: "openai:big"},
		{Model: llm.Guards{Endpoint: "other:small", Retrier: retries, Breakers: breakers}.Model(second), Name: "small", Key: "other:small"},
	}, func(_ context.Context, from, to llm.Link, _ error) { failed = append(failed, from.Key+" "+to.Key) })
	for i := range 100 {
		got := llmtest.Ask(t.Context(), m, llmtest.Question("big"))
		if got.Err != nil || got.Text != "I answer" || got.Model != "scripted-1" {
			t.Fatalf("request %d: %q by %q, %v", i, got.Text, got.Model, got.Err)
		}
		if i == 1 && up.Calls() != 5 {
			t.Errorf("the breaker opened after %d calls, want 5", up.Calls())
		}
		_ = c.Sleep(t.Context(), time.Second)
	}
	if calls := up.Calls(); calls < 5+9 || calls > 5+10 {
		t.Errorf("%d calls of an endpoint that was down for 100 s", calls)
	}
	if name := second.Requests()[0].Model; name != "small" || len(failed) != 100 || failed[0] != "openai:big other:small" {
		t.Errorf("asked as %q; told of %d failures, first %q", name, len(failed), failed[0])
	}
}

func TestBreaker_ClosesWithTheFirstAnswer(t *testing.T) {
	c := &clock{}
	breakers := llm.NewBreakers(llm.BreakerOptions{Now: c.Now})
	down, up := llm.Guards{Endpoint: "e", Breakers: breakers}.Model(llmtest.Fails(broke)), llm.Guards{Endpoint: "e", Breakers: breakers}.Model(llmtest.Says("hi"))
	for range 5 {
		_ = llmtest.Ask(t.Context(), down, llm.Request{})
	}
	got := llmtest.Ask(t.Context(), up, llm.Request{})
	e, ok := errors.AsType[*llm.Error](got.Err)
	if !ok || e.Retryable || e.RetryAfter != 10*time.Second {
		t.Errorf("while open: %+v", got.Err)
	}
	router := llm.Router{Breakers: breakers}
	if open := router.Open(); len(open) != 1 || open[0] != "e" {
		t.Errorf("open are %q", open)
	}
	if got := llmtest.Ask(t.Context(), llm.Guards{Endpoint: "other", Breakers: breakers}.Model(llmtest.Says("hi")), llm.Request{}); got.Err != nil {
		t.Errorf("another endpoint: %v", got.Err)
	}
	_ = c.Sleep(t.Context(), 10*time.Second)
	for range 2 {
		if got := llmtest.Ask(t.Context(), up, llm.Request{}); got.Err != nil {
			t.Errorf("probe: %v", got.Err)
		}
	}
	if open := router.Open(); len(open) != 0 || (&llm.Router{}).Open() != nil {
		t.Errorf("still open are %q", open)
	}
}

func TestBreaker_LetsOneProbeThrough(t *testing.T) {
	c := &clock{}
	breakers := llm.NewBreakers(llm.BreakerOptions{Now: c.Now})
	for range 5 {
		_ = llmtest.Ask(t.Context(), llm.Guards{Endpoint: "e", Breakers: breakers}.Model(llmtest.Fails(broke)), llm.Request{})
	}
	_ = c.Sleep(t.Context(), 10*time.Second)
	m := llmtest.Fails(broke)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_ = llmtest.Ask(t.Context(), llm.Guards{Endpoint: "e", Breakers: breakers}.Model(m), llm.Request{})
		})
	}
	wg.Wait()
	if n := len(m.Requests()); n != 1 {
		t.Errorf("%d calls, want one probe", n)
	}
}

func TestBreaker_CountsWhatMeansThatAnEndpointIsDown(t *testing.T) {
	for name, c := range map[string]struct {
		model *llmtest.Model
		opens bool
	}{
		"server error":      {llmtest.Fails(broke), true},
		"streams cut off":   {llmtest.Fails(broke, "half "), true},
		"limit of calls":    {llmtest.Fails(&llm.Error{Status: 429, Retryable: true, Err: errors.New("busy")}), false},
		"refused requests":  {llmtest.Fails(&llm.Error{Status: 400, Err: errors.New("bad")}), false},
		"filtered requests": {llmtest.Fails(&llm.Error{Filtered: true, Retryable: true, Err: errors.New("no")}), false},
		"callers that left": {llmtest.Fails(context.Canceled), false},
	} {
		m := llm.Guards{Endpoint: "e", Breakers: llm.NewBreakers(llm.BreakerOptions{Now: (&clock{}).Now})}.Model(c.model)
		for range 20 {
			_ = llmtest.Ask(t.Context(), m, llm.Request{})
		}
		if opened := len(c.model.Requests()) == 5; opened != c.opens {
			t.Errorf("%s: %d of 20 calls were made", name, len(c.model.Requests()))
		}
	}
}

// Streams that were cut off end before the streams that began at the same time and go on. So many
// failures follow each other, although the endpoint answers most calls.
func TestBreaker_WaitsForTheStreamsThatMayYetEndTheRow(t *testing.T) {
	const streams, row = 20, 12 // failures are no fewer than the streams left from the tenth on
	breakers := llm.NewBreakers(llm.BreakerOptions{Now: (&clock{}).Now})
	cut := llm.Guards{Endpoint: "e", Breakers: breakers}.Model(llmtest.Fails(broke, "half "))
	var under []func() (llm.Chunk, error, bool)
	for range streams {
		next, stop := iter.Pull2(cut.Stream(t.Context(), llm.Request{}))
		defer stop()
		if _, err, ok := next(); err != nil || !ok {
			t.Fatalf("the stream does not begin: %v", err)
		}
		under = append(under, next)
	}
	opened := 0
	for n, next := range under[:row] {
		if _, err, _ := next(); err == nil {
			t.Fatal("the stream is not cut off")
		}
		_, _, _ = next() // it has ended
		if opened == 0 && len((&llm.Router{Breakers: breakers}).Open()) > 0 {
			opened = n + 1
		}
	}
	if opened < streams/2 || opened > streams/2+1 {
		t.Errorf("the breaker of %d streams opened after %d failures", streams, opened)
	}
}

func TestBreaker_HoldsNoMoreThanItMust(t *testing.T) {
	breakers := llm.NewBreakers(llm.BreakerOptions{})
	for i := range 5000 {
		_ = llmtest.Ask(t.Context(), llm.Guards{Endpoint: fmt.Sprint("e", i), Breakers: breakers}.Model(llmtest.Fails(broke)), llm.Request{})
	}
	if n := breakers.Len(); n > 1000 {
		t.Errorf("%d endpoints are held", n)
	}
}

func TestChain_AsksNobodyElse(t *testing.T) {
	for name, c := range map[string]*llmtest.Model{
		"after the first token": llmtest.Fails(broke, "half "),
		"when a filter refused": llmtest.Fails(&llm.Error{Filtered: true, Err: errors.New("no")}),
		"when the caller left":  llmtest.Fails(context.Canceled),
	} {
		second := llmtest.Says("hi")
		m := llm.Chain([]llm.Link{{Model: c, Name: "a"}, {Model: second, Name: "b"}}, nil)
		if got := llmtest.Ask(t.Context(), m, llm.Request{}); got.Err == nil || len(second.Requests()) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestChain_EndsWithTheLastError(t *testing.T) {
	last := &llm.Error{Status: 503, Err: errors.New("last")}
	m := llm.Chain([]llm.Link{{Model: llmtest.Fails(broke)}, {Model: llmtest.Fails(last)}}, nil)
	if got := llmtest.Ask(t.Context(), m, llm.Request{}); !errors.Is(got.Err, last) {
		t.Errorf("error = %v", got.Err)
	}
}

func TestChain_StopsWhenTheConsumerLeaves(t *testing.T) {
	first, second := llmtest.Says("a", "b"), llmtest.Says("c")
	m := llm.Chain([]llm.Link{{Model: llm.Guards{Retrier: retrier(&clock{})}.Model(first)}, {Model: second}}, nil)
	for range m.Stream(t.Context(), llm.Request{}) {
		break
	}
	if first.Unfinished() != 1 || first.Active() != 0 || len(second.Requests()) != 0 {
		t.Errorf("unfinished %d, active %d", first.Unfinished(), first.Active())
	}
}

// tries returns an embedder and a reranker that fail with the errors, one for each call, and then
// answer. calls counts the calls of both.
func tries(errs ...error) (e embedder, r reranker, calls *int) {
	calls = new(int)
	next := func() error {
		*calls++
		if *calls <= len(errs) {
			return errs[*calls-1]
		}
		return nil
	}
	e = func(context.Context, llm.EmbedRequest) (llm.Embeddings, error) {
		if err := next(); err != nil {
			return llm.Embeddings{}, err
		}
		return llm.Embeddings{Vectors: [][]float32{{1}}}, nil
	}
	r = func(context.Context, llm.RerankRequest) (llm.Ranking, error) {
		if err := next(); err != nil {
			return llm.Ranking{}, err
		}
		return llm.Ranking{Scores: []float64{1}}, nil
	}
	return e, r, calls
}

// pieces make one call of an embedder or a reranker that is wrapped in a retrier and in breakers.
var pieces = map[string]func(ctx context.Context, r *llm.Retrier, b *llm.Breakers, e embedder, m reranker) error{
	"embedder": func(ctx context.Context, r *llm.Retrier, b *llm.Breakers, e embedder, _ reranker) error {
		out, err := llm.Guards{Endpoint: "e", Retrier: r, Breakers: b}.Embedder(e).Embed(ctx, llm.EmbedRequest{Texts: []string{"a"}})
		if err == nil && len(out.Vectors) != 1 {
			return errors.New("the answer was lost")
		}
		return err
	},
	"reranker": func(ctx context.Context, r *llm.Retrier, b *llm.Breakers, _ embedder, m reranker) error {
		out, err := llm.Guards{Endpoint: "e", Retrier: r, Breakers: b}.Reranker(m).Rerank(ctx, twoDocuments)
		if err == nil && len(out.Scores) != 1 {
			return errors.New("the answer was lost")
		}
		return err
	},
}

func TestRetry_TriesCallsInOnePieceAgain(t *testing.T) {
	busy := &llm.Error{Status: 429, Retryable: true, RetryAfter: 2 * time.Second, Err: errors.New("busy")}
	bad := &llm.Error{Status: 400, Err: errors.New("bad")}
	for kind, call := range pieces {
		for name, c := range map[string]struct {
			errs  []error
			calls int
			want  error
			slept time.Duration
		}{
			"answered at once":   {nil, 1, nil, 0},
			"answered at last":   {[]error{busy, broke}, 3, nil, 2*time.Second + 125*time.Millisecond + 375*time.Millisecond},
			"never answered":     {[]error{broke, broke, busy}, 3, busy, 187500*time.Microsecond + 375*time.Millisecond},
			"refused":            {[]error{bad}, 1, bad, 0},
			"refused in the end": {[]error{broke, bad}, 2, bad, 187500 * time.Microsecond},
		} {
			e, m, calls := tries(c.errs...)
			clock := &clock{}
			err := call(t.Context(), retrier(clock), llm.NewBreakers(llm.BreakerOptions{}), e, m)
			var slept time.Duration
			for _, d := range clock.slept {
				slept += d
			}
			if !errors.Is(err, c.want) || err != nil && c.want == nil || *calls != c.calls || slept != c.slept {
				t.Errorf("%s, %s: %v after %d calls and %v", kind, name, err, *calls, slept)
			}
		}
	}
}

func TestRetry_SharesItsBudgetAmongAllKindsOfCalls(t *testing.T) {
	r := retrier(&clock{})
	failing := func() (embedder, reranker, *int) { return tries(slices.Repeat([]error{broke}, 1000)...) }
	for range 5 { // two retries each
		_ = llmtest.Ask(t.Context(), llm.Guards{Retrier: r}.Model(llmtest.Fails(broke)), llm.Request{})
	}
	total := 0
	for range 10 {
		for _, call := range pieces {
			e, m, calls := failing()
			_ = call(t.Context(), r, llm.NewBreakers(llm.BreakerOptions{Failures: 1 << 30}), e, m)
			total += *calls
		}
	}
	if total > 20+20/5+1 || total < 20+20/5 {
		t.Errorf("%d attempts of 20 calls without a budget", total)
	}
}

func TestBreaker_KeepsCallsInOnePieceFromWhatIsDown(t *testing.T) {
	for kind, call := range pieces {
		c := &clock{}
		breakers := llm.NewBreakers(llm.BreakerOptions{Now: c.Now})
		e, m, calls := tries(slices.Repeat([]error{broke}, 6)...)
		once := func() error {
			return call(t.Context(), llm.NewRetrier(llm.RetryOptions{Attempts: 1}), breakers, e, m)
		}
		for range 20 {
			_ = once()
		}
		if *calls != 5 {
			t.Errorf("%s: the breaker opened after %d calls, want 5", kind, *calls)
		}
		if err, ok := errors.AsType[*llm.Error](once()); !ok || err.Retryable || err.RetryAfter != 10*time.Second {
			t.Errorf("%s: while open: %+v", kind, err)
		}
		_ = c.Sleep(t.Context(), 10*time.Second)
		if err := once(); !errors.Is(err, broke) || *calls != 6 {
			t.Errorf("%s: probe: %v", kind, err)
		}
		_ = c.Sleep(t.Context(), 10*time.Second)
		for range 3 {
			if err := once(); err != nil {
				t.Errorf("%s: after an answer: %v", kind, err)
			}
		}
		if breakers.Len() != 0 {
			t.Errorf("%s: %d endpoints are held after an answer", kind, breakers.Len())
		}
	}
}

func TestBreaker_DoesNotCountWhatWasRefusedInOnePiece(t *testing.T) {
	for name, err := range map[string]error{
		"limit of calls": &llm.Error{Status: 429, Retryable: true, Err: errors.New("busy")},
		"refused":        &llm.Error{Status: 400, Err: errors.New("bad")},
		"left":           context.Canceled,
	} {
		for kind, call := range pieces {
			e, m, calls := tries(slices.Repeat([]error{err}, 20)...)
			breakers := llm.NewBreakers(llm.BreakerOptions{})
			for range 20 {
				_ = call(t.Context(), llm.NewRetrier(llm.RetryOptions{Attempts: 1}), breakers, e, m)
			}
			if *calls != 20 {
				t.Errorf("%s, %s: %d of 20 calls were made", kind, name, *calls)
			}
		}
	}
}
