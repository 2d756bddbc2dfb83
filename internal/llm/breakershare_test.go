package llm_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

// flaky is a model that fails a share of its calls. It counts the calls.
type flaky struct {
	rate   float64
	random *rand.Rand
	calls  int
}

// Stream implements llm.Model.
func (f *flaky) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		f.calls++
		if f.random.Float64() < f.rate {
			yield(llm.Chunk{}, broke)
			return
		}
		_ = yield(llm.Chunk{Text: "hi", Model: "m", FinishReason: "stop"}, nil)
	}
}

// storm counts the results of requests, ten a second, through retries and a breaker.
type storm struct {
	served, calls int
	refused       int // by the breaker, without a call
}

func (f *flaky) storm(t *testing.T, c *clock, m llm.Model, requests int) (s storm) {
	before := f.calls
	for range requests {
		began := f.calls
		switch got := llmtest.Ask(t.Context(), m, llm.Request{}); {
		case got.Err == nil:
			s.served++
		case f.calls == began:
			s.refused++
		}
		_ = c.Sleep(t.Context(), 100*time.Millisecond)
	}
	s.calls = f.calls - before
	return s
}

// At every rate of failures the breaker lets through what can succeed; it leaves an endpoint alone that
// never answers (R6 and R7 of shared/guides/HARDENING.md). The figures are the mean of 20 storms.
func TestBreaker_LetsThroughWhatCanSucceed(t *testing.T) {
	const requests, storms = 1000, 20
	for _, c := range []struct{ rate, least float64 }{
		{0, 1}, {0.1, 0.95}, {0.5, 0.9},
		{0.9, 0.4}, // five failures may come before the first answer, which only probes find then
		{1, 0},
	} {
		rate := c.rate
		var sum, without storm
		for seed := range uint64(storms) {
			run := func(breakers *llm.Breakers, c *clock) storm {
				f := &flaky{rate: rate, random: rand.New(rand.NewPCG(seed, 1))}
				return f.storm(t, c, llm.Guards{Endpoint: "e", Retrier: retrier(c), Breakers: breakers}.Model(f), requests)
			}
			c := &clock{}
			s := run(llm.NewBreakers(llm.BreakerOptions{Now: c.Now}), c)
			sum.served, sum.calls, sum.refused = sum.served+s.served, sum.calls+s.calls, sum.refused+s.refused
			s = run(llm.NewBreakers(llm.BreakerOptions{Failures: 1 << 30}), &clock{})
			without.served, without.calls = without.served+s.served, without.calls+s.calls
			if limit := requests*12/10 + 10; s.calls > limit {
				t.Errorf("rate %v: %d calls for %d requests", rate, s.calls, requests)
			}
		}
		t.Logf("rate %.1f: %4d of %d served (%d without a breaker), %4d calls, %d refused by the breaker",
			rate, sum.served/storms, requests, without.served/storms, sum.calls/storms, sum.refused/storms)
		if least := c.least * float64(without.served); float64(sum.served) < least {
			t.Errorf("rate %v: %d served, want %.0f of the %d that are served without a breaker", rate, sum.served, least, without.served)
		}
		if most := storms * (5 + requests/100 + 1); rate == 1 && sum.calls > most {
			t.Errorf("%d calls of an endpoint that is down, want %d", sum.calls, most)
		}
	}
}

// After an endpoint was down, the breaker lets a call through within the time of a probe, whatever
// happened before.
func TestBreaker_RecoversWithinTheTimeOfAProbe(t *testing.T) {
	for _, before := range []float64{0, 0.5, 0.9} {
		c := &clock{}
		f := &flaky{rate: before, random: rand.New(rand.NewPCG(7, 7))}
		breakers := llm.NewBreakers(llm.BreakerOptions{Now: c.Now})
		m := llm.Guards{Endpoint: "e", Retrier: retrier(c), Breakers: breakers}.Model(f)
		f.storm(t, c, m, 1000)
		f.rate = 1
		down := f.storm(t, c, m, 3000)
		if len((&llm.Router{Breakers: breakers}).Open()) != 1 {
			t.Errorf("before %v: the breaker is closed after 300 s without an answer", before)
		}
		f.rate = 0
		start := c.Now()
		for llmtest.Ask(t.Context(), m, llm.Request{}).Err != nil {
			_ = c.Sleep(t.Context(), 100*time.Millisecond)
		}
		took := c.Now().Sub(start)
		t.Logf("failing %.1f before: %d calls in 300 s without an answer, %v until it answers again", before, down.calls, took)
		if took > 10*time.Second || down.calls > 30+100 {
			t.Errorf("before %v: %d calls, recovered in %v", before, down.calls, took)
		}
		if healthy := f.storm(t, c, m, 200); healthy.served != 200 {
			t.Errorf("before %v: %d of 200 served afterwards", before, healthy.served)
		}
		f.rate = 1
		if again := f.storm(t, c, m, 50); again.calls > 20 {
			t.Errorf("before %v: %d calls until it is left alone again", before, again.calls)
		}
	}
}

// A stream that has begun shows that the endpoint is up, though no stream has ended yet.
func TestBreaker_CountsAStreamThatBeginsAsAnAnswer(t *testing.T) {
	breakers := llm.NewBreakers(llm.BreakerOptions{Now: (&clock{}).Now})
	for range 50 {
		for range 4 {
			if got := llmtest.Ask(t.Context(), llm.Guards{Endpoint: "e", Breakers: breakers}.Model(llmtest.Fails(broke)), llm.Request{}); !errors.Is(got.Err, broke) {
				t.Fatalf("error = %v", got.Err)
			}
		}
		next, stop := iter.Pull2(llm.Guards{Endpoint: "e", Breakers: breakers}.Model(llmtest.Says("long ", "answer")).Stream(t.Context(), llm.Request{}))
		defer stop()
		if _, err, ok := next(); err != nil || !ok {
			t.Fatalf("the stream does not begin: %v", err)
		}
	}
}
