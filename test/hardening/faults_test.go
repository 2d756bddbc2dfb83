package hardening

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm/llmtest"
	"parley/internal/turn"
	"parley/test/needs"
)

// harmless are the faults that do not prevent an answer.
var harmless = []string{"none", "nodone", "nofinish", "odd", "split", "usage", "nousage", "controls", "filtered"}

// In every protocol, every fault of an upstream ends in an answer or in a documented error object.
// No cut stream is completed, no key leaks, and fabricated usage is neither stored nor billed.
func TestR4_EveryFaultInEveryProtocolEndsWell(t *testing.T) {
	for _, fault := range append([]string{"none"}, llmtest.Faults...) {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			wait := patience // successful answers may be slow on a busy machine
			if fault == "hang" || fault == "stall" {
				wait = 500 * time.Millisecond
			}
			s := newStack(t, options{idle: wait})
			s.fault.Store(fault)
			var wg sync.WaitGroup
			for _, p := range protocols {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					got, err := s.ask(ctx, p)
					if err != nil {
						t.Errorf("%s: %v", p.name, err)
						return
					}
					s.check(t, p.name, got, slices.Contains(harmless, fault))
				})
			}
			wg.Wait()
			if calls := s.up.Calls(); fault == "hang" && calls != len(protocols) {
				t.Errorf("an upstream that says nothing was called %d times for %d requests: each is a wait to its end", calls, len(protocols))
			}
			if log := s.log.String(); strings.Contains(log, "canary") || strings.Contains(log, llmtest.Key) {
				t.Errorf("a key is in the log: %.2000s", log)
			}
		})
	}
}

func (s *stack) check(t *testing.T, name string, got outcome, answers bool) {
	t.Helper()
	if got.completed != answers || got.failed == answers {
		t.Errorf("%s: status %d, completed %v, failed %v: %.400s", name, got.status, got.completed, got.failed, got.raw)
	}
	if answers && !strings.Contains(got.text, "tok9") {
		t.Errorf("%s: the text is %.100q", name, got.text)
	}
	if strings.Contains(got.raw, "canary") {
		t.Errorf("%s: a key is in the response: %.400s", name, got.raw)
	}
	record, err := s.db.State().Turn(t.Context(), turn.Scope{Namespace: "default"}, got.turn)
	if err != nil {
		t.Errorf("%s: turn %q: %v", name, got.turn, err)
		return
	}
	if want := map[bool]chat.Status{true: chat.StatusCompleted, false: chat.StatusFailed}[answers]; record.Status != want {
		t.Errorf("%s: the turn is %s, want %s", name, record.Status, want)
	}
	if strings.ContainsFunc(record.Model+got.turn, unicode.IsControl) {
		t.Errorf("%s: a model was stored as %q", name, record.Model)
	}
	s.checkLedger(t, name, got.turn)
}

// checkLedger checks that every call is settled with plausible usage.
func (s *stack) checkLedger(t *testing.T, name, id string) {
	t.Helper()
	entries, err := s.db.State().Entries(t.Context(), id)
	if err != nil || len(entries) == 0 {
		t.Errorf("%s: %d calls in the ledger, %v", name, len(entries), err)
	}
	for _, e := range entries {
		u := e.Usage
		if e.Status == ledger.Intent || u.Input < 0 || u.Output < 0 || u.Input+u.Output > 100_000 || u.Cached > u.Input {
			t.Errorf("%s: the ledger has %+v", name, e)
		}
	}
}

// Endless streams and oversized events must not take much memory.
func TestR11_EndlessStreamsAreCutWithinBounds(t *testing.T) {
	needs.Long(t)
	// Only memory that streams hold counts. On a busy machine, uncollected garbage, mostly of the
	// upstream in this process, would hide it.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	s := newStack(t, options{count: func(n int) string { return []string{"never", "huge"}[n%2] }})
	runtime.GC()
	var before, peak runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, watched := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-stop:
				watched <- most
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&peak)
				most = max(most, peak.HeapInuse)
			}
		}
	}()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for _, p := range protocols {
				if got, err := s.ask(t.Context(), p); err != nil || got.completed || !got.failed {
					t.Errorf("%s: %v, %.300s", p.name, err, got.raw)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	// The upstream, also in this process, makes events of 2 MiB.
	if most := <-watched; most > before.HeapInuse+64<<20 {
		t.Errorf("the heap grew from %d to %d MiB", before.HeapInuse>>20, most>>20)
	}
}
