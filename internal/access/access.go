// Package access says who is asking and who may see what.
//
// A Principal is an explicit argument of every chat request, retrieval query and store call.
// It comes from the server's own policy (a verified token, or Anonymous), never from a field
// of the request: what a client claims can only tighten what its Principal may see.
package access

import (
	"fmt"
	"slices"
)

// Principal is the caller on whose behalf something is done. The zero value is Anonymous.
type Principal struct {
	Subject    string   // stable user id; "" for the anonymous caller
	Name       string   // for people to read; gives no rights
	Groups     []string // group ids, in no particular order; never changed in place
	Role       Role     // "" for the anonymous caller
	Namespaces []string // that the caller may use; nil means all
	Members    *Members // of the namespaces that have some, at the time of the request
}

// Role says which actions a signed-in caller may take in their namespaces. Each role includes those
// before it.
type Role string

// The roles.
const (
	Reader        Role = "reader"        // ask questions, and read what access lists admit
	Editor        Role = "editor"        // add and delete documents
	Administrator Role = "administrator" // change what others own; in all namespaces: keys, usage of others
)

// Roles are all roles, the weakest first.
var Roles = []Role{Reader, Editor, Administrator}

// Includes reports whether a caller of role r may do what needs the other role.
func (r Role) Includes(other Role) bool {
	need := slices.Index(Roles, other)
	return need >= 0 && slices.Index(Roles, r) >= need
}

// Administers reports whether the caller may do what concerns all namespaces and users.
func (p Principal) Administers() bool { return p.Role == Administrator && p.Namespaces == nil }

// Prefixes of subjects that no identity provider can bring: those of API keys, and those of people who run commands on the
// server's machine.
const (
	KeyPrefix   = "key:"
	LocalPrefix = "local:"
)

// ProxyPrefix begins the subject of a front end that is trusted to name the user of a request but names none. No other
// caller has such a subject.
const ProxyPrefix = "proxy:"

// LibreChatPrefix begins the subjects of LibreChat's users, whose tokens say who they are.
const LibreChatPrefix = "librechat:"

// Deleted owns the ledger entries of deleted users. No caller has such a subject.
const Deleted = "deleted:"

// nobody is the only user in the list that Nobody returns. No caller has this subject.
const nobody = "nobody:"

// Reserved are the prefixes of subjects that Parley gives out itself. Identity providers and proxies must not bring such a name.
var Reserved = []string{KeyPrefix, ProxyPrefix, LocalPrefix, LibreChatPrefix, Deleted, nobody}

// Anonymous is the principal of every caller without a sign-in. They see only unrestricted documents.
var Anonymous = Principal{}

// List is the set of users and groups that may see a document. The zero List admits everyone.
type List struct {
	Users    []string // subjects
	Groups   []string // group ids
	SignedIn bool     `json:",omitempty"` // everybody who has signed in; left out of JSON when false, which keeps stored hashes of metadata valid
}

// The words by which a list admits everybody.
const (
	Public        = "public"
	EverySignedIn = "signed_in"
)

// Everybody returns the list that a word stands for.
func Everybody(word string) (*List, error) {
	switch word {
	case Public:
		return &List{}, nil
	case EverySignedIn:
		return &List{SignedIn: true}, nil
	}
	return nil, fmt.Errorf("everybody must be %q or %q", Public, EverySignedIn)
}

// Nobody returns the list that admits nobody.
func Nobody() List { return List{Users: []string{nobody}} }

// Restricted reports whether the list admits only some callers. Otherwise it admits everyone.
func (l List) Restricted() bool { return len(l.Users) > 0 || len(l.Groups) > 0 || l.SignedIn }

// Allows reports whether p may see what l guards.
func (l List) Allows(p Principal) bool {
	if !l.Restricted() {
		return true
	}
	if p.Subject != "" && (l.SignedIn || slices.Contains(l.Users, p.Subject)) {
		return true
	}
	return slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(l.Groups, g) })
}
