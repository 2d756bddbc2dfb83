package crawl

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/internal/fetch"
	"parley/internal/interrupt"
)

// exhausted reports whether a limit has been reached, and then ends the walk.
func (w *walk) exhausted() bool {
	switch {
	case w.pages >= w.site.Pages:
		w.stop(Limit, "the limit of %d pages is reached; %d known addresses were not visited", w.site.Pages, len(w.queue)+1)
	case w.requests >= 4*w.site.Pages+20:
		w.stop(Limit, "%d requests gave only %d pages; %d known addresses were not visited", w.requests, w.pages, len(w.queue)+1)
	case time.Since(w.began) >= w.limit():
		w.stop(Limit, "the limit of %v is reached; %d known addresses were not visited", w.limit(), len(w.queue)+1)
	default:
		return false
	}
	return true
}

// The time limit of a walk: leastTime, or more for many pages. A page counts
// pageTime, or twice the delay between requests if that is more.
const (
	leastTime = time.Hour
	pageTime  = 2 * time.Second
)

// limit returns the time limit of the walk.
func (w *walk) limit() time.Duration {
	return max(leastTime, time.Duration(w.site.Pages)*max(pageTime, 2*w.crawler.opts.Delay))
}

// pause waits until the next request is due.
func (w *walk) pause(ctx context.Context, r robots) error {
	delay := max(w.crawler.opts.Delay, min(r.delay, w.crawler.opts.MostDelay))
	wait := time.Until(w.last.Add(delay))
	if err := interrupt.Sleep(ctx, wait); err != nil {
		return err
	}
	w.last = time.Now()
	return ctx.Err()
}

// longestWait is the longest time that a walk waits at a server's request.
const longestWait = time.Minute

// patiently calls ask again after the time that the server requests (RFC 9110, section 10.2.3), unless
// that is too long.
func (w *walk) patiently(ctx context.Context, ask func() (*fetch.Page, error)) (*fetch.Page, error) {
	page, err := ask()
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok || !isOverload(e) || e.RetryAfter <= 0 || e.RetryAfter > longestWait ||
		time.Since(w.began)+e.RetryAfter >= w.limit() {
		return page, err
	}
	if err := interrupt.Sleep(ctx, e.RetryAfter); err != nil {
		return nil, err
	}
	w.last = time.Now()
	return ask()
}

// robotsFile is the robots.txt of a host.
type robotsFile struct {
	rules  robots
	failed error // why the file could not be read; nothing may be requested then
}

// robotsOf returns the robots.txt of an address's host. It requests the file once for each walk (RFC
// 9309, section 2.3). A missing file allows everything; an unreadable one forbids everything. The error
// is ctx's.
func (w *walk) robotsOf(ctx context.Context, u *url.URL) (robotsFile, error) {
	host := u.Scheme + "://" + u.Host
	if file, ok := w.robots[host]; ok {
		return file, nil
	}
	address := host + "/robots.txt"
	m := w.memory[address].State
	if err := w.pause(ctx, robots{}); err != nil {
		return robotsFile{}, err
	}
	page, err := w.patiently(ctx, func() (*fetch.Page, error) {
		return w.crawler.get.Get(ctx, address, fetch.Known{ETag: m.ETag, LastModified: m.LastModified})
	})
	if ctx.Err() != nil {
		return robotsFile{}, ctx.Err()
	}
	var file robotsFile
	e, _ := errors.AsType[*fetch.Error](err)
	switch {
	case err == nil && page.NotModified:
		file.rules = parseRobots(m.Robots, w.crawler.opts.Agent)
	case err == nil:
		text := strings.ToValidUTF8(string(page.Body[:min(len(page.Body), maxRobots)]), "\ufffd")
		w.note(address, State{ETag: page.ETag, LastModified: page.LastModified, Robots: text})
		file.rules = parseRobots(text, w.crawler.opts.Agent)
	case e != nil && e.Kind == fetch.KindRedirects,
		e != nil && e.Kind == fetch.KindStatus && e.Status/100 == 4 && e.Status != http.StatusTooManyRequests:
	case e != nil:
		file.failed = &fetch.Error{Kind: e.Kind, Status: e.Status, Msg: "The site's robots.txt can't be read: " + sentence(e.Msg) + "."}
		if e.Kind == fetch.KindStatus || e.Kind == fetch.KindTooLarge {
			file.failed = &fetch.Error{Kind: fetch.KindUnreachable, Msg: "The site's robots.txt can't be read: " + sentence(e.Msg) + "."}
		}
	default:
		file.failed = err
	}
	w.robots[host] = file
	return file, nil
}
