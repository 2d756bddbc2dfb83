package access

import (
	"maps"
	"slices"
)

// Owner is the role of members who also manage the members of a namespace, and change all documents in it. It is a role in a
// namespace only.
const Owner Role = "owner"

// MemberRoles are the roles of members, the weakest first.
var MemberRoles = []Role{Reader, Editor, Owner}

// Member is a user or a group with a role in a namespace.
type Member struct {
	Namespace string
	Group     bool   // Name is the id of a group, and not a subject
	Name      string // never empty
	Role      Role   // one of MemberRoles
}

// Members are the members of all namespaces that have some. Other namespaces are open. It is immutable; nil has no members.
type Members struct {
	closed map[string]*memberships
}

type memberships struct{ users, groups map[string]Role }

// NewMembers returns the members of the closed namespaces. Members of others do not count.
func NewMembers(closed []string, all []Member) *Members {
	m := &Members{closed: map[string]*memberships{}}
	for _, name := range closed {
		m.closed[name] = &memberships{users: map[string]Role{}, groups: map[string]Role{}}
	}
	for _, one := range all {
		if in := m.closed[one.Namespace]; in != nil && one.Group {
			in.groups[one.Name] = one.Role
		} else if in != nil {
			in.users[one.Name] = one.Role
		}
	}
	return m
}

// Closed returns the namespaces that have members, sorted.
func (m *Members) Closed() []string {
	if m == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m.closed))
}

// RoleOf returns the strongest role that a caller has in a namespace as a user or by a group, "" for none. closed is false for a
// namespace without members.
func (m *Members) RoleOf(p Principal, namespace string) (role Role, closed bool) {
	if m == nil {
		return "", false
	}
	in, closed := m.closed[namespace]
	if !closed || p.Subject == "" {
		return "", closed
	}
	best := slices.Index(MemberRoles, in.users[p.Subject])
	if len(in.groups) > 0 {
		for _, g := range p.Groups {
			best = max(best, slices.Index(MemberRoles, in.groups[g]))
		}
	}
	if best < 0 {
		return "", true
	}
	return MemberRoles[best], true
}

// MayUse reports whether the caller may use a namespace.
func (p Principal) MayUse(namespace string) bool {
	if p.Namespaces != nil && !slices.Contains(p.Namespaces, namespace) {
		return false
	}
	role, closed := p.Members.RoleOf(p, namespace)
	return !closed || role != "" || p.Role == Administrator
}

// MayEdit reports whether the caller may add documents to a namespace and delete their own. For callers without sign-in that is
// up to the server's settings, but never in a namespace with members.
func (p Principal) MayEdit(namespace string) bool {
	if !p.MayUse(namespace) {
		return false
	}
	role, closed := p.Members.RoleOf(p, namespace)
	if closed {
		return role == Editor || role == Owner || p.Role == Administrator
	}
	return p.Subject == "" || p.Role.Includes(Editor)
}

// MayManage reports whether the caller may change the members of a namespace.
func (p Principal) MayManage(namespace string) bool {
	role, _ := p.Members.RoleOf(p, namespace)
	return p.MayUse(namespace) && (role == Owner || p.Role == Administrator)
}

// MayInstruct reports whether the caller may write the instructions of a namespace. Callers without sign-in may where they may
// add documents.
func (p Principal) MayInstruct(namespace string) bool {
	return p.MayManage(namespace) || p.Subject == "" && p.MayEdit(namespace)
}

// MayChange reports whether the caller may change a document that an owner has stored in a namespace; "" is the owner of what
// was stored without signing in, or by the program itself.
func (p Principal) MayChange(namespace, owner string) bool {
	if p.MayManage(namespace) {
		return true
	}
	if _, closed := p.Members.RoleOf(p, namespace); closed {
		return p.MayEdit(namespace) && (owner == p.Subject || owner == "")
	}
	return p.MayUse(namespace) && (owner == p.Subject || owner == "" && p.Role.Includes(Editor))
}

// EditsSome reports whether a member's role lets the caller edit some namespace.
func (p Principal) EditsSome() bool { return slices.ContainsFunc(p.Members.Closed(), p.MayEdit) }

// ManagesSome reports whether a member's role lets the caller manage some namespace.
func (p Principal) ManagesSome() bool { return slices.ContainsFunc(p.Members.Closed(), p.MayManage) }
