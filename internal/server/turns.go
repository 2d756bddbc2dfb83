package server

import (
	"errors"
	"net/http"
	"strings"

	"parley/internal/turn"
	"parley/internal/wire"
)

// Headers of requests for turns in all protocols.
const (
	keyHeader        = "Idempotency-Key" // of a request that may be retried
	disconnectHeader = "X-On-Disconnect" // what happens to the turn when the client leaves
)

var errKeyReused = wire.Refuse(http.StatusUnprocessableEntity, "idempotency_key_reused",
	"This Idempotency-Key was used with another request. Please use a new one.")

// turn runs the handler of a request for a turn as the headers say. Requests with the same
// Idempotency-Key are one turn: one of them runs, and all get its answer (see turn.Keys).
func (s *Server) turn(w http.ResponseWriter, r *wire.Request, rt *wire.Route) error {
	var steering turn.Steering
	switch values := r.Header.Values(disconnectHeader); {
	case len(values) == 0:
	case len(values) == 1 && (values[0] == string(turn.Cancel) || values[0] == string(turn.Finish)):
		steering.Policy = turn.Policy(values[0])
	default:
		return wire.Invalidf("%s must be cancel or finish", disconnectHeader)
	}
	if values := r.Header.Values(keyHeader); len(values) > 0 {
		claim, err := s.claim(r, values)
		if err != nil {
			return err
		}
		defer claim.Release()
		steering.Claim = claim
	}
	if steering != (turn.Steering{}) {
		r.Request = r.WithContext(turn.Steer(r.Context(), steering))
	}
	return rt.Handle(w, r)
}

// claim waits until the key of a request is free, and claims it.
func (s *Server) claim(r *wire.Request, values []string) (*turn.Claim, error) {
	if s.deps.Keys == nil || len(values) > 1 {
		return nil, wire.Invalidf("%s cannot be used here, or was sent more than once", keyHeader)
	}
	key := turn.Key{Owner: r.Who.Subject, Route: strings.TrimSuffix(r.URL.Path, "/"), Value: values[0]}
	claim, err := s.deps.Keys.Claim(r.Context(), key, r.Body)
	if errors.Is(err, turn.ErrKeyReused) {
		return nil, errKeyReused
	}
	return claim, err
}
