package crawl

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

const (
	defaultPages = 200
	maxHops      = 5       // consecutive redirects
	maxFound     = 100_000 // addresses on the list of a walk
	// manyFailures consecutive failures end a walk: the host is down, or wants no more requests.
	manyFailures = 3
)

// item is an address to visit.
type item struct {
	url    *url.URL
	depth  int
	hops   int  // redirects that led to it
	linked bool // a link or a redirect leads to it
	own    bool // treat it as a separate page, even if it redirects to or repeats another
}

// walk is the state of one Walk.
type walk struct {
	crawler *Crawler
	site    Site
	memory  map[string]Remembered
	yield   func(Visit, error) bool
	left    bool // the caller has stopped ranging

	scope    scope
	first    string
	entry    string // where redirects have led from the first address
	began    time.Time
	last     time.Time // of the last request
	queue    []item
	seen     map[string]bool
	robots   map[string]robotsFile // by scheme and host
	requests int
	pages    int
	failures int // consecutive failures
	stopped  bool

	alive  map[string]string // SHA-256 of the bodies of the pages of this walk
	bodies map[string]string // the address of a page by the SHA-256 of its body
	failed map[string]Reason // addresses that could not be read
	held   map[string]Visit  // visits of addresses that seem to repeat another page, by address
}

func newWalk(c *Crawler, site Site, memory map[string]Remembered, yield func(Visit, error) bool) *walk {
	if site.Pages <= 0 {
		site.Pages = defaultPages
	}
	w := &walk{
		crawler: c, site: site, memory: memory, yield: yield, began: time.Now(), seen: map[string]bool{},
		robots: map[string]robotsFile{}, alive: map[string]string{}, bodies: map[string]string{},
		failed: map[string]Reason{}, held: map[string]Visit{},
	}
	for _, address := range slices.Sorted(maps.Keys(memory)) {
		if m := memory[address]; m.Live && m.SHA256 != "" && w.bodies[m.SHA256] == "" {
			w.bodies[m.SHA256] = address
		}
	}
	return w
}

// all does the whole walk. It returns an error in the site's settings, or ctx's error.
func (w *walk) all(ctx context.Context) error {
	address, err := Normalise(w.site.URL)
	if err != nil {
		return err
	}
	if w.scope, err = newScope(address, w.site); err != nil {
		return err
	}
	first, err := url.Parse(address)
	if err != nil {
		return err
	}
	w.first, w.entry = address, address
	w.seen[address] = true
	w.queue = []item{{url: first, linked: true}}
	entered := false
	for len(w.queue) > 0 && !w.over() {
		it := w.queue[0]
		w.queue = w.queue[1:]
		if err := w.visit(ctx, it); err != nil {
			return err
		}
		if entered || it.url.String() != w.entry {
			continue
		}
		entered = true
		if err := w.enter(ctx, it.url); err != nil {
			return err
		}
	}
	if err := w.lookAfter(ctx); err != nil {
		return err
	}
	return w.settle(ctx)
}

// enter adds the pages that the site lists in sitemaps, after the visit of the first page.
func (w *walk) enter(ctx context.Context, first *url.URL) error {
	if w.site.Depth == 0 || w.site.MediaWiki || w.over() {
		return nil
	}
	file, err := w.robotsOf(ctx, first)
	if err != nil {
		return err
	}
	return w.addSitemaps(ctx, file.rules.sitemaps)
}

// over reports whether the walk must stop.
func (w *walk) over() bool { return w.left || w.stopped }

// lookAfter visits remembered addresses to which no link leads any more. A page counts as gone only
// when its server says so.
func (w *walk) lookAfter(ctx context.Context) error {
	for _, address := range slices.Sorted(maps.Keys(w.memory)) {
		if w.over() {
			return nil
		}
		m := w.memory[address]
		u, err := url.Parse(address)
		if w.seen[address] || !m.Live || err != nil {
			continue
		}
		w.seen[address] = true
		if !w.scope.holds(u) {
			if w.reached() && !m.Skip {
				w.tell(Visit{URL: address, Outcome: Refused, Reason: OutOfSite, Detail: "it lies outside of the site's prefix"})
			}
			continue
		}
		if err := w.visit(ctx, item{url: u, depth: w.site.Depth}); err != nil {
			return err
		}
	}
	return nil
}

// reached reports whether the first page exists, so that the scope is known.
func (w *walk) reached() bool {
	_, ok := w.resolve(w.first)
	return ok
}

// settle reports the addresses that seemed to duplicate others, now that the walk knows which of the
// others exist. An address whose other does not exist is visited as a separate page.
func (w *walk) settle(ctx context.Context) error {
	for _, address := range slices.Sorted(maps.Keys(w.held)) {
		if w.left {
			return nil
		}
		v := w.held[address]
		to, ok := w.resolve(address)
		if ok {
			v.To, v.State.To = to, to
			w.tell(v)
			continue
		}
		u, err := url.Parse(address)
		switch {
		case err != nil || w.stopped: // unknown
		case v.moved:
			w.tellMoved(v)
		default:
			if err := w.visit(ctx, item{url: u, depth: w.site.Depth, linked: v.Linked, own: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellMoved reports a redirect that leads to no page.
func (w *walk) tellMoved(v Visit) {
	end := v
	for range maxHops {
		next, ok := w.held[end.To]
		if !ok {
			break
		}
		end = next
	}
	v.Outcome, v.Reason, v.Detail = Refused, Redirect, v.Detail+", which gave no page"
	if reason, ok := w.failed[end.To]; ok {
		v.Outcome, v.Reason = Failed, reason
	}
	w.tell(v)
}

// resolve follows duplicates to the page whose content they repeat.
func (w *walk) resolve(address string) (string, bool) {
	at := address
	for range maxHops + 1 {
		if _, ok := w.alive[at]; ok {
			return at, true
		}
		v, ok := w.held[at]
		if body := w.alive[v.To]; !ok || v.State.Same && body != v.SHA256 {
			return "", false
		}
		at = v.To
	}
	return "", false
}

// push adds an address to the list, if it is new and within the site.
func (w *walk) push(it item) {
	key := it.url.String()
	if w.seen[key] || len(w.seen) >= maxFound || it.depth > w.site.Depth || !w.scope.holds(it.url) || !mayBeText(it.url) {
		return
	}
	w.seen[key] = true
	if it.hops > 0 { // a redirect is followed before anything else
		w.queue = append([]item{it}, w.queue...)
		return
	}
	w.queue = append(w.queue, it)
}

// follow adds remembered links to the list.
func (w *walk) follow(it item, links []string) {
	for _, link := range links {
		if u, err := it.url.Parse(link); err == nil {
			w.push(item{url: u, depth: it.depth + 1, linked: true})
		}
	}
}

func (w *walk) tell(v Visit) {
	v.First = v.First || v.URL == w.first || v.URL == w.entry
	v.Found = len(w.seen)
	if !w.left && !w.yield(v, nil) {
		w.left = true
	}
}

func (w *walk) note(address string, s State) { w.tell(Visit{URL: address, Outcome: Noted, State: s}) }

func (w *walk) stop(reason Reason, format string, args ...any) {
	w.stopped = true
	w.tell(Visit{URL: w.first, Outcome: Stopped, Reason: reason, Detail: fmt.Sprintf(format, args...)})
}
