package crawl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/internal/fetch"
)

// visit requests one address. The only error is ctx's.
func (w *walk) visit(ctx context.Context, it item) error {
	v := Visit{URL: it.url.String(), Linked: it.linked}
	m := w.memory[v.URL]
	if m.Skip {
		w.alive[v.URL] = m.SHA256
		w.follow(it, m.State.Links)
		return nil
	}
	if w.exhausted() {
		return nil
	}
	file, err := w.robotsOf(ctx, it.url)
	if err != nil {
		return err
	}
	if file.failed != nil {
		w.fail(it, v, file.failed)
		return nil //nolint:nilerr // the visit reports the error
	}
	var page *fetch.Page
	err = errForbidden
	for _, target := range w.targets(it.url) {
		if !isRefusal(err) {
			break
		}
		if !file.rules.allows(target) {
			continue
		}
		if err := w.pause(ctx, file.rules); err != nil {
			return err
		}
		page, err = w.patiently(ctx, func() (*fetch.Page, error) { return w.ask(ctx, it, v, target, m) })
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errForbidden):
		w.refuse(v, ByRobots, "the site's robots.txt forbids it")
	case err != nil:
		w.fail(it, v, err)
	case page.Location != "":
		w.redirected(it, v, page.Location)
	case page.NotModified:
		w.unchanged(it, v, m)
	default:
		w.fetched(it, v, page)
	}
	return nil
}

// errForbidden means that robots.txt forbids all addresses of a page.
var errForbidden = errors.New("forbidden by robots.txt")

// targets returns the addresses at which a page can be requested, best first: the source of an article,
// and then, for wikis that do not serve the source, the article as readers see it.
func (w *walk) targets(page *url.URL) []*url.URL {
	if w.site.MediaWiki {
		return []*url.URL{rawAddress(page), page}
	}
	return []*url.URL{page}
}

// isRefusal reports whether an error says nothing about other addresses of the same page.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*fetch.Error](err)
	return errors.Is(err, errForbidden) || ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusForbidden)
}

// ask requests a page at target, conditionally if it is remembered.
func (w *walk) ask(ctx context.Context, it item, v Visit, target *url.URL, m Remembered) (*fetch.Page, error) {
	var known fetch.Known
	if !m.Stale && !it.own {
		known = fetch.Known{ETag: m.State.ETag, LastModified: m.State.LastModified}
	}
	w.requests++
	return w.crawler.get.Hop(ctx, target.String(), known, func(mediaType string) bool {
		return v.URL == w.first || v.URL == w.entry || w.crawler.opts.Accept(mediaType, v.URL)
	})
}

// redirected follows a redirect within the site. If the first page redirects and the site has no
// configured prefix, the site becomes the folder of the page it redirects to.
func (w *walk) redirected(it item, v Visit, location string) {
	to, err := it.url.Parse(location)
	if err == nil {
		to, err = normalise(to)
	}
	if err != nil {
		w.refuse(v, Redirect, "it redirects to an address that is not one of the web")
		return
	}
	if w.site.MediaWiki {
		to = withoutRaw(to)
	}
	v.moved = true
	w.leadTo(it, v, to, "it redirects to ")
}

func withoutRaw(u *url.URL) *url.URL {
	parts := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(p string) bool { return p == "action=raw" })
	out := *u
	out.RawQuery = strings.Join(parts, "&")
	return &out
}

// leadTo treats an address as a duplicate of the address to which it redirects.
func (w *walk) leadTo(it item, v Visit, to *url.URL, how string) {
	target := to.String()
	if v.URL == w.entry && w.site.Prefix == "" && !w.scope.holds(to) {
		w.scope = w.site.around(to)
	}
	switch {
	case target == v.URL, it.own:
		w.refuse(v, Redirect, "it redirects in a circle")
		return
	case !w.scope.holds(to):
		w.refuse(v, Redirect, how+target+", which is outside of the site")
		return
	case it.hops >= maxHops:
		w.refuse(v, Redirect, fmt.Sprintf("it is redirected more than %d times", maxHops))
		return
	}
	if v.URL == w.entry {
		w.entry = target
	}
	w.hold(v, to, how+target)
	w.push(item{url: to, depth: it.depth, hops: it.hops + 1, linked: true})
}

func (w *walk) hold(v Visit, to *url.URL, detail string) {
	v.Outcome, v.Reason, v.Detail = Duplicate, IsDuplicate, detail
	v.To = to.String()
	v.State.To = v.To
	v.Page = nil
	w.held[v.URL] = v
}

func (w *walk) refuse(v Visit, reason Reason, detail string) {
	v.Outcome, v.Reason, v.Detail = Refused, reason, detail
	w.tell(v)
}

