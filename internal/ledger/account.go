package ledger

import (
	"time"

	"parley/internal/chat"
)

// AccountKey names running totals. Its parts are never joined, so that no choice of names makes
// one account another's. The zero key stands for none.
type AccountKey struct {
	Owner        string // access.Principal.Subject of the caller who names the account
	Stored       bool   // Conversation is the id of a stored conversation, and User is ""
	User         string
	Conversation string
}

// IsZero reports whether the key stands for no account.
func (k AccountKey) IsZero() bool { return k.User == "" && k.Conversation == "" }

// AccountOf returns the account of a turn. A stored conversation is an account of its own, whatever
// user its turns name.
func AccountOf(owner, conversationID string, a chat.Account) AccountKey {
	if conversationID != "" {
		return AccountKey{Owner: owner, Stored: true, Conversation: conversationID}
	}
	return AccountKey{Owner: owner, User: a.User, Conversation: a.Conversation}
}

// Totals is what the turns of an account took since it was last cleared: at any moment the exact
// sum of its settled entries.
type Totals struct {
	Turns           int64 // completed
	EmbeddingTokens int64
	EmbeddingMicros int64 // millionths of a US dollar
	InputTokens     int64 // of completions and rankings, as are the next two
	OutputTokens    int64
	Micros          int64
	Unpriced        int64 // calls whose price is unknown; their cost counts as 0
	Estimated       int64 // calls whose tokens are an estimate
}

// Add adds an entry to the totals, or takes it away with a sign of -1.
func (t *Totals) Add(e Entry, sign int64) {
	if e.Embeds() {
		t.EmbeddingTokens += sign * int64(e.Usage.Input+e.Usage.Output)
		t.EmbeddingMicros += sign * e.Cost.Micros
	} else {
		t.InputTokens += sign * int64(e.Usage.Input)
		t.OutputTokens += sign * int64(e.Usage.Output)
		t.Micros += sign * e.Cost.Micros
	}
	if !e.Cost.Known {
		t.Unpriced += sign
	}
	if e.Usage.Estimated {
		t.Estimated += sign
	}
}

// Dimension is something that a report of usage can be grouped by.
type Dimension string

// The dimensions of usage.
const (
	ByDay          Dimension = "day"
	ByNamespace    Dimension = "namespace"
	ByUser         Dimension = "user"
	ByConversation Dimension = "conversation"
	ByModel        Dimension = "model"
	ByStage        Dimension = "stage"
	ByTurn         Dimension = "turn"
)

// Dimensions are all there are, in the order of a row.
var Dimensions = []Dimension{ByDay, ByNamespace, ByUser, ByConversation, ByModel, ByStage, ByTurn}

// UsageQuery asks for a report of usage.
type UsageQuery struct {
	By       []Dimension // none: one row for all, if there is anything
	From, To time.Time   // of the calls, To exclusive; zero means without an end
	Owner    *string     // only calls of that caller; nil for all
	Limit    int         // rows at most; 0 for all
	Offset   int         // rows to leave out, with Limit
}

// UsageRow is one group of a report. The keys by which it was not grouped are zero.
type UsageRow struct {
	Day          time.Time // at midnight UTC
	Namespace    string
	Owner        string // with User
	User         string // as the client named it; "" for none
	Conversation string // id of a stored conversation, or the client's own name for one; "" for none
	Stored       bool   // which of the two it is
	Provider     string // with Model
	Model        string
	Stage        chat.Stage
	Turn         string

	Turns     int64 // that made a call
	Calls     int64
	Input     int64 // tokens, cached ones included
	Output    int64 // tokens, reasoning included
	Cached    int64
	Reasoning int64
	Micros    int64 // millionths of a US dollar
	Unpriced  int64 // calls whose price is unknown
	Estimated int64 // calls whose tokens are an estimate
}
