package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire"
)

// What clients send with requests for turns, whatever the protocol.
const (
	keyHeader        = "Idempotency-Key" // for a request that may be sent again
	disconnectHeader = "X-On-Disconnect" // what becomes of the turn when the client leaves
)

var errKeyReused = wire.Refuse(http.StatusUnprocessableEntity, "idempotency_key_reused",
	"This Idempotency-Key was used with another request. Please use a new one.")

// turn runs the handler of a request for a turn as its headers say. Requests that carry the same
// Idempotency-Key are one turn: of several at one time one runs, and all get its answer (see turn.Keys).
func (s *Server) turn(w http.ResponseWriter, r *wire.Request, rt *wire.Route) error {
	switch values := r.Header.Values(disconnectHeader); {
	case len(values) == 0:
	case len(values) == 1 && (values[0] == string(turn.Cancel) || values[0] == string(turn.Finish)):
		r.Request = r.WithContext(turn.WithPolicy(r.Context(), turn.Policy(values[0])))
	default:
		return wire.Invalidf("%s must be cancel or finish", disconnectHeader)
	}
	values := r.Header.Values(keyHeader)
	if len(values) == 0 {
		return rt.Handle(w, r)
	}
	if s.deps.Keys == nil || len(values) > 1 {
		return wire.Invalidf("%s cannot be used here, or is there twice", keyHeader)
	}
	key := turn.Key{Owner: r.Who.Subject, Route: strings.TrimSuffix(r.URL.Path, "/"), Value: values[0]}
	ctx, release, err := s.deps.Keys.Claim(r.Context(), key, r.Body)
	if errors.Is(err, turn.ErrKeyReused) {
		return errKeyReused
	}
	if err != nil {
		return err
	}
	defer release()
	r.Request = r.WithContext(ctx)
	return rt.Handle(w, r)
}

// Runner runs turns; chat.Engine and turn runners do. Leaving the range ends the turn.
type Runner interface {
	Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error]
}

type runFunc func(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error]

func (f runFunc) Run(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
	return f(ctx, req)
}

// LimitTurns returns next with at most n turns in progress at one time. A turn over the limit is
// rejected as chat's contract says, by an error before any event, so that each protocol answers
// 429 in its own shape. A turn counts only while it runs: a client that is slow to send its
// question takes no place.
func LimitTurns(n int, next Runner) Runner {
	places := make(chan struct{}, n)
	return runFunc(func(ctx context.Context, req chat.Request) iter.Seq2[chat.Event, error] {
		events := next.Run(ctx, req)
		return func(yield func(chat.Event, error) bool) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				yield(nil, errBusy)
				return
			}
			for e, err := range events {
				if !yield(e, err) {
					return
				}
			}
		}
	})
}

var errBusy = &chat.Error{
	Kind: chat.RateLimited,
	Msg:  "The server is working on as many answers as it may. Please try again in a moment.",
}
