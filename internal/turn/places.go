package turn

import (
	"slices"
	"sync"
)

// places limits the number of turns in progress. Each origin (access.Origin) and each user gets at most three quarters of
// them, so that none can lock out others. The origin "" (this machine, or a proxy on it) has no such limit, so anonymous
// callers there may use all.
type places struct {
	most, share int // in all, and for each holder

	mu    sync.Mutex
	taken int
	of    map[holder]int // number taken
}

// holder is an origin, or the subject of a user.
type holder struct {
	user bool
	name string // never empty
}

func newPlaces(most int) *places {
	return &places{most: most, share: most - most/4, of: map[holder]int{}}
}

// take takes a place if one is free for the origin and the user; either may be "". The caller must call leave once when the turn
// ends.
func (p *places) take(origin, user string) (leave func(), ok bool) {
	holders := slices.DeleteFunc([]holder{{false, origin}, {true, user}}, func(h holder) bool { return h.name == "" })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most || slices.ContainsFunc(holders, func(h holder) bool { return p.of[h] >= p.share }) {
		return nil, false
	}
	p.taken++
	for _, h := range holders {
		p.of[h]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		for _, h := range holders {
			if p.of[h]--; p.of[h] == 0 {
				delete(p.of, h)
			}
		}
	}, true
}
