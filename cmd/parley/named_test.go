package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"parley/internal/turn"
)

// savedTurns are the turns that a runner has saved.
type savedTurns struct {
	mu    sync.Mutex
	turns []turn.Record
}

func (s *savedTurns) add(r turn.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Said = nil
	s.turns = append(s.turns, r)
}

func (s *savedTurns) all() []turn.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.turns)
}

var sessionID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// All requests that the tests and openapi.json know are made. Whatever saves a turn, by whichever route, has made an answer.
// Requests that are made of several turns are left out, since they name only the first, and so are those that set budgets, which
// would refuse the others.
func TestServer_EveryAnswerOfEveryRouteNamesItsTurn(t *testing.T) {
	t.Parallel()
	s := newWholeServer(t)
	answers, mux := map[string]bool{}, http.NewServeMux() // by pattern: whether an answer was made
	known := map[string]bool{}
	for _, rt := range s.routes {
		if !known[rt.Pattern] {
			mux.HandleFunc(rt.Pattern, func(http.ResponseWriter, *http.Request) {})
		}
		known[rt.Pattern] = true
		if rt.Turn || rt.Pattern == "POST /mcp" {
			answers[rt.Pattern] = false
		}
	}
	var session struct {
		ID string `json:"session_id"`
	}
	w := s.send(t, operation{http.MethodPost, "/chat/session", nil}, "{}")
	if err := json.Unmarshal(w.Body.Bytes(), &session); err != nil || session.ID == "" {
		t.Fatalf("%v: %s", err, w.Body)
	}
	var mu sync.Mutex
	named := map[string]string{} // by turn: the pattern of its route
	var sending errgroup.Group
	sending.SetLimit(32)
	for _, op := range append(s.api.operations(t, true), fixtures(t)...) {
		if op.target == "/api/budgets" {
			continue
		}
		op.target = sessionID.ReplaceAllString(op.target, session.ID)
		_, pattern := mux.Handler(httptest.NewRequest(op.method, op.target, nil))
		for _, body := range op.bodies {
			if strings.Contains(body, `"prompt":[`) {
				continue
			}
			sending.Go(func() error {
				id := s.send(t, op, body).Header().Get("X-Turn-Id")
				mu.Lock()
				defer mu.Unlock()
				named[id] = pattern
				return nil
			})
		}
	}
	_ = sending.Wait() // returns what the functions return
	for _, r := range s.saved.all() {
		if named[r.ID] == "" {
			t.Errorf("no answer names turn %s: %+v", r.ID, r)
		}
		answers[named[r.ID]] = true
	}
	for pattern, made := range answers {
		if !made {
			t.Errorf("no request makes an answer by %s", pattern)
		}
	}
}
