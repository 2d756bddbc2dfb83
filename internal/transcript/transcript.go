// Package transcript describes chats that belong to their clients: messages as raw JSON with the
// clients' own ids and timestamps, which the server stores and returns but never interprets as turns.
// They are the chats of the Chat UI API and of "On Your Data", the histories of the AI Chat Protocol's front ends, and the
// responses and conversations of the Responses API, whose messages are items.
//
//	chat, err := store.Save(ctx, scope, id, func(t *transcript.Transcript, found bool) error {
//		if !found {
//			return transcript.ErrNotFound
//		}
//		t.Messages = append(t.Messages, message)
//		return nil
//	})
//
// Save reads, changes and writes in one transaction, so that two clients that write at the same
// time do not lose each other's messages.
package transcript

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrNotFound means that the scope has no chat with that id. Ids belong to a scope, so a chat of another
// owner is not found either.
var ErrNotFound = errors.New("no such chat")

// Kind is the protocol of a chat. Chats of different kinds are separate.
type Kind string

// The kinds.
const (
	ChatUI        Kind = "chatui"        // chats of the Chat UI API
	Azure         Kind = "azure"         // histories of the AI Chat Protocol's front ends
	YourData      Kind = "yourdata"      // chats of "On Your Data"
	Responses     Kind = "responses"     // responses of the Responses API, each with its input
	Conversations Kind = "conversations" // conversations of the Responses API
)

// Scope is the owner of chats. Two scopes share nothing, not even ids.
type Scope struct {
	Kind      Kind
	Namespace string
	Owner     string // access.Principal.Subject; "" for the anonymous caller
}

// Chat is a chat as a list shows it.
type Chat struct {
	ID          string
	Mode        string // defined by the protocol, or ""
	Title       string
	LastMessage string // shortened for lists
	Count       int    // number of messages
	Pinned      bool   // kept at the top of lists
	Folder      string // the id of a folder of its owner; "" for none
	CreatedAt   time.Time
	UpdatedAt   time.Time // UTC, to the microsecond, as is CreatedAt
	Link        Link
}

// Link shares a chat with everybody who knows its ID. The zero value shares nothing.
type Link struct {
	ID       string    // cannot be guessed; no two chats have the same one
	Messages int       // that are shared, from the first one
	At       time.Time // when it was made or renewed; UTC, to the microsecond
}

// Message is one message as its client wrote it.
type Message struct {
	ID   string          // the client's, or ""
	Body json.RawMessage // compact JSON
}

// AppendBodies appends the bodies of messages to dst as a JSON array.
func AppendBodies(dst []byte, messages []Message) []byte {
	dst = append(dst, '[')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.Body...)
	}
	return append(dst, ']')
}

// Transcript is a chat with its messages, oldest first.
type Transcript struct {
	Chat
	Messages []Message
}

// List selects chats. The zero value selects all.
type List struct {
	Mode   string // "" for every mode
	Part   Part
	Limit  int    // 0 for no limit
	Before *Place // only chats after this place; nil starts at the beginning
}

// Part selects chats by whether their owner has given them a place.
type Part int

// The parts of a list.
const (
	Every Part = iota
	Kept       // chats that are pinned or in a folder
	Loose      // all others
)

// Has reports whether a chat is in the part.
func (p Part) Has(c Chat) bool { return p == Every || (p == Kept) == (c.Pinned || c.Folder != "") }

// Place is the position of a chat in a list.
type Place struct {
	UpdatedAt time.Time
	ID        string
}

// Token returns the place behind a chat as an opaque text, which ParsePlace reads.
func (c Chat) Token() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.UpdatedAt.UnixMicro(), 10) + ":" + c.ID))
}

// ParsePlace reads what Token returned.
func ParsePlace(token string) (*Place, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, err
	}
	at, id, ok := strings.Cut(string(text), ":")
	micros, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return nil, errors.New("not a place")
	}
	return &Place{UpdatedAt: time.UnixMicro(micros), ID: id}, nil
}

// Hit is a message that a search looks at, with its chat.
type Hit struct {
	Chat    Chat
	Message Message
}

// Store keeps transcripts durably. Implementations pass storetest.Transcripts.
type Store interface {
	// Chats lists the scope's chats by descending time of update, then by descending id.
	Chats(ctx context.Context, scope Scope, list List) ([]Chat, error)
	// Search calls visit for the messages of a scope's chats of a mode ("" for every one) until it returns false:
	// the messages of the chat that was updated last come first, each chat's in their order. Messages whose JSON lacks
	// one of the words may be left out. Words are ASCII letters and digits, found in either case.
	Search(ctx context.Context, scope Scope, mode string, words []string, visit func(Hit) bool) error
	// Transcript returns a chat with its messages, or ErrNotFound.
	Transcript(ctx context.Context, scope Scope, id string) (Transcript, error)
	// Linked returns the scope and the chat that has a link, with all its messages, or ErrNotFound.
	Linked(ctx context.Context, link string) (Scope, Transcript, error)
	// Save lets change edit the stored transcript, or fill a new one: then found is false and only
	// ID is set. It runs in a transaction that excludes other writers. If change fails, nothing is
	// written and its error is returned. Count is set from Messages.
	Save(ctx context.Context, scope Scope, id string, change func(t *Transcript, found bool) error) (Chat, error)
	// Unfile takes all chats of a scope out of a folder.
	Unfile(ctx context.Context, scope Scope, folder string) error
	// Delete deletes a chat, or returns ErrNotFound.
	Delete(ctx context.Context, scope Scope, id string) error
	// Expire deletes up to limit chats of a kind, of all owners, whose last update was before a time,
	// and returns how many.
	Expire(ctx context.Context, kind Kind, before time.Time, limit int) (int, error)
}
