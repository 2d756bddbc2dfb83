package retrieval

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"parley/internal/attribute"
)

// maxConditions is the number of conditions of a namespace whose documents are remembered, and maxMeeting the number of these in all.
const (
	maxConditions = 32
	maxMeeting    = 2 << 20
)

// passing is what was found out about the documents of a namespace and a condition. A revision never changes its
// attributes.
type passing struct {
	examined []int64    // revisions, ascending; shared with the other conditions
	set      *Revisions // those of them that meet the condition
}

// confined returns the query with its condition replaced by the revisions that meet it.
func (c *Corpus) confined(ctx context.Context, st *state, q Query) (Query, error) {
	if q.Where == nil {
		return q, nil
	}
	set, err := c.meeting(ctx, st, q.Namespace, q.Where)
	if err != nil {
		return q, err
	}
	q.Where, q.Within = nil, q.Within.both(set)
	return q, nil
}

// meeting returns the revisions of a state that meet a condition. It reads the attributes of those only that it has not
// examined before.
func (c *Corpus) meeting(ctx context.Context, st *state, namespace string, where *attribute.Condition) (*Revisions, error) {
	s, key := c.space(namespace), where.String()
	if len(key) > sha256.Size {
		sum := sha256.Sum256([]byte(key))
		key = string(sum[:])
	}
	s.meet.Lock()
	known := s.met[key]
	s.meet.Unlock()
	all := st.revisions()
	fresh := missing(all, known.examined)
	if len(fresh) == 0 && len(all) == len(known.examined) && known.set != nil {
		return known.set, nil
	}
	var ids []int64
	if known.set != nil {
		ids = slices.DeleteFunc(slices.Clone(known.set.ids), func(id int64) bool { return !isIn(all, id) })
	}
	if len(fresh) > 0 {
		asked := fresh
		if len(fresh)*2 > len(all) {
			asked = nil
		}
		err := c.store.EachDocument(ctx, namespace, asked, func(d Document) {
			if isIn(fresh, d.Revision) && where.Holds(d.AllAttributes()) {
				ids = append(ids, d.Revision)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read the attributes of documents: %w", err)
		}
	}
	set := NewRevisions(ids)
	s.meet.Lock()
	defer s.meet.Unlock()
	meeting := len(set.ids)
	for _, p := range s.met {
		meeting += len(p.set.ids)
	}
	if s.met == nil || len(s.met) >= maxConditions || meeting > maxMeeting {
		s.met = map[string]passing{}
	}
	s.met[key] = passing{all, set}
	return set, nil
}

// revisions returns the revisions in the index that are stored, ascending. The caller must not change them.
func (st *state) revisions() []int64 {
	st.listing.Do(func() {
		for _, p := range st.parts {
			for n, r := range p.segment.Revisions() {
				if p.rights[n] != nobody {
					st.listed = append(st.listed, r)
				}
			}
		}
		slices.Sort(st.listed)
	})
	return st.listed
}

func isIn(sorted []int64, id int64) bool {
	_, ok := slices.BinarySearch(sorted, id)
	return ok
}

// missing returns the elements of one ascending list that are not in another.
func missing(all, other []int64) (rest []int64) {
	for _, id := range all {
		for len(other) > 0 && other[0] < id {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != id {
			rest = append(rest, id)
		}
	}
	return rest
}
