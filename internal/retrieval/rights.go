package retrieval

import (
	"strconv"
	"strings"

	"parley/internal/access"
)

// rightsID names a category together with an access list, which many documents have in common.
type rightsID uint32

// Two rights that nobody has.
const (
	nobody    rightsID = iota // of a revision that is no longer stored
	notYet                    // of a revision that the state does not know yet
	ownRights                 // the first of the rights of documents
)

// rightsTable numbers the rights of a namespace's documents. Adding rights to a copy does not change the other copies; only the
// last copy may be added to, by one goroutine.
type rightsTable struct {
	all []rights // by rightsID; those before ownRights are empty
	ids map[string]rightsID
}

type rights struct {
	category string
	access   access.List
}

func newRightsTable() rightsTable {
	return rightsTable{all: make([]rights, ownRights), ids: make(map[string]rightsID)}
}

// add returns the id of some rights, a new one if need be.
func (t *rightsTable) add(category string, l access.List) rightsID {
	key := joined([]string{category, joined(l.Users), joined(l.Groups), strconv.FormatBool(l.SignedIn)})
	id, ok := t.ids[key]
	if !ok {
		id = rightsID(len(t.all))
		t.ids[key] = id
		t.all = append(t.all, rights{category, l})
	}
	return id
}

// maySee returns, by rightsID, whether the filter admits it.
func (t *rightsTable) maySee(f Filter) []bool {
	see := make([]bool, len(t.all))
	for id := int(ownRights); id < len(see); id++ {
		see[id] = f.MaySee(t.all[id].category, t.all[id].access)
	}
	return see
}

// joined encodes strings as one, so that different lists give different results.
func joined(all []string) string {
	if len(all) == 0 {
		return ""
	}
	size := 0
	for _, s := range all {
		size += len(s) + len("1000:")
	}
	var b strings.Builder
	b.Grow(size) // a user may be in a thousand groups
	for _, s := range all {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}
