package ledger

import (
	"context"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
)

// Scope says whose rows they are. Two scopes never share a conversation, turn or sum.
type Scope struct {
	Namespace string
	Owner     string // access.Principal.Subject; "" for the anonymous caller
}

// Status says what became of a paid model call.
type Status string

// The statuses of an entry.
const (
	Intent      Status = "intent"      // the call is about to be made, or is being made
	Completed   Status = "completed"   // the stream ended well
	Failed      Status = "failed"      // the stream ended with an error
	Cancelled   Status = "cancelled"   // the caller stopped reading
	Interrupted Status = "interrupted" // the process died in it
)

// Cost is an amount of money. The zero value is an unknown price.
type Cost struct {
	Micros int64 // millionths of a US dollar
	Known  bool
}

// Entry is a line of the ledger: one paid model call.
type Entry struct {
	ID             string // made at CreatedAt, see package ident
	TurnID         string // "" for a call outside a turn
	ConversationID string // "" outside a conversation
	Scope          Scope
	Account        chat.Account
	Stage          chat.Stage // the innermost stage that was running
	Provider       string
	Model          string
	Status         Status
	EstimatedInput int       // tokens, when the call was made
	Usage          llm.Usage // zero for an intent
	Cost           Cost
	CreatedAt      time.Time // UTC, microseconds, as is SettledAt
	SettledAt      time.Time // zero for an intent
}

// AccountKey returns the account whose totals the call adds to.
func (e Entry) AccountKey() AccountKey { return AccountOf(e.Scope.Owner, e.ConversationID, e.Account) }

// Embeds reports whether the call embedded texts: in a turn only the search does.
func (e Entry) Embeds() bool { return e.Stage == chat.StageRetrieve || e.Stage == chat.StageEmbed }

// Store keeps the ledger. Implementations pass storetest.State.
type Store interface {
	// Intend commits a new entry durably.
	Intend(ctx context.Context, e Entry) error
	// Settle writes Status, Usage, Cost and SettledAt of the entry with e's ID and TurnID. With
	// Interrupted it changes intents only; otherwise interrupted entries too, because a
	// call may have outlived the start of another process. A settled entry stays as it is. The
	// totals of the entry's account change in the same transaction.
	Settle(ctx context.Context, e Entry) error
	// Unsettled returns up to limit intents, oldest first.
	Unsettled(ctx context.Context, limit int) ([]Entry, error)

	// Usage returns the sums of settled entries as a query groups them.
	Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error)
}
