package hardening

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/internal/store/storetest"
)

// grownRows is the number of turns, ledger entries, sessions and documents in BenchmarkRowR23.
const grownRows = 1_000_000

// BenchmarkRowR23 asks servers with an empty and a grown store over HTTP, alternately. Their
// medians should be within 10 % of each other. BenchmarkTurnPath in internal/store measures the
// store alone.
func BenchmarkRowR23(b *testing.B) {
	empty, grown := newStack(b, options{grown: 10}), newStack(b, options{grown: grownRows})
	answered := map[*stack]string{} // turn ids
	for _, s := range []*stack{empty, grown} {
		if err := s.fetch(nil, http.MethodPost, "/chat", "{"+question+"}"); err != nil {
			b.Fatal(err)
		}
		answered[s] = (<-s.saved).ID
		go func() { // runs until the process ends: the stack blocks until saved turns are taken
			for range s.saved {
			}
		}()
	}
	for _, part := range []struct {
		name string
		ask  func(*stack) error
	}{
		{"answer", func(s *stack) error { return s.fetch(nil, http.MethodPost, "/chat", "{"+question+"}") }},
		{"session and its first answer", func(s *stack) error {
			var session struct {
				ID string `json:"session_id"`
			}
			if err := s.fetch(&session, http.MethodPost, "/chat/session", ""); err != nil {
				return err
			}
			return s.fetch(nil, http.MethodPost, "/chat/"+session.ID, `{"message":"What is covered?"}`)
		}},
		{"list of sessions", func(s *stack) error { return s.fetch(nil, http.MethodGet, "/chat/sessions?limit=20", "") }},
		{"turn", func(s *stack) error { return s.fetch(nil, http.MethodGet, "/api/turns/"+answered[s], "") }},
		{"usage", func(s *stack) error { return s.fetch(nil, http.MethodGet, "/api/usage?by=day,model", "") }},
	} {
		b.Run(part.name, func(b *testing.B) {
			storetest.CompareGrown(b, func() error { return part.ask(empty) }, func() error { return part.ask(grown) })
		})
	}
}

// fetch sends JSON and decodes the answer into v, unless v is nil.
func (s *stack) fetch(v any, method, path, body string) error {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d: %s", method, path, res.StatusCode, raw)
	}
	if err == nil && v != nil {
		err = json.Unmarshal(raw, v)
	}
	return err
}
