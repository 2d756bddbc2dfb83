package ledger

import (
	"context"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
)

// Scope is the owner of rows. Two scopes never share a conversation, turn or sum.
type Scope struct {
	Namespace string
	Owner     string // access.Principal.Subject; "" for the anonymous caller
}

// Status is the state of a model call.
type Status string

// The statuses of an entry.
const (
	Intent      Status = "intent"      // the call is about to be made, or in progress
	Completed   Status = "completed"   // the stream ended successfully
	Failed      Status = "failed"      // the stream ended with an error
	Cancelled   Status = "cancelled"   // the caller stopped reading
	Interrupted Status = "interrupted" // the process died during the call
)

// Cost is an amount of money. The zero value means an unknown price.
type Cost struct {
	Micros int64 // millionths of a US dollar
	Known  bool
}

// Entry is a line of the ledger: one model call. Entries of built-in models have no cost.
type Entry struct {
	ID             string // created at CreatedAt, see package ident
	TurnID         string // "" for a call outside a turn
	ConversationID string // "" outside a conversation
	Scope          Scope
	Account        chat.Account
	Stage          chat.Stage // the innermost stage that was running
	Provider       string
	Model          string
	Status         Status
	EstimatedInput int       // tokens, estimated before the call
	Usage          llm.Usage // zero for an intent
	Cost           Cost
	CreatedAt      time.Time // UTC, microseconds, like SettledAt
	SettledAt      time.Time // zero for an intent
}

// AccountKey returns the account whose totals include the call.
func (e Entry) AccountKey() AccountKey { return AccountOf(e.Scope.Owner, e.ConversationID, e.Account) }

// Embeds reports whether the call embedded texts. Within a turn, only the search does.
func (e Entry) Embeds() bool { return e.Stage == chat.StageRetrieve || e.Stage == chat.StageEmbed }

// Store keeps the ledger. Implementations pass storetest.State.
type Store interface {
	// Intend durably commits a new entry.
	Intend(ctx context.Context, e Entry) error
	// Settle writes Status, Usage, Cost and SettledAt of the entry with e's ID and TurnID. With the
	// status Interrupted it changes only intents. With other statuses it also changes interrupted
	// entries, because a call may outlive the start of another process. It never changes other settled
	// entries. The totals of the entry's account change in the same transaction.
	Settle(ctx context.Context, e Entry) error
	// Unsettled returns up to limit intents, oldest first.
	Unsettled(ctx context.Context, limit int) ([]Entry, error)

	// Usage returns sums of settled entries, grouped by the dimensions of the query.
	Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error)
}
