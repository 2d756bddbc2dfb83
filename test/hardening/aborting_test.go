package hardening

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/tokens"
	"parley/test/needs"
)

// rounds returns all with PARLEY_TEST_ALL=1, else few.
func rounds(few, all int) int {
	if needs.All() {
		return all
	}
	return few
}

// When a client leaves after five tokens, the upstream's work ends, and the part of the answer is
// stored and billed. BenchmarkLeaving measures how long that takes.
func TestR8_ClientsThatLeaveAfterFiveTokens(t *testing.T) {
	for _, p := range protocols {
		if p.stream == whole {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, options{idle: time.Minute, output: 32_768})
			s.fault.Store("never")
			for range rounds(10, 100) {
				s.leaveAfter(t, p, 5)
				waitFor(t, "the upstream goes on", s.up.Aborted())
				r := waitFor(t, "the turn goes on", s.saved)
				if r.Status != chat.StatusCancelled || len(r.Answers) == 0 {
					t.Fatalf("the turn is %s, with %d answers", r.Status, len(r.Answers))
				}
				entries, err := s.db.State().Entries(t.Context(), r.ID)
				if err != nil || len(entries) != 1 {
					t.Fatalf("%d calls are billed, %v", len(entries), err)
				}
				text := r.Answers[len(r.Answers)-1].Text()
				got, want := entries[0].Usage, tokens.Count(text)
				if len(strings.Fields(text)) < 5 || !got.Estimated || got.Input == 0 || got.Output != want {
					t.Fatalf("billed %+v for an answer of %d tokens, %.60q…", got, want, text)
				}
			}
			if calls, want := s.up.Calls(), rounds(10, 100); calls != want {
				t.Errorf("the upstream was called %d times for %d answers", calls, want)
			}
		})
	}
}

// leaveAfter asks for a stream and leaves after a number of pieces of text.
func (s *stack) leaveAfter(t *testing.T, p protocol, pieces int) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+p.path, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewScanner(resp.Body)
	for pieces > 0 && events.Scan() {
		var object map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(events.Text(), "data: ")), &object) != nil {
			continue // a line that ends an event
		}
		if p.text(object) != "" || object["type"] == "delta" {
			pieces--
		}
	}
	if pieces > 0 {
		t.Fatalf("the stream ends %d pieces early: %v", pieces, events.Err())
	}
}
