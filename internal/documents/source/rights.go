package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/access"
)

// Rights say who may read an object, by the names that the source uses.
type Rights struct {
	Access access.List
	Fault  string // why Access does not say who may read the object, but has its owner or nobody; "" if it does
}

// The limits of a list of names.
const (
	maxReaders = 1000
	maxReader  = 512 // bytes of a name
)

// unknownRights are those of an object of which only the owner is known, "" for nobody.
func unknownRights(owner, fault string) *Rights {
	r := readers{}.with(reader{aUser, owner}).rights()
	r.Fault = fault
	return r
}

// readerKind says whom a reader stands for.
type readerKind int

const (
	aUser readerKind = iota
	aGroup
	signedIn  // all who have signed in
	everybody // also those who have not signed in
)

// reader is whom a right or a denial concerns. A user or group without a name is one that is not known.
type reader struct {
	kind readerKind
	name string
}

// readers are those who may read something.
type readers map[reader]bool

// with adds a reader.
func (all readers) with(r reader) readers {
	all[r] = true
	return all
}

// surely reports whether everyone for whom r stands is among the readers.
func (all readers) surely(r reader) bool {
	return all[r] && (r.kind > aGroup || r.name != "") || all[reader{kind: everybody}] || r.kind != everybody && all[reader{kind: signedIn}]
}

// both returns the readers that are surely in a and in b. A user in a and a group in b give nothing: the members of groups are
// not known here.
func both(a, b readers) readers {
	out := readers{}
	for _, side := range [][2]readers{{a, b}, {b, a}} {
		for r := range side[0] {
			if side[1].surely(r) {
				out[r] = true
			}
		}
	}
	return out
}

// rule allows or denies a reader something.
type rule struct {
	reader
	deny bool
}

// firstMatch returns who may read if the first rule that applies to a person decides. A list cannot say "all of these but one".
// So after any denial it grants nothing to groups or to everybody, and after that of a group, of everybody or of an unknown user
// nothing to users.
func firstMatch(rules []rule) readers {
	granted, denied, manyDenied := readers{}, readers{}, false
	for _, r := range rules {
		switch {
		case r.deny:
			denied[r.reader] = true
			manyDenied = manyDenied || r.kind != aUser || r.name == ""
		case r.kind == aUser && !manyDenied && !denied[r.reader], r.kind != aUser && len(denied) == 0:
			granted[r.reader] = true
		}
	}
	return granted
}

// rights returns the readers as a list. Names that nobody can have are left out.
func (all readers) rights() *Rights {
	if all[reader{kind: everybody}] {
		return &Rights{}
	}
	l := access.List{SignedIn: all[reader{kind: signedIn}]}
	for r := range all {
		switch {
		case r.kind > aGroup || !isName(r.name):
		case r.kind == aUser:
			l.Users = append(l.Users, r.name)
		default:
			l.Groups = append(l.Groups, r.name)
		}
	}
	slices.Sort(l.Users)
	slices.Sort(l.Groups)
	switch {
	case len(l.Users)+len(l.Groups) > maxReaders:
		return &Rights{access.Nobody(), fmt.Sprintf("more than %d users and groups may read it", maxReaders)}
	case !l.Restricted():
		l = access.Nobody()
	}
	return &Rights{Access: l}
}

// isName reports whether a user or a group may have a name.
func isName(s string) bool {
	return s != "" && len(s) <= maxReader && s == strings.TrimSpace(s) && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// posix is the access control list of a file or folder of POSIX.
type posix struct {
	owner, group string
	entries      []posixEntry
}

// posixEntry says what somebody may do: read, write and execute.
type posixEntry struct {
	class string // "user", "group", "mask" or "other"
	name  string // "" for the owner and the owning group
	may   string // such as "r-x"
}

// parsePOSIX reads entries such as "user::rwx,group:staff:r-x,mask::r-x,other::---".
func parsePOSIX(owner, group, text string) (p posix, ok bool) {
	p = posix{owner: owner, group: group}
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(text, ",") {
		if strings.HasPrefix(entry, "default:") {
			continue // of what is created there
		}
		parts := strings.Split(entry, ":")
		if len(parts) != 3 || len(parts[2]) != 3 {
			return p, false
		}
		seen[parts[0]+":"+parts[1]] = true
		p.entries = append(p.entries, posixEntry{parts[0], parts[1], parts[2]})
	}
	return p, seen["user:"] && seen["group:"] && seen["other:"]
}

// posixOf returns the list of a file that has nothing but a mode.
func posixOf(owner, group string, mode uint32) posix {
	p := posix{owner: owner, group: group}
	for i, class := range []string{"user", "group", "other"} {
		bits := mode >> (6 - 3*i)
		may := []byte("---")
		for n, c := range []byte("rwx") {
			if bits&(4>>n) != 0 {
				may[n] = c
			}
		}
		p.entries = append(p.entries, posixEntry{class: class, may: string(may)})
	}
	return p
}

// readersFor returns who has a right, "r" or "x". The first kind of entry that applies to a person decides: the owner's, that of
// a named user, those of groups (one that grants is enough), "other". The mask limits all kinds but the
// owner's. As on Azure, it limits "other" too.
func (p posix) readersFor(right string) readers {
	mask := "rwx"
	for _, e := range p.entries {
		if e.class == "mask" {
			mask = e.may
		}
	}
	var ranks [5][]rule
	for _, e := range p.entries {
		deny := !strings.Contains(e.may, right) || !strings.Contains(mask, right)
		switch {
		case e.class == "user" && e.name == "":
			ranks[0] = append(ranks[0], rule{reader{aUser, p.owner}, !strings.Contains(e.may, right)})
		case e.class == "user":
			ranks[1] = append(ranks[1], rule{reader{aUser, e.name}, deny})
		case e.class == "group" && !deny:
			ranks[2] = append(ranks[2], rule{reader{aGroup, cmp.Or(e.name, p.group)}, deny})
		case e.class == "group":
			ranks[3] = append(ranks[3], rule{reader{aGroup, cmp.Or(e.name, p.group)}, deny})
		case e.class == "other":
			ranks[4] = append(ranks[4], rule{reader{kind: signedIn}, deny})
		}
	}
	return firstMatch(slices.Concat(ranks[:]...))
}
