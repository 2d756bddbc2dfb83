// Package shelf describes the small items that people keep on the server, most of them through OpenAI's file APIs: files, vector
// stores, the files in each store, and batches of them. An item is raw JSON as the API defines it, with the keys by which lists
// are selected and sorted. Package documents holds the contents of files and the documents made from them.
package shelf

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrNotFound means that the owner has no such item. Items of other owners are not found either.
var ErrNotFound = errors.New("no such item")

// Kind is the kind of an item.
type Kind string

// The kinds.
const (
	Files   Kind = "file"
	Stores  Kind = "store"
	Members Kind = "member" // a file in a store; its id is the file's
	Batches Kind = "batch"  // files that were added to a store together
	Uploads Kind = "upload" // a file that comes in parts
	Parts   Kind = "part"   // a part of an upload
	Shares  Kind = "share"  // names the owner of a file that anyone who knows its group may search
	Prompts Kind = "prompt" // a saved prompt; the body is a JSON string
	Folders Kind = "folder" // a folder of conversations, which refer to it; the body is its name as a JSON string

	Grants Kind = "grant" // without owner: the access that an administrator's sign-in at an MCP server granted; the id is the server's name

	Budgets Kind = "budget" // without owner: the spending limits that administrators have set

	// Deadlines have no owner. CreatedAt is when the item with the same id expires; the body holds that item's kind and owner.
	Deadlines Kind = "deadline"
)

// Key identifies an item.
type Key struct {
	Kind   Kind
	Owner  string // access.Principal.Subject; "" for the anonymous caller
	Parent string // the id of the store, for members and batches, or of the upload of a part; otherwise ""
	ID     string
}

// Item is a stored item.
type Item struct {
	Key
	Group     string // the purpose of a file, or the batch of a member; "" for none
	State     string // of a member or upload
	Size      int64  // in bytes, of files, members, uploads and parts
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
	Oldest bool   // oldest first instead of newest first
	After  string // only items after the one with this id; "" begins at the start
	Before string // only items before the one with this id
	Limit  int    // 0 for no limit
}

// Tally is a number of items and their total size.
type Tally struct {
	N    int
	Size int64
}
