// Package access defines callers (Principal), and what they may see and do.
//
// A Principal is an explicit argument of every chat request, retrieval query and store call.
// It comes from the server's own policy (a verified token, or Anonymous), never from a field
// of the request: a client's own claims can only narrow what its Principal may see.
package access

import (
	"fmt"
	"slices"
)

// Principal is the caller on whose behalf the server acts. The zero value is Anonymous.
type Principal struct {
	Subject    string   // stable user id; "" for the anonymous caller
	Name       string   // for people to read; gives no rights
	Groups     []string // group ids, in no particular order; must not be modified
	Role       Role     // "" for the anonymous caller
	Namespaces []string // namespaces that the caller may use; nil means all
	Members    *Members // of closed namespaces, as of the request; nil means that all are open
}

// Role says which actions a signed-in caller may take in their namespaces. Each role includes the weaker
// ones.
type Role string

// The roles.
const (
	Reader        Role = "reader"        // ask questions, and read what access lists admit
	Editor        Role = "editor"        // add and delete documents
	Administrator Role = "administrator" // change what others own; if not limited to some namespaces: manage keys, see others' usage
)

// Roles are all roles, the weakest first.
var Roles = []Role{Reader, Editor, Administrator}

// Includes reports whether role r has the rights of the other role. Unknown roles have no rights.
func (r Role) Includes(other Role) bool {
	need := slices.Index(Roles, other)
	return need >= 0 && slices.Index(Roles, r) >= need
}

// Administers reports whether the caller is an administrator of all namespaces and users, not only of some
// namespaces.
func (p Principal) Administers() bool { return p.Role == Administrator && p.Namespaces == nil }

// Prefixes of subjects that no identity provider may use: for API keys, and for people who run commands on the server's
// machine.
const (
	KeyPrefix   = "key:"
	LocalPrefix = "local:"
)

// ProxyPrefix begins the subject of a trusted front end (auth.Proxy) whose request names no user. No other caller has such
// a subject.
const ProxyPrefix = "proxy:"

// LibreChatPrefix begins the subjects of LibreChat's users, who are identified by LibreChat's tokens.
const LibreChatPrefix = "librechat:"

// Deleted owns the ledger entries of deleted users. No caller has such a subject.
const Deleted = "deleted:"

// nobody is the only user in the list that Nobody returns. No caller has this subject.
const nobody = "nobody:"

// Reserved are the prefixes of subjects that only Parley assigns. Identity providers and proxies must not use them.
var Reserved = []string{KeyPrefix, ProxyPrefix, LocalPrefix, LibreChatPrefix, Deleted, nobody}

// Anonymous is the principal of callers who have not signed in. They see only unrestricted documents.
var Anonymous = Principal{}

// List is the set of users and groups that may see a document. The zero List admits everyone.
type List struct {
	Users    []string // subjects
	Groups   []string // group ids
	SignedIn bool     `json:",omitempty"` // everybody who has signed in; omitted from JSON when false, so that stored hashes of metadata remain valid
}

// Words for lists that name no users or groups; see Everybody.
const (
	Public        = "public"
	EverySignedIn = "signed_in"
)

// Everybody returns the list for Public or EverySignedIn, and an error for any other word.
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
