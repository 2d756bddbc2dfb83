// Package crawl walks over the pages of a web site politely: one request at a time with a pause between two,
// within what robots.txt allows (RFC 9309), and within the limits of its caller. Requests for pages of an earlier
// walk are conditional, so that a page that has not changed is not sent again.
//
// The package knows addresses, links and robots.txt, but not documents: the caller decides what to do with pages
// and what to remember of them.
//
//	for visit, err := range crawl.New(client, crawl.Options{}).Walk(ctx, site, memory) { … }
package crawl

import (
	"cmp"
	"context"
	"iter"
	"time"

	"parley/internal/fetch"
)

// Site is the part of a web site to walk over.
type Site struct {
	URL       string // of the first page
	Prefix    string // only addresses at or below it; "" for the folder of the first page, or the articles of its wiki
	Depth     int    // maximum number of links from the first page; 0 reads only the first page
	Pages     int    // maximum number of pages; 0 means 200
	MediaWiki bool   // the pages are articles of a MediaWiki, whose source is requested
}

// Check returns an error for people if the site cannot be walked over at all.
func (s Site) Check() error {
	first, err := Normalise(s.URL)
	if err == nil {
		_, err = newScope(first, s)
	}
	return err
}

// Getter requests pages. It is a fetch.Client or a fake.
type Getter interface {
	Get(ctx context.Context, url string, known fetch.Known) (*fetch.Page, error)
	Hop(ctx context.Context, url string, known fetch.Known, accept func(mediaType string) bool) (*fetch.Page, error)
}

var _ Getter = (*fetch.Client)(nil)

// Options tunes a Crawler. Zero fields mean the default.
type Options struct {
	Agent string        // the crawler's name in robots.txt; "parley"
	Delay time.Duration // between two requests; 500 ms; negative for none
	// MostDelay limits the delay that a robots.txt may request; 30 s.
	MostDelay time.Duration
	// Accept reports whether a page of a media type is wanted; nil accepts all. It is not called for the
	// first page of a walk, which the user named.
	Accept func(mediaType, url string) bool
}

// Crawler walks over sites. It is safe for concurrent use; each walk keeps its own pace.
type Crawler struct {
	get  Getter
	opts Options
}

// New returns a Crawler.
func New(get Getter, opts Options) *Crawler {
	opts.Agent = cmp.Or(opts.Agent, "parley")
	opts.Delay = cmp.Or(opts.Delay, 500*time.Millisecond)
	opts.MostDelay = cmp.Or(opts.MostDelay, 30*time.Second)
	if opts.Accept == nil {
		opts.Accept = func(string, string) bool { return true }
	}
	return &Crawler{get: get, opts: opts}
}

// Outcome is the result of visiting an address.
type Outcome int

// The outcomes.
const (
	Fetched   Outcome = iota // Page has the body
	Unchanged                // the page is as remembered
	Duplicate                // the content belongs to another page, To
	Gone                     // the server reports that the page no longer exists (404, 410)
	Refused                  // the page must not or cannot be used, permanently
	Failed                   // the page could not be read at the moment
	Noted                    // a robots.txt or a sitemap that has changed: remember State
	Stopped                  // the walk ended early; nothing is known about pages not visited
)

// Reason is a code for why an address gave no page. docs/ingestion.md explains each.
type Reason string

// The reasons.
const (
	ByRobots    Reason = "robots"          // robots.txt forbids the page
	NoIndex     Reason = "noindex"         // the page asks not to be indexed
	NotFound    Reason = "not-found"       // 404 or 410
	ByStatus    Reason = "status"          // another status that is an error
	Unreachable Reason = "unreachable"     // no such host, no connection, no answer in time
	Private     Reason = "private-address" // the address is in a network that is not public
	Redirect    Reason = "redirect"        // the page redirects out of the site, or in a circle
	TooLarge    Reason = "too-large"       // the body exceeds the limit
	Unsupported Reason = "unsupported"     // a media type that is not read
	IsDuplicate Reason = "duplicate"       // the page has the same content as another address
	OutOfSite   Reason = "out-of-site"     // the page was within the prefix once
	Limit       Reason = "limit"           // the walk has reached its limit of pages or time
)

// Visit is the visit of one address. A walk visits an address once, or twice if the page that it seemed to
// duplicate turns out not to exist.
type Visit struct {
	URL     string // in its normal form
	Outcome Outcome
	Page    *fetch.Page // with Fetched
	SHA256  string      // of the body, with Fetched and Duplicate; "" for a duplicate without a body
	Title   string      // of an article of a MediaWiki
	Wiki    bool        // the body is MediaWiki markup
	To      string      // the other address, with Duplicate
	State   State       // to remember for the next walk
	Reason  Reason      // with Refused, Failed, Gone and Stopped
	Detail  string      // the reason in one sentence for people
	First   bool        // this is the first page of the walk
	Linked  bool        // a link or a redirect led to it in this walk
	Found   int         // number of addresses known so far

	moved bool // the server redirects this address
}

// State is the knowledge of an address that the next walk needs.
type State struct {
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"modified,omitempty"`
	Links        []string `json:"links,omitempty"`  // on its host, as relative addresses
	To           string   `json:"to,omitempty"`     // the address to which it redirects or whose content it repeats
	Same         bool     `json:"same,omitempty"`   // it has the same body as To
	Robots       string   `json:"robots,omitempty"` // the text of a robots.txt
}

// Remembered is an address that an earlier walk visited.
type Remembered struct {
	State  State
	SHA256 string // of its body
	Detail string // Visit.Detail, when the visit gave no page
	Live   bool   // it is a page of the corpus
	Stale  bool   // its body is wanted even if it has not changed
	Skip   bool   // it must not be requested, but its links may be followed
}

// Walk visits the first page of a site and the pages that it leads to, nearer ones first, and then remembered
// pages that nothing links to any more. It ends with the last page, when the caller stops ranging, with the error
// of Site.Check before the first visit, or with ctx's error. It can be ranged over once.
func (c *Crawler) Walk(ctx context.Context, site Site, memory map[string]Remembered) iter.Seq2[Visit, error] {
	return func(yield func(Visit, error) bool) {
		w := newWalk(c, site, memory, yield)
		if err := w.all(ctx); err != nil && !w.left {
			yield(Visit{}, err)
		}
	}
}
