package ledger

import (
	"time"

	"parley/internal/chat"
)

// AccountKey identifies running totals. Its parts are compared separately, so that no choice of names
// makes two different accounts equal. The zero key means no account.
type AccountKey struct {
	Owner        string // access.Principal.Subject of the caller
	Stored       bool   // Conversation is the id of a stored conversation, and User is ""
	User         string
	Conversation string
}

// IsZero reports whether the key means no account.
func (k AccountKey) IsZero() bool { return k.User == "" && k.Conversation == "" }

// AccountOf returns the account of a turn. A stored conversation has its own account, regardless of the user
// that its turns name.
func AccountOf(owner, conversationID string, a chat.Account) AccountKey {
	if conversationID != "" {
		return AccountKey{Owner: owner, Stored: true, Conversation: conversationID}
	}
	return AccountKey{Owner: owner, User: a.User, Conversation: a.Conversation}
}

// Totals is the usage of the turns of an account since it was last cleared. At any moment it is the
// exact sum of the account's settled entries.
type Totals struct {
	Turns           int64 // completed
	EmbeddingTokens int64
	EmbeddingMicros int64 // millionths of a US dollar
	InputTokens     int64 // of completions and rankings, like the next two
	OutputTokens    int64
	Micros          int64
	Unpriced        int64 // calls whose price is unknown; their cost counts as 0
	Estimated       int64 // calls whose tokens are an estimate
}

// Add adds an entry to the totals, or subtracts it if sign is -1.
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

// Dimension is a key by which a usage report can be grouped.
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

// Dimensions are all dimensions, in the order of a row's fields.
var Dimensions = []Dimension{ByDay, ByNamespace, ByUser, ByConversation, ByModel, ByStage, ByTurn}

// UsageQuery asks for a report of usage.
type UsageQuery struct {
	By       []Dimension // empty means one row for everything, if there is anything
	From, To time.Time   // time range of the calls, To exclusive; zero means unlimited
	Owner    *string     // only calls of this caller; nil means all
	Limit    int         // maximum number of rows; 0 means all
	Offset   int         // rows to skip; needs Limit
}

// UsageRow is one group of a report. Fields by which the report is not grouped are zero.
type UsageRow struct {
	Day          time.Time // midnight UTC
	Namespace    string
	Owner        string // set with User
	User         string // the client's name for its user; "" for none
	Conversation string // id of a stored conversation, or the client's name for its own; "" for none
	Stored       bool   // Conversation is the id of a stored conversation
	Provider     string // set with Model
	Model        string
	Stage        chat.Stage
	Turn         string

	Turns     int64 // turns that made a call
	Calls     int64
	Input     int64 // tokens, cached ones included
	Output    int64 // tokens, reasoning included
	Cached    int64
	Reasoning int64
	Micros    int64 // millionths of a US dollar
	Unpriced  int64 // calls whose price is unknown
	Estimated int64 // calls whose tokens are an estimate
}
