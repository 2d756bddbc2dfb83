package turn

import (
	"context"
	"errors"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
)

// Errors of a Store.
var (
	// ErrNotFound says that nobody has a conversation or turn of that id.
	ErrNotFound = errors.New("not found")
	// ErrForeign says that the id belongs to another owner or namespace. Clients must not be
	// able to tell it from ErrNotFound where ErrNotFound is an error to them.
	ErrForeign = errors.New("belongs to somebody else")
	// ErrConflict says that the conversation has gone on since it was read.
	ErrConflict = errors.New("conversation has gone on")
)

// Scope says whose rows they are. Two scopes never share a conversation, turn or sum.
type Scope struct {
	Namespace string
	Owner     string // access.Principal.Subject; "" for the anonymous caller
}

// Conversation is a thread of turns.
type Conversation struct {
	ID        string
	Scope     Scope
	Completed int64 // number of completed turns
	CreatedAt time.Time
	UpdatedAt time.Time
	History   []chat.Message // of the last completed turns, oldest first
}

// Record is one turn as it is saved.
type Record struct {
	ID             string // ULID
	Scope          Scope
	ConversationID string // "" for a stateless turn
	Seen           int64  // Conversation.Completed when the turn began; not kept
	Status         chat.Status
	ErrorKind      chat.Kind      // with StatusFailed
	Question       chat.Message   // "" as its role where the turn goes on with Results alone
	Results        []chat.Message // of tools that an earlier turn asked the client to run
	Query          string         // the standalone form of the question; "" when it did not come so far
	Answers        []Answer       // in order of their beginning
	Requested      string         // the model asked for
	Model          string         // the model that answered
	Usage          llm.Usage
	Stages         []chat.StageFinished
	FirstToken     time.Duration // from StartedAt; 0 when there was none
	StartedAt      time.Time     // UTC, microseconds, as is FinishedAt
	FinishedAt     time.Time
}

// Answer is a message of a turn other than its question.
type Answer struct {
	chat.Message
	Doubts       []chat.Doubt // citations that the check did not bear out
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
	// Save commits a turn and its messages durably, and begins its conversation if need be. The
	// error of a completed turn is ErrConflict when the conversation's Completed is not r.Seen any
	// more; ErrForeign when the conversation is not r.Scope's. Nothing is written with an error.
	Save(ctx context.Context, r Record) error
	// Turn returns a turn of the scope, or ErrNotFound.
	Turn(ctx context.Context, scope Scope, id string) (Record, error)
	// Purge deletes up to limit stateless turns that finished before a time, and returns how many.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)
}

// EntryStatus says what became of a paid model call.
type EntryStatus string

// The statuses of an entry.
const (
	EntryIntent      EntryStatus = "intent"      // the call is about to be made, or is being made
	EntryCompleted   EntryStatus = "completed"   // the stream ended well
	EntryFailed      EntryStatus = "failed"      // the stream ended with an error
	EntryCancelled   EntryStatus = "cancelled"   // the caller stopped reading
	EntryInterrupted EntryStatus = "interrupted" // the process died in it
)

// Cost is an amount of money. The zero value is an unknown price.
type Cost struct {
	Micros int64 // millionths of a US dollar
	Known  bool
}

// Entry is a line of the ledger: one paid model call.
type Entry struct {
	ID             string // ULID
	TurnID         string // "" for a call outside a turn
	ConversationID string // "" outside a conversation
	Scope          Scope
	Stage          chat.Stage // the innermost stage that was running
	Provider       string
	Model          string
	Status         EntryStatus
	EstimatedInput int       // tokens, when the call was made
	Usage          llm.Usage // zero for an intent
	Cost           Cost
	CreatedAt      time.Time // UTC, microseconds, as is SettledAt
	SettledAt      time.Time // zero for an intent
}

// LedgerStore keeps the ledger. Implementations pass storetest.State.
type LedgerStore interface {
	// Intend commits a new entry durably.
	Intend(ctx context.Context, e Entry) error
	// Settle writes Status, Usage, Cost and SettledAt of the entry with e's ID. With
	// EntryInterrupted it changes intents only; otherwise interrupted entries too, because a
	// call may have outlived the start of another process. A settled entry stays as it is.
	Settle(ctx context.Context, e Entry) error
	// Unsettled returns up to limit intents, oldest first.
	Unsettled(ctx context.Context, limit int) ([]Entry, error)
	// Entries returns the entries of a turn, oldest first.
	Entries(ctx context.Context, turnID string) ([]Entry, error)
}
