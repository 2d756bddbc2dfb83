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
	// ErrNotFound means that there is no such conversation, turn, log or key.
	ErrNotFound = errors.New("not found")
	// ErrForeign means that the id belongs to another owner or namespace. Clients must not be able to
	// distinguish it from ErrNotFound.
	ErrForeign = errors.New("belongs to somebody else")
	// ErrConflict means that the conversation has changed since it was read.
	ErrConflict = errors.New("conversation was continued elsewhere")
)

// Scope is the owner of rows. Two scopes never share a conversation, turn or sum.
type Scope = ledger.Scope

// Conversation is a thread of turns.
type Conversation struct {
	ID        string
	Scope     Scope
	Kind      string // the protocol that created it; "" if its first turn did
	Completed int64  // number of completed turns
	CreatedAt time.Time
	UpdatedAt time.Time
	History   []chat.Message // messages of the latest completed turns, oldest first
}

// Record is a turn in its stored form.
type Record struct {
	ID             string // see package ident
	Scope          Scope
	ConversationID string // "" for a stateless turn
	Home           string // namespace of the conversation; "" means Scope.Namespace; not stored
	Kind           string // of the conversation; Save creates only conversations of kind ""; not stored
	Seen           int64  // Conversation.Completed when the turn began; not stored
	Status         chat.Status
	ErrorKind      chat.Kind      // with StatusFailed
	Question       chat.Message   // has no role if the turn continues from Results alone
	Results        []chat.Message // results of tools that an earlier turn asked the client to run
	Query          string         // the standalone form of the question; "" if the turn ended before it was known
	Answers        []Answer       // in the order in which they began
	Requested      string         // the model that was requested
	Model          string         // the model that answered
	Usage          llm.Usage
	Stages         []chat.StageFinished
	FirstToken     time.Duration // after StartedAt; 0 if there was none
	StartedAt      time.Time     // UTC, microseconds, like FinishedAt
	FinishedAt     time.Time

	Account  chat.Account   // not stored with the turn, because the ledger has it
	Free     []ledger.Entry // entries of free calls, added to the ledger with the turn
	Ended    []ledger.Entry // entries of ended calls, settled with the turn as by Settle
	Said     *Said          // nil for none
	Answered *Answered      // the request's idempotency key with its result; nil for none
}

// home returns the scope of the record's conversation.
func (r *Record) home() Scope {
	return Scope{Namespace: cmp.Or(r.Home, r.Scope.Namespace), Owner: r.Scope.Owner}
}

// AccountKey returns the account whose totals include the turn.
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
	// Conversation returns a conversation with the history of its latest completed turns, at most the given number.
	// The error is ErrNotFound if there is no such conversation, and ErrForeign if it does not belong to scope.
	Conversation(ctx context.Context, scope Scope, id string, turns int) (Conversation, error)
	// Save durably commits a turn and its messages, with r.Free, r.Ended, the totals of its account,
	// r.Said and r.Answered, and creates its conversation if necessary. For a completed turn the error is
	// ErrConflict if the conversation's Completed is no longer r.Seen, or if another turn has answered the
	// key of r.Answered. It is ErrForeign if the conversation belongs to another owner, to another namespace
	// than r.Home, or to another kind than r.Kind, and ErrNotFound if a conversation of a kind other than ""
	// no longer exists. On an error nothing is written. Save must not retain the events of r.Said.
	Save(ctx context.Context, r Record) error
	// Turn returns a turn of the scope, or ErrNotFound.
	Turn(ctx context.Context, scope Scope, id string) (Record, error)
	// Purge deletes up to limit stateless turns that finished before a time, and returns how many.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)

	// Said returns the log of a turn, or ErrNotFound. The log is deleted with the turn.
	Said(ctx context.Context, id string) (Said, error)
	// ForgetSaid deletes the logs of up to limit turns that finished before a time, and returns how many.
	ForgetSaid(ctx context.Context, before time.Time, limit int) (int, error)

	// Expire deletes up to limit conversations of a kind that were last updated before a time, and
	// returns how many.
	Expire(ctx context.Context, kind string, before time.Time, limit int) (int, error)

	// Answered returns the result stored for a key, or ErrNotFound.
	Answered(ctx context.Context, k Key) (Answered, error)
	// Forget deletes up to limit keys that were answered before a time, and returns how many.
	Forget(ctx context.Context, before time.Time, limit int) (int, error)
}

// Position is a place in a list of conversations.
type Position struct {
	UpdatedAt time.Time
	ID        string
}