// unchanged continues with the remembered state of an unchanged page.
func (w *walk) unchanged(it item, v Visit, m Remembered) {
	w.pages++
	w.failures = 0
	v.State, v.SHA256 = m.State, m.SHA256
	w.follow(it, m.State.Links)
	if m.State.To != "" {
		if to, err := url.Parse(m.State.To); err == nil {
			w.hold(v, to, m.Detail)
			w.push(item{url: to, depth: it.depth, linked: true})
			return
		}
	}
	v.Outcome = Unchanged
	if m.Live {
		w.alive[v.URL] = m.SHA256
	}
	w.tell(v)
}

// fetched examines a page that was read.
func (w *walk) fetched(it item, v Visit, page *fetch.Page) {
	w.pages++
	w.failures = 0
	sum := sha256.Sum256(page.Body)
	v.Page, v.SHA256 = page, hex.EncodeToString(sum[:])
	v.State = State{ETag: page.ETag, LastModified: page.LastModified}
	var h head
	switch {
	case w.site.MediaWiki && isWikitext(page.MediaType):
		v.Wiki, v.Title = true, wikiTitle(it.url)
		h = readWikiHead(it.url, page.Body)
	case page.MediaType == "text/html" || page.MediaType == "application/xhtml+xml":
		h = readHead(it.url, page.Body, w.crawler.opts.Agent)
	}
	h.header(page.Robots, w.crawler.opts.Agent)
	if h.refresh != nil && h.refresh.String() != v.URL && !it.own {
		w.leadTo(it, v, h.refresh, "it sends its readers to ")
		return
	}
	if !h.noFollow {
		for _, u := range h.links {
			if u.Host == it.url.Host {
				v.State.Links = append(v.State.Links, relative(it.url, u))
			}
		}
		w.follow(it, v.State.Links)
	}
	if h.noIndex {
		w.refuse(v, NoIndex, "the page asks not to be indexed")
		return
	}
	if c := h.canonical; c != nil && c.String() != v.URL && !it.own && w.scope.holds(c) && mayBeText(c) {
		w.hold(v, c, "its canonical address is "+c.String())
		w.push(item{url: c, depth: it.depth, linked: true})
		return
	}
	if other := w.bodies[v.SHA256]; other != "" && other != v.URL && len(page.Body) > 0 && !it.own {
		if to, err := url.Parse(other); err == nil {
			v.State.Same = true
			w.hold(v, to, "it has the content of "+other)
			return
		}
	}
	w.alive[v.URL], w.bodies[v.SHA256] = v.SHA256, v.URL
	v.Outcome = Fetched
	w.tell(v)
}

// relative returns the shortest form of u for the state of a page, relative to the page's host.
func relative(page, u *url.URL) string {
	if u.Scheme != page.Scheme {
		return u.String()
	}
	if u.RawQuery != "" {
		return u.EscapedPath() + "?" + u.RawQuery
	}
	return u.EscapedPath()
}

// fail reports why an address could not be read. A remembered page stays alive, unless the server
// reports that it is gone.
func (w *walk) fail(it item, v Visit, err error) {
	m := w.memory[v.URL]
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		e = &fetch.Error{Kind: fetch.KindUnreachable, Msg: "The page could not be read.", Err: err}
	}
	v.Detail = sentence(e.Msg)
	v.Outcome, v.Reason = Failed, Unreachable
	switch e.Kind {
	case fetch.KindStatus:
		v.Reason = ByStatus
		if e.Status == http.StatusNotFound || e.Status == http.StatusGone {
			v.Outcome, v.Reason = Gone, NotFound
		}
	case fetch.KindForbidden:
		v.Reason = Private
	case fetch.KindTooLarge:
		v.Outcome, v.Reason = Refused, TooLarge
	case fetch.KindType:
		v.Outcome, v.Reason = Refused, Unsupported
	case fetch.KindURL, fetch.KindRedirects:
		v.Outcome, v.Reason = Refused, Redirect
	}
	if v.Outcome == Failed {
		w.failed[v.URL] = v.Reason
		v.State = m.State
		w.follow(it, m.State.Links)
		if m.Live {
			w.alive[v.URL] = m.SHA256
		}
	}
	w.tell(v)
	if v.Reason != Unreachable && !isOverload(e) {
		w.failures = 0
		return
	}
	if w.failures++; w.failures >= manyFailures && !w.over() {
		w.stop(Unreachable, "%d requests behind each other have failed; %d known addresses were not visited", w.failures, len(w.queue))
	}
}

// isOverload reports whether a server's error means that it wants fewer requests.
func isOverload(e *fetch.Error) bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
}

// sentence turns the message of an error into the end of a sentence.
func sentence(msg string) string {
	msg = strings.TrimSuffix(msg, ".")
	if msg == "" {
		return msg
	}
	return strings.ToLower(msg[:1]) + msg[1:]
}
