package turn

import (
	"context"

	"parley/internal/chat"
)

// Policy says what happens to a turn when its client leaves. The zero value means Finish in a conversation,
// whose history needs the answer, and Cancel for a stateless turn.
type Policy string

// The policies.
const (
	Cancel Policy = "cancel" // it is cancelled
	Finish Policy = "finish" // it runs to its end
)

// Steering says how the turn of a request is run. It travels in a context, because the protocol adapters
// between a request and its turn need not know it.
type Steering struct {
	Policy Policy
	Claim  *Claim // of the request's Idempotency-Key; nil for none
}

type steeringKey struct{}

// Steer returns a context in which turns are run as s says. The claim is for the first of them.
func Steer(ctx context.Context, s Steering) context.Context {
	return context.WithValue(ctx, steeringKey{}, s)
}

func steeringOf(ctx context.Context) Steering {
	s, _ := ctx.Value(steeringKey{}).(Steering)
	return s
}

// finishes reports whether the turn goes on when its client leaves.
func (s Steering) finishes(req *chat.Request) bool {
	return s.Policy == Finish || s.Policy == "" && req.ConversationID != ""
}

// IDOf returns the id for the turn of a request: that of the turn that has answered the request's key, else
// a fresh one.
func IDOf(ctx context.Context, fresh func() string) string {
	if c := steeringOf(ctx).Claim; c != nil && c.again {
		return c.answered.TurnID
	}
	return fresh()
}
