package turn

import (
	"context"

	"parley/internal/chat"
)

// Policy says what happens to a turn when its client leaves. The zero value means Finish in a
// conversation, whose history needs the answer, and Cancel for a stateless turn.
type Policy string

// The policies.
const (
	Cancel Policy = "cancel" // the turn is cancelled
	Finish Policy = "finish" // the turn runs to its end
)

// Steering says how the turn of a request is run. It is passed in a context, because the protocol
// adapters between a request and its turn need not know about it.
type Steering struct {
	Policy Policy
	Claim  *Claim // for the request's Idempotency-Key; nil without one
}

type steeringKey struct{}

// Steer returns a context in which turns run as s says. Only the first of them gets the claim.
func Steer(ctx context.Context, s Steering) context.Context {
	return context.WithValue(ctx, steeringKey{}, s)
}

func steeringOf(ctx context.Context) Steering {
	s, _ := ctx.Value(steeringKey{}).(Steering)
	return s
}

type namedKey struct{}

// WithNamed returns a context for a request. named is called with the id of each turn that answers the request; for a turn
// that is run, before its first event.
func WithNamed(ctx context.Context, named func(turnID string)) context.Context {
	return context.WithValue(ctx, namedKey{}, named)
}

// Named reports which turn answers the request of ctx. Run calls it. Code that answers with another request's turn must call
// it, too.
func Named(ctx context.Context, turnID string) {
	if named, ok := ctx.Value(namedKey{}).(func(string)); ok {
		named(turnID)
	}
}

// finishes reports whether the turn continues when its client leaves.
func (s Steering) finishes(req *chat.Request) bool {
	return s.Policy == Finish || s.Policy == "" && req.ConversationID != ""
}

// IDOf returns the id for the turn of a request: the id of the turn that answered the request's key, or
// a new one from fresh.
func IDOf(ctx context.Context, fresh func() string) string {
	if c := steeringOf(ctx).Claim; c != nil && c.again {
		return c.answered.TurnID
	}
	return fresh()
}
