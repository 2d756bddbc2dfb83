package turn

import "sync"

// places limits the number of turns in progress. One origin (access.Origin) gets at most three quarters
// of them, so that it cannot lock out others. The origin "", which is this machine or a proxy on it, may
// use all.
type places struct {
	most, share int

	mu    sync.Mutex
	taken int
	of    map[string]int // number taken, by origin
}

func newPlaces(most int) *places {
	return &places{most: most, share: most - most/4, of: map[string]int{}}
}

// take takes a place if one is free for the origin. The caller must call leave once when the turn ends.
func (p *places) take(origin string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most || origin != "" && p.of[origin] >= p.share {
		return nil, false
	}
	p.taken++
	p.of[origin]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.of[origin]--; p.of[origin] == 0 {
			delete(p.of, origin)
		}
	}, true
}
