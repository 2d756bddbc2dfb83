package llm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
	"parley/internal/llm/openai"
)

// upstreamModel returns the model of an upstream that fails as fault says, by the call's number.
func upstreamModel(t *testing.T, fault func(n int) string) (llm.Model, *llmtest.Upstream) {
	up := llmtest.NewUpstream(t)
	up.Fault = fault
	p, err := openai.New(openai.Config{BaseURL: up.URL, HTTP: llmtest.HTTPClient(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p, up
}

// clock is a time that only sleeping moves.
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
	got := llmtest.Ask(t.Context(), retrier(c).Wrap(m), llmtest.Question("m"))
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
	got := llmtest.Ask(t.Context(), retrier(c).Wrap(m), llmtest.Question("m"))
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
		got := llmtest.Ask(t.Context(), retrier(&clock{}).Wrap(m), llmtest.Question("m"))
		if got.Err == nil || got.Text != "tok0 tok1 tok2 tok3 tok4 " || up.Calls() != 1 {
			t.Errorf("%s: %q, %v after %d calls", fault, got.Text, got.Err, up.Calls())
		}
	}
}

func TestRetry_AfterAnEventThatSaidNothing(t *testing.T) {
	m := llmtest.Fails(broke)
	m.Steps = append([]llmtest.Step{{Chunk: llm.Chunk{Model: "m", Vendor: &llm.Vendor{ID: "first"}}}}, m.Steps...)
	got := llmtest.Ask(t.Context(), retrier(&clock{}).Wrap(m), llm.Request{})
	if got.Chunks != 0 || len(m.Requests()) != 3 || !errors.Is(got.Err, broke) {
		t.Errorf("%d chunks, %v after %d calls", got.Chunks, got.Err, len(m.Requests()))
	}
}

func TestRetry_TriesNothingAgainThatCannotHelp(t *testing.T) {
	for name, err := range map[string]error{
		"refused":         &llm.Error{Status: 400, Err: errors.New("bad")},
		"filtered":        &llm.Error{Retryable: true, Filtered: true, Err: errors.New("bad")},
		"too long a wait": &llm.Error{Status: 429, Retryable: true, RetryAfter: time.Minute, Err: errors.New("bad")},
		"another error":   errors.New("bad"),
	} {
		m := llmtest.Fails(err)
		got := llmtest.Ask(t.Context(), retrier(&clock{}).Wrap(m), llm.Request{})
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
		if got := llmtest.Ask(ctx, retrier(&clock{}).Wrap(m), llm.Request{}); got.Err == nil || len(m.Requests()) != 1 {
			t.Errorf("%s: %v after %d calls", name, got.Err, len(m.Requests()))
		}
		cancel()
	}
}

func TestRetry_EndsItsWaitWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := llm.NewRetrier(llm.RetryOptions{Base: time.Hour, Random: func() float64 { cancel(); return 0.5 }})
	if got := llmtest.Ask(ctx, r.Wrap(llmtest.Fails(broke)), llm.Request{}); got.Err == nil {
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
	m = retrier(&clock{}).Wrap(m)
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
		{Model: retries.Wrap(breakers.Wrap(first, "openai:big")), Name: "big", Key: "openai:big"},
		{Model: retries.Wrap(breakers.Wrap(second, "other:small")), Name: "small", Key: "other:small"},
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
	down, up := breakers.Wrap(llmtest.Fails(broke), "e"), breakers.Wrap(llmtest.Says("hi"), "e")
	for range 5 {
		_ = llmtest.Ask(t.Context(), down, llm.Request{})
	}
	got := llmtest.Ask(t.Context(), up, llm.Request{})
	e, ok := errors.AsType[*llm.Error](got.Err)
	if !ok || e.Retryable || e.RetryAfter != 10*time.Second {
		t.Errorf("while open: %+v", got.Err)
	}
	if got := llmtest.Ask(t.Context(), breakers.Wrap(llmtest.Says("hi"), "other"), llm.Request{}); got.Err != nil {
		t.Errorf("another endpoint: %v", got.Err)
	}
	_ = c.Sleep(t.Context(), 10*time.Second)
	for range 2 {
		if got := llmtest.Ask(t.Context(), up, llm.Request{}); got.Err != nil {
			t.Errorf("probe: %v", got.Err)
		}
	}
}

func TestBreaker_LetsOneProbeThrough(t *testing.T) {
	c := &clock{}
	breakers := llm.NewBreakers(llm.BreakerOptions{Now: c.Now})
	for range 5 {
		_ = llmtest.Ask(t.Context(), breakers.Wrap(llmtest.Fails(broke), "e"), llm.Request{})
	}
	_ = c.Sleep(t.Context(), 10*time.Second)
	m := llmtest.Fails(broke)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _ = llmtest.Ask(t.Context(), breakers.Wrap(m, "e"), llm.Request{}) })
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
		m := llm.NewBreakers(llm.BreakerOptions{Now: (&clock{}).Now}).Wrap(c.model, "e")
		for range 20 {
			_ = llmtest.Ask(t.Context(), m, llm.Request{})
		}
		if opened := len(c.model.Requests()) == 5; opened != c.opens {
			t.Errorf("%s: %d of 20 calls were made", name, len(c.model.Requests()))
		}
	}
}

func TestBreaker_HoldsNoMoreThanItMust(t *testing.T) {
	breakers := llm.NewBreakers(llm.BreakerOptions{})
	for i := range 5000 {
		_ = llmtest.Ask(t.Context(), breakers.Wrap(llmtest.Fails(broke), fmt.Sprint("e", i)), llm.Request{})
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
	m := llm.Chain([]llm.Link{{Model: retrier(&clock{}).Wrap(first)}, {Model: second}}, nil)
	for range m.Stream(t.Context(), llm.Request{}) {
		break
	}
	if first.Unfinished() != 1 || first.Active() != 0 || len(second.Requests()) != 0 {
		t.Errorf("unfinished %d, active %d", first.Unfinished(), first.Active())
	}
}
