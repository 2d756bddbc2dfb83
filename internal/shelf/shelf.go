// Package shelf describes what clients of OpenAI's file APIs keep on the server: files, vector stores, which
// files are in which store, and which of them came together. An item is raw JSON in the words of the API, with
// what lists are selected and sorted by beside it. The bytes of files and the documents made of them are
// elsewhere (package documents).
package shelf

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrNotFound says that the owner has no such item. Items of other owners are not found either.
var ErrNotFound = errors.New("no such item")

// Kind is what an item is.
type Kind string

// The kinds.
const (
	Files   Kind = "file"
	Stores  Kind = "store"
	Members Kind = "member" // a file in a store; its id is the file's
	Batches Kind = "batch"  // files that were added to a store together
)

// Key names an item.
type Key struct {
	Kind   Kind
	Owner  string // access.Principal.Subject; "" for the anonymous caller
	Parent string // the id of the store, for members and batches; else ""
	ID     string
}

// Item is one thing that is kept.
type Item struct {
	Key
	Group     string // of a file its purpose, of a member its batch; "" for none
	State     string // of a member
	Size      int64  // in bytes, of files and members
	CreatedAt time.Time
	Body      json.RawMessage // compact JSON
}

// List selects items of one kind, owner and parent.
type List struct {
	Kind   Kind
	Owner  string
	Parent string
	Group  string // "" for all
	State  string // "" for all
	Oldest bool   // the oldest come first, not the newest
	After  string // only items behind the one with this id; "" begins at the start
	Before string // only items in front of the one with this id
	Limit  int    // 0 for no limit
}

// Tally counts items.
type Tally struct {
	N    int
	Size int64
}
