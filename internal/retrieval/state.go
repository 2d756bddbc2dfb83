package retrieval

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/lexical"
	"parley/internal/vector"
)

// state is the index of a namespace at one version of the store, with the access rights of its documents. It is immutable,
// except for the fields that say otherwise.
type state struct {
	parts   []part // ascending by id
	rights  rightsTable
	reader  *lexical.Reader // over the parts
	vectors vectorSet       // may be older than the rest, but its rights are current
	loading time.Duration   // how long it last took to read the whole index

	version       atomic.Int64 // grows when another process changes the store
	vectorVersion atomic.Int64 // the same for the vectors
	checked       atomic.Int64 // when it was last known to be current, in nanoseconds since 1970
	expired       atomic.Bool  // it lacks a change of this process, and may not be searched any more

	listing sync.Once
	listed  []int64 // see revisions

	mu     sync.Mutex
	views  map[viewKey]*view    // bounded by maxViews
	groups map[groupList]string // what joined returned for long lists; bounded by maxViews
}

// part is one segment of an index.
type part struct {
	id      int64 // the store's
	segment *lexical.Segment
	rights  []rightsID // per revision of the segment
	gone    int        // revisions of the segment that are no longer stored
}

const maxViews = 64

// newState returns a state that is current now, without vectors.
func newState(version int64, parts []part, rights rightsTable, loading time.Duration) *state {
	segments := make([]*lexical.Segment, len(parts))
	for i, p := range parts {
		segments[i] = p.segment
	}
	st := &state{
		parts: parts, rights: rights, reader: lexical.NewReader(segments), loading: loading,
		views: make(map[viewKey]*view), groups: make(map[groupList]string),
	}
	st.version.Store(version)
	st.checked.Store(time.Now().UnixNano())
	return st
}

// withVectors returns the state with the vectors of another version.
func (st *state) withVectors(vectors vectorSet, version int64) *state {
	next := newState(st.version.Load(), st.parts, st.rights, st.loading)
	next.vectors = vectors
	next.vectorVersion.Store(version)
	next.checked.Store(st.checked.Load())
	next.expired.Store(st.expired.Load())
	return next
}

// follow returns the state after a batch that was the next change of the store. It reads nothing, so that a bulk ingestion costs
// as much for the last document as for the first. A state can be followed only once.
func (st *state) follow(b Batch, done Applied) (*state, error) {
	added := make([]*lexical.Segment, len(b.AddSegments))
	for i, s := range b.AddSegments {
		var err error
		if added[i], err = lexical.Open(s.Data); err != nil {
			return nil, fmt.Errorf("open the new segment %d: %w", done.Segments[i], err)
		}
	}
	table := st.rights
	put := make(map[int64]rightsID, len(b.Put))
	for _, p := range b.Put {
		list, ruled := done.Ruled[p.Document.Revision]
		if !ruled {
			list = p.Document.Access
		}
		put[p.Document.Revision] = table.add(p.Document.Category, list)
	}
	var parts []part
	for _, p := range st.parts {
		if !slices.Contains(b.DropSegments, p.id) {
			parts = append(parts, p.without(done.Gone))
		}
	}
	for i, s := range added {
		parts = append(parts, newPart(done.Segments[i], s, func(revision int64) rightsID {
			if id, ok := put[revision]; ok {
				return id
			}
			return st.rightsOf(revision)
		}))
	}
	next := newState(done.Version, parts, table, st.loading)
	next.vectors = st.vectors.follow(put, done.Gone)
	next.vectorVersion.Store(st.vectorVersion.Load())
	return next, nil
}

func newPart(id int64, s *lexical.Segment, rights func(revision int64) rightsID) part {
	p := part{id: id, segment: s, rights: make([]rightsID, s.Len())}
	for n, r := range s.Revisions() {
		if p.rights[n] = rights(r); p.rights[n] == nobody {
			p.gone++
		}
	}
	return p
}

// without returns the part after some revisions, of this part or others, were deleted.
func (p part) without(gone []int64) part {
	copied := false
	for _, r := range gone {
		if n, ok := p.segment.Find(r); ok && p.rights[n] != nobody {
			if !copied {
				p.rights, copied = slices.Clone(p.rights), true
			}
			p.rights[n] = nobody
			p.gone++
		}
	}
	return p
}

// rightsOf returns the rights of a revision: nobody if it is not in the index.
func (st *state) rightsOf(revision int64) rightsID {
	for _, p := range st.parts {
		if n, ok := p.segment.Find(revision); ok {
			return p.rights[n]
		}
	}
	return nobody
}

// viewKey is a Filter in comparable form.
type viewKey struct {
	subject, groups  string
	include, exclude string
	user, group      bool
	within           string
}

// groupList identifies a list of groups by its address, which is not reused while it is a key.
type groupList struct {
	first *string
	n     int
}

// longList is the number of groups from which the result of joined is cached.
const longList = 32

// joinedGroups is joined for the groups of a principal, which are never modified. Requests with the same remembered token or
// session have the same list, and joining a thousand groups takes a twentieth of the time of a search.
func (st *state) joinedGroups(groups []string) string {
	if len(groups) < longList {
		return joined(groups)
	}
	list := groupList{&groups[0], len(groups)}
	st.mu.Lock()
	defer st.mu.Unlock()
	key, ok := st.groups[list]
	if !ok {
		if len(st.groups) >= maxViews {
			clear(st.groups)
		}
		key = joined(groups)
		st.groups[list] = key
	}
	return key
}

func (st *state) viewKey(f Filter) viewKey {
	return viewKey{
		subject: f.Principal.Subject, groups: st.joinedGroups(f.Principal.Groups),
		include: f.IncludeCategory, exclude: f.ExcludeCategory,
		user: f.RequireUser, group: f.RequireGroup, within: f.Within.name(),
	}
}

// view is the part of an index that a filter lets through.
type view struct {
	lexical *lexical.View
	vectors []vector.Shown
	few     []int64 // the revisions, if they are few and their vectors are in the database; else nil
}

// forQuery returns the same view for the time of one query: see lexical.View.ForQuery.
func (v *view) forQuery() *view { return &view{v.lexical.ForQuery(), v.vectors, v.few} }

// view returns the part of the index that the filter lets through.
func (st *state) view(f Filter) *view {
	key := st.viewKey(f)
	st.mu.Lock()
	v := st.views[key]
	st.mu.Unlock()
	if v != nil {
		return v
	}
	maySee := st.rights.maySee(f)
	sees := func(p *part, revision int) bool {
		return maySee[p.rights[revision]] && f.Within.Has(p.segment.Revision(revision))
	}
	v = &view{
		lexical: st.reader.View(func(segment, revision int) bool { return sees(&st.parts[segment], revision) }),
		vectors: st.vectors.shown(maySee, f.Within),
	}
	v.few = st.few(v.vectors, sees)
	st.mu.Lock()
	if len(st.views) >= maxViews {
		clear(st.views)
	}
	st.views[key] = v
	st.mu.Unlock()
	return v
}
