package access

import (
	"maps"
	"slices"
)

// Owner is the role of members who may also manage a namespace's members and change all its documents. It exists only within a
// namespace.
const Owner Role = "owner"

// MemberRoles are the roles of members, the weakest first.
var MemberRoles = []Role{Reader, Editor, Owner}

// Member is a user or a group with a role in a namespace.
type Member struct {
	Namespace string
	Group     bool   // Name is the id of a group, not a subject
	Name      string // never empty
	Role      Role   // one of MemberRoles
}

// Members holds the members of all closed namespaces, which only members and administrators may use. All other namespaces are
// open. It is immutable; nil means that all namespaces are open.
type Members struct {
	closed map[string]*memberships
}

type memberships struct{ users, groups map[string]Role }

// NewMembers returns the members of the closed namespaces. It ignores members of other namespaces.
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

// Closed returns the closed namespaces, sorted. A namespace remains closed when its last member is removed.
func (m *Members) Closed() []string {
	if m == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m.closed))
}

// RoleOf returns the strongest role that a caller has in a namespace as a user or through a group, or "". closed is false for an
// open namespace.
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

// MayEdit reports whether the caller may add documents to a namespace and delete their own. Anonymous callers may do so in open
// namespaces, unless the server's settings forbid it (see package auth).
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

// MayInstruct reports whether the caller may write the instructions of a namespace. Anonymous callers may do so wherever they may
// add documents.
func (p Principal) MayInstruct(namespace string) bool {
	return p.MayManage(namespace) || p.Subject == "" && p.MayEdit(namespace)
}

// MayChange reports whether the caller may change the owner's document in a namespace. The owner "" means that the document was
// stored by an anonymous caller or by the program itself.
func (p Principal) MayChange(namespace, owner string) bool {
	if p.MayManage(namespace) {
		return true
	}
	if _, closed := p.Members.RoleOf(p, namespace); closed {
		return p.MayEdit(namespace) && (owner == p.Subject || owner == "")
	}
	return p.MayUse(namespace) && (owner == p.Subject || owner == "" && p.Role.Includes(Editor))
}

// EditsSome reports whether the caller may edit at least one closed namespace.
func (p Principal) EditsSome() bool { return slices.ContainsFunc(p.Members.Closed(), p.MayEdit) }

// ManagesSome reports whether the caller may manage at least one closed namespace.
func (p Principal) ManagesSome() bool { return slices.ContainsFunc(p.Members.Closed(), p.MayManage) }
