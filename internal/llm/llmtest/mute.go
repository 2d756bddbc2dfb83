package llmtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/llm"
)

// RunMute asks a provider for completions of an upstream that keeps sending events without content. Such
// a call must end like one that receives nothing. But a provider must allow more time to an upstream
// that shows that it is at work. open is as for RunFaults.
func RunMute(t *testing.T, d Dialect, open func(t *testing.T, url string, short bool) llm.Model) {
	up := NewUpstreamFor(t, d)
	var all sync.WaitGroup // all at the same time, whatever -parallel says: they mostly wait
	defer all.Wait()
	together := func(name string, f func(t *testing.T)) { all.Go(func() { t.Run(name, f) }) }
	for fault, want := range map[string]string{
		"mute":      half, // every event without content, forever
		"mutefirst": "",   // before the first word
		"pings":     half, // forever
		"muteend":   full, // after the end of the completion, which is complete
		"works":     full, // for three times the limit, before it goes on
	} {
		together(fault, func(t *testing.T) {
			askUntil(t, open(t, up.URL, true), fault, func(got Completion) bool {
				e, _ := errors.AsType[*llm.Error](got.Err)
				silent := e != nil && e.Silent && e.Retryable
				return strings.TrimSpace(got.Text) == strings.TrimSpace(want) && silent == (want != full) && (got.Err == nil || want != full)
			})
		})
	}
	for i := range d.mute {
		together(fmt.Sprintf("event %d", i), func(t *testing.T) {
			askUntil(t, open(t, up.URL, true), fmt.Sprintf("mute%d", i), func(got Completion) bool {
				e, ok := errors.AsType[*llm.Error](got.Err)
				return ok && e.Silent && strings.TrimSpace(got.Text) == strings.TrimSpace(half)
			})
		})
	}
}

// askUntil asks a provider until its answer is right. On a busy machine an upstream in the same process may fall silent for longer
// than the limit; a provider that is wrong is so each time.
func askUntil(t *testing.T, m llm.Model, fault string, right func(Completion) bool) {
	var got Completion
	for range 5 {
		if got = Ask(t.Context(), m, Question(fault)); right(got) {
			return
		}
	}
	t.Errorf("%s: got %q, %v", fault, got.Text, got.Err)
}

// mute plays the faults of RunMute. ok is false for any other fault; over means that the stream has
// ended.
func (e *events) mute(fault string) (over, ok bool) {
	const every, longest = 20 * time.Millisecond, 30 * time.Second
	send, until := e.mutely(fault), longest
	if fault == "works" {
		until = 1500 * time.Millisecond // the limit is 500 ms
	}
	if send == nil {
		return false, false
	}
	for start := time.Now(); time.Since(start) < until; time.Sleep(every) {
		if !send() {
			return true, true
		}
	}
	return fault != "works", true
}

// mutely returns a function that sends the next event of a fault of RunMute, or nil for any other fault.
func (e *events) mutely(fault string) func() bool {
	var n int
	if _, err := fmt.Sscanf(fault, "mute%d", &n); err == nil {
		return func() bool { return e.event(e.d.mute[n]) }
	}
	switch fault {
	case "mute":
		return func() bool { n++; return e.event(e.d.mute[n%len(e.d.mute)]) }
	case "pings", "works":
		return func() bool { return e.raw(e.d.ping) }
	}
	return nil
}
