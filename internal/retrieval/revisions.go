package retrieval

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Revisions is a set of revisions of documents, to which a search is confined. It is immutable. A nil set has all
// revisions.
type Revisions struct {
	ids []int64 // ascending
	key string  // the same for equal sets only
}

// NewRevisions returns the set of some revisions, which may be empty.
func NewRevisions(ids []int64) *Revisions {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	raw := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(id))
	}
	sum := sha256.Sum256(raw)
	return &Revisions{ids: ids, key: string(sum[:])}
}

// Has reports whether a revision is in the set.
func (r *Revisions) Has(id int64) bool {
	if r == nil {
		return true
	}
	_, ok := slices.BinarySearch(r.ids, id)
	return ok
}

// Both returns the revisions that are in two sets.
func (r *Revisions) Both(other *Revisions) *Revisions {
	if r == nil {
		return other
	}
	return NewRevisions(slices.DeleteFunc(slices.Clone(r.ids), func(id int64) bool { return !other.Has(id) }))
}

// IDs returns the revisions, ascending. The caller must not change them.
func (r *Revisions) IDs() []int64 { return r.ids }

// name returns a text that tells sets apart.
func (r *Revisions) name() string {
	if r == nil {
		return ""
	}
	return r.key
}
