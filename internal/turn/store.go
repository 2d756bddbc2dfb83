package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
)

// Errors of a Store.
var (
	// ErrNotFound says that there is no conversation or turn of that id.
	ErrNotFound = errors.New("not found")
	// ErrForeign says that the id belongs to another owner or namespace. Where ErrNotFound is an error for
	// clients, they must not be able to tell the two apart.
	ErrForeign = errors.New("belongs to somebody else")
	// ErrConflict says that the conversation has changed since it was read.
	ErrConflict = errors.New("conversation has gone on")
)

// Scope says whose rows they are. Two scopes never share a conversation, turn or sum.
type Scope = ledger.Scope

// Conversation is a thread of turns.
type Conversation struct {
	ID        string
	Scope     Scope
	Kind      string // which protocol made it; "" for those that their first turn begins
	Completed int64  // number of completed turns
	CreatedAt time.Time
	UpdatedAt time.Time
	History   []chat.Message // of the last completed turns, oldest first
}

// Record is one turn as it is saved.
type Record struct {
	ID             string // see package ident
	Scope          Scope
	ConversationID string // "" for a stateless turn
	Home           string // namespace of the conversation; "" means Scope.Namespace; not kept
	Kind           string // of the conversation; one other than "" is not begun by Save; not kept
	Seen           int64  // Conversation.Completed when the turn began; not kept
	Status         chat.Status
	ErrorKind      chat.Kind      // with StatusFailed
	Question       chat.Message   // "" as its role where the turn goes on with Results alone
	Results        []chat.Message // of tools that an earlier turn asked the client to run
	Query          string         // the standalone form of the question; "" when the turn ended before that
	Answers        []Answer       // in the order in which they began
	Requested      string         // the model asked for
	Model          string         // the model that answered
	Usage          llm.Usage
	Stages         []chat.StageFinished
	FirstToken     time.Duration // from StartedAt; 0 when there was none
	StartedAt      time.Time     // UTC, microseconds, as is FinishedAt
	FinishedAt     time.Time

	Account  chat.Account   // not kept: the ledger has it
	Free     []ledger.Entry // calls that cost nothing, entered in the ledger with the turn
	Ended    []ledger.Entry // calls whose end is written with the turn, as by Settle
	Said     *Said          // nil for nothing
	Answered *Answered      // the request's idempotency key with what it got; nil for none
}

// home returns the scope of the record's conversation.
func (r *Record) home() Scope {
	return Scope{Namespace: cmp.Or(r.Home, r.Scope.Namespace), Owner: r.Scope.Owner}
}

// AccountKey returns the account whose totals the turn adds to.
func (r Record) AccountKey() ledger.AccountKey {
	return ledger.AccountOf(r.Scope.Owner, r.ConversationID, r.Account)
}

// Answer is a message of a turn other than its question.
type Answer struct {
	chat.Message
	Doubts       []chat.Doubt // citations that the check did not confirm
	Status       chat.Status
	FinishReason string // "" for a partial answer
	Model        string
	Usage        llm.Usage
}

// Store keeps conversations and turns. Implementations pass storetest.State.
type Store interface {
	// Conversation returns a conversation with the history of its last turns completed turns. The
	// error is ErrNotFound when nobody has the id, and ErrForeign when it is not scope's.
	Conversation(ctx context.Context, scope Scope, id string, turns int) (Conversation, error)
	// Save commits a turn and its messages durably, with r.Free, the totals of its account,
	// r.Said and r.Answered, and begins its conversation if need be. The error of a completed turn is
	// ErrConflict when the conversation's Completed is not r.Seen any more, or when the key of
	// r.Answered was answered by another turn; ErrForeign when the conversation is not r.Scope's or
	// not of r.Kind; ErrNotFound when a conversation of another kind than "" is gone. Nothing is
	// written with an error. The events of r.Said are the caller's again when it returns.
	Save(ctx context.Context, r Record) error
	// Turn returns a turn of the scope, or ErrNotFound.
	Turn(ctx context.Context, scope Scope, id string) (Record, error)
	// Purge deletes up to limit stateless turns that finished before a time, and returns how many.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)

	// Said returns the log of a turn, or ErrNotFound. It is deleted with the turn.
	Said(ctx context.Context, id string) (Said, error)
	// ForgetSaid deletes the logs of up to limit turns that finished before a time, and returns how many.
	ForgetSaid(ctx context.Context, before time.Time, limit int) (int, error)

	// Expire deletes up to limit conversations of a kind that were updated before a time, as
	// Delete does, and returns how many.
	Expire(ctx context.Context, kind string, before time.Time, limit int) (int, error)

	// Answered returns what answered a key, or ErrNotFound.
	Answered(ctx context.Context, k Key) (Answered, error)
	// Forget deletes up to limit keys that were answered before a time, and returns how many.
	Forget(ctx context.Context, before time.Time, limit int) (int, error)
}

// Position is a place in a list of conversations.
type Position struct {
	UpdatedAt time.Time
	ID        string
}
