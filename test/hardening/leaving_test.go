package hardening

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/chat"
)

// place is a point in a turn at which a client leaves.
type place struct {
	name   string
	fault  string // fault of the upstream
	body   string // body for azure-0529, instead of the usual question
	models chat.Models
	search int // number of the search that waits for the client to leave; 0: none
	calls  int // calls of the upstream before the place
}

const followUp = `{"messages":[{"role":"user","content":"What is covered?"},{"role":"assistant","content":"Everything."},` +
	`{"role":"user","content":"And what is it that they do not pay for?"}]}`

// places are the stages at which a turn can wait.
var places = []place{
	{name: "rewrite", fault: "hang", body: followUp, models: chat.Models{Inference: "up:m", Rewrite: "up:rewriter"}, calls: 1},
	{name: "summarize", fault: "hang", body: `{"messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("word ", 1000)+
		`"},{"role":"assistant","content":"Yes."},`, 10) + `{"role":"user","content":"And what is it that they do not pay for?"}]}`, calls: 1},
	{name: "rerank", fault: "hang", body: `{` + question + `,"context":{"overrides":{"semantic_ranker":true}}}`,
		models: chat.Models{Inference: "up:m", Rerank: "up:judge"}, calls: 1},
	{name: "retrieve", fault: "none", search: 1},
	{name: "generate, before the first token", fault: "hang", calls: 1},
	{name: "generate, in the stream", fault: "stall", calls: 1},
	{name: "generate, in an endless stream", fault: "never", calls: 1},
	{name: "suggest", fault: "none", body: `{` + question + `,"context":{"overrides":{"suggest_followup_questions":true}}}`, search: 2, calls: 1},
}

// open returns a stack whose turns wait at the place. Call begin before each turn; reached then
// waits until the turn is at the place.
func (p place) open(t testing.TB) (s *stack, begin, reached func()) {
	s = newStack(t, options{idle: time.Minute, models: p.models, output: 32_768})
	s.fault.Store(p.fault)
	if p.search == 0 {
		calls := 0
		return s, func() { calls = s.up.Calls() + p.calls }, func() {
			for s.up.Calls() < calls {
				time.Sleep(time.Millisecond)
			}
		}
	}
	there := make(chan struct{}, 1)
	var searches atomic.Int32
	s.found = func(ctx context.Context, _ string) error {
		n := searches.Add(1)
		if int(n) < p.search {
			return nil
		}
		if int(n) == p.search {
			there <- struct{}{}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return s, func() { searches.Store(0) }, func() { <-there }
}

// A client that leaves at any stage ends the turn there, and the upstream's work with it.
func TestR9_LeavingEndsTheTurnAtEveryStage(t *testing.T) {
	for _, at := range places {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s, begin, reached := at.open(t)
			for _, p := range protocols {
				if at.body != "" {
					if !strings.HasPrefix(p.name, "azure-0529") {
						continue
					}
					p.body = at.body
				}
				begin()
				ctx, leave := context.WithCancel(t.Context())
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					_, _ = s.ask(ctx, p)
				}()
				reached()
				leave()
				if at.search == 0 {
					waitFor(t, p.name+": the upstream goes on", s.up.Aborted())
				}
				if r := waitFor(t, p.name+": the turn goes on", s.saved); r.Status != chat.StatusCancelled {
					t.Errorf("%s: the turn is %s", p.name, r.Status)
				}
				<-gone
			}
		})
	}
}

func waitFor[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
	return v
}

// BenchmarkLeaving measures the time from a client's leaving to the end of the upstream's request.
func BenchmarkLeaving(b *testing.B) {
	for _, at := range places {
		if at.search > 0 {
			continue
		}
		b.Run(at.name, func(b *testing.B) {
			s, begin, reached := at.open(b)
			body := at.body
			if body == "" {
				body = "{" + question + "}"
			}
			var total time.Duration
			for b.Loop() {
				begin()
				ctx, leave := context.WithCancel(b.Context())
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/chat/stream", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				go func() {
					if resp, err := s.client.Do(r); err == nil {
						_, _ = resp.Body.Read(make([]byte, 1))
						<-ctx.Done()
						resp.Body.Close()
					}
				}()
				reached()
				start := time.Now()
				leave()
				waitFor(b, "the upstream goes on", s.up.Aborted())
				total += time.Since(start)
				<-s.saved
			}
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/leave")
		})
	}
}
