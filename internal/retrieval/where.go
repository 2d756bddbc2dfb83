package retrieval

import (
	"context"
	"fmt"
	"slices"

	"parley/internal/attribute"
)

// maxConditions is the number of conditions of a namespace whose results are remembered, and maxMeeting the number of revisions
// in all of these.
const (
	maxConditions = 32
	maxMeeting    = 2 << 20
)

// passing is the result of testing a condition on the documents of a namespace. A revision never changes its attributes.
type passing struct {
	examined []int64    // revisions, ascending; shared with the other conditions
	set      *Revisions // those of them that meet the condition
}

// covers reports whether a state's revisions are those that were examined.
func (p passing) covers(all []int64) bool {
	return p.set != nil && len(all) == len(p.examined) && len(missing(all, p.examined)) == 0
}

// confined returns the query with its condition replaced by the revisions that meet it. whole is false if some revisions of the
// state are no longer stored.
func (c *Corpus) confined(ctx context.Context, st *state, q Query) (confined Query, whole bool, err error) {
	if q.Where == nil {
		return q, true, nil
	}
	set, whole, err := c.meeting(ctx, st, q.Namespace, q.Where)
	if err != nil {
		return q, false, err
	}
	q.Where, q.Within = nil, q.Within.Both(set)
	return q, whole, nil
}

// examinedAtOnce is the number of documents whose attributes are read at once.
const examinedAtOnce = 1000

// meeting returns the revisions of a state that meet a condition. It reads only the attributes of revisions that it has not
// examined before.
func (c *Corpus) meeting(ctx context.Context, st *state, namespace string, where *attribute.Condition) (set *Revisions, whole bool, err error) {
	s, key, all := c.space(namespace), where.String(), st.revisions()
	if known := s.meets(key); known.covers(all) {
		return known.set, true, nil
	}
	select { // one at a time: it occupies a processor, and other requests may need the same result
	case s.examining <- struct{}{}:
		defer func() { <-s.examining }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	known := s.meets(key)
	if known.covers(all) {
		return known.set, true, nil
	}
	var ids []int64
	if known.set != nil {
		ids = slices.DeleteFunc(slices.Clone(known.set.ids), func(id int64) bool { return !isIn(all, id) })
	}
	whole = true
	var documents []Document
	for some := range slices.Chunk(missing(all, known.examined), examinedAtOnce) {
		documents = documents[:0]
		if err := c.store.EachDocument(ctx, namespace, some, func(d Document) { documents = append(documents, d) }); err != nil {
			return nil, false, fmt.Errorf("read the attributes of documents: %w", err)
		}
		whole = whole && len(documents) == len(some)
		for _, d := range documents {
			if where.Holds(d.AllAttributes().Prepared()) {
				ids = append(ids, d.Revision)
			}
		}
	}
	set = NewRevisions(ids)
	s.remember(key, passing{all, set})
	return set, whole, nil
}

// meets returns the remembered result of a condition.
func (s *space) meets(key string) passing {
	s.meet.Lock()
	defer s.meet.Unlock()
	return s.met[key]
}

// remember stores the result of a condition.
func (s *space) remember(key string, p passing) {
	s.meet.Lock()
	defer s.meet.Unlock()
	revisions := len(p.set.ids) + len(p.examined)
	for _, other := range s.met {
		if revisions += len(other.set.ids); !sameList(other.examined, p.examined) {
			revisions += len(other.examined)
		}
	}
	if s.met == nil || len(s.met) >= maxConditions || revisions > maxMeeting {
		s.met = map[string]passing{}
	}
	s.met[key] = p
}

// sameList reports whether two lists share the same memory.
func sameList(a, b []int64) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

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
