package turn

import "sync"

// places are those of the turns in progress. One origin (access.Origin) has three quarters of them at most, so
// that whoever asks most leaves some to others; "", which is this machine or a proxy on it, may have all.
type places struct {
	most, share int

	mu    sync.Mutex
	taken int
	of    map[string]int // taken, by origins
}

func newPlaces(most int) *places {
	return &places{most: most, share: most - most/4, of: map[string]int{}}
}

// take takes a place if there is one for the origin. The caller calls leave once, at the end.
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
