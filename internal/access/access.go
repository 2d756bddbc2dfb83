// Package access says who is asking and who may see what.
//
// A Principal is an explicit argument of every chat request, retrieval query and store call.
// It comes from the server's own policy (a verified token, or Anonymous), never from a field
// of the request: what a client claims can only tighten what its Principal may see.
package access

import "slices"

// Principal is the caller on whose behalf something is done. The zero value is Anonymous.
type Principal struct {
	Subject string   // stable user id; "" for the anonymous caller
	Groups  []string // group ids, in no particular order
	Scopes  []string // what the caller may do, e.g. "admin"; empty means chat only
}

// Anonymous is a caller who has not signed in. Anonymous callers see only unrestricted documents.
var Anonymous = Principal{}

// List is the set of users and groups that may see a document. The zero List admits everyone.
type List struct {
	Users  []string // subjects
	Groups []string // group ids
}

// Restricted reports whether the list names anyone. Otherwise everyone is allowed.
func (l List) Restricted() bool { return len(l.Users) > 0 || len(l.Groups) > 0 }

// Allows reports whether p may see what l guards.
func (l List) Allows(p Principal) bool {
	if !l.Restricted() {
		return true
	}
	if p.Subject != "" && slices.Contains(l.Users, p.Subject) {
		return true
	}
	return slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(l.Groups, g) })
}
