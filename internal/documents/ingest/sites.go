package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"parley/internal/documents/crawl"
	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// Site is a web page to ingest, with the pages that are linked from it.
type Site struct {
	URL          string   `json:"url"`                     // of the first page: http or https
	Prefix       string   `json:"prefix,omitempty"`        // only pages whose address lies at or below it; "" for the folder of URL
	Depth        int      `json:"depth,omitempty"`         // maximum number of links from URL; 0 reads only URL
	Pages        int      `json:"pages,omitempty"`         // maximum number of pages of a run; 0 means 200
	Force        bool     `json:"-"`                       // also read pages that have not changed or were forgotten
	Again        bool     `json:"-"`                       // a repetition without a user's request: if URL was forgotten, it stays so
	SkipSections []string `json:"skip_sections,omitempty"` // headings, in any case, whose sections are left out
	MaxChunks    int      `json:"max_chunks,omitempty"`    // maximum number of chunks of a page, the rest is left out; 0 for no limit
	MediaWiki    bool     `json:"mediawiki,omitempty"`     // the pages are articles of a MediaWiki, and their source is read
}

// SiteError means that a site cannot be ingested at all.
type SiteError struct {
	URL    string
	Reason string // the reason for people
}

func (e *SiteError) Error() string {
	return fmt.Sprintf("cannot ingest %s: %s", text.Printable(e.URL), e.Reason)
}

// The limits of a site's options.
const (
	maxSiteDepth = 100
	maxSitePages = 100_000
)

// Check returns a *SiteError if a site cannot be ingested at all.
func (s Site) Check() error {
	err := s.walk().Check()
	switch {
	case err != nil:
		return &SiteError{s.URL, err.Error()}
	case s.Depth < 0 || s.Depth > maxSiteDepth:
		return &SiteError{s.URL, fmt.Sprintf("its depth must be between 0 and %d", maxSiteDepth)}
	case s.Pages < 0 || s.Pages > maxSitePages:
		return &SiteError{s.URL, fmt.Sprintf("its pages must be between 0 and %d", maxSitePages)}
	case s.MaxChunks < 0:
		return &SiteError{s.URL, "max_chunks must not be negative"}
	}
	return nil
}

func (s Site) walk() crawl.Site {
	return crawl.Site{URL: s.URL, Prefix: s.Prefix, Depth: s.Depth, Pages: s.Pages, MediaWiki: s.MediaWiki}
}

func (s *Site) limits() metadata.Limits {
	return metadata.Limits{SkipSections: s.SkipSections, MaxChunks: s.MaxChunks}
}

// Reasons of rows that only sites have.
const (
	// removed is the reason of a page that Forget has deleted.
	removed extract.Reason = "removed"
	// siteFile is the reason of a robots.txt or a sitemap, which is remembered but is not a document.
	siteFile extract.Reason = "site-file"
)

// RunSites brings the corpus up to date with web sites: it indexes new and changed pages, and deletes those that
// are gone (404, 410). A page that has not changed costs one conditional request. A page that cannot be read at
// the moment stays as it is and is listed in the report. A site that was ingested before gets the options of
// this run.
//
// A site that cannot be ingested at all is a *SiteError, before anything changes. Otherwise RunSites is like
// Run, and may run at the same time.
func (in *Ingester) RunSites(ctx context.Context, sites []Site, progress func(Progress)) (Report, error) {
	if err := in.checkSites(sites); err != nil {
		return Report{}, err
	}
	unlock, first, err := in.lockSites(sites...)
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	spools, err := makeSpools(in.cfg.DataDir, "sites-spool", first)
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(spools)
	return in.runSites(ctx, sites, spools, progress)
}

// SurveySites is Survey for RunSites: it reads the pages and changes nothing.
func (in *Ingester) SurveySites(ctx context.Context, sites []Site, visit func(retrieval.Put) error, progress func(Progress)) (Report, error) {
	if err := in.checkSites(sites); err != nil {
		return Report{}, err
	}
	return in.surveying(visit, func(in *Ingester, spools string) (Report, error) {
		return in.runSites(ctx, sites, spools, progress)
	})
}

func (in *Ingester) checkSites(sites []Site) error {
	for _, s := range sites {
		if err := s.Check(); err != nil {
			return err
		}
		if in.cfg.Crawler == nil {
			return &SiteError{s.URL, "this process cannot read the web"}
		}
	}
	return nil
}

// lockSites takes the lock for changing the stored state of web sites. Files have their own lock, so that a slow
// walk does not hold them up. Walks over different hosts do not wait for each other; a host is walked by one run
// at a time.
func (in *Ingester) lockSites(sites ...Site) (unlock func(), first bool, err error) {
	return in.locks().share("sites.lock", "reading web sites into", hostOf(sites))
}

// hostOf returns the host of all sites, or "" if they have several.
func hostOf(sites []Site) (host string) {
	for i, s := range sites {
		u, err := url.Parse(s.URL)
		if err != nil || i > 0 && u.Host != host {
			return ""
		}
		host = u.Host
	}
	return host
}

func (in *Ingester) runSites(ctx context.Context, sites []Site, spools string, progress func(Progress)) (report Report, err error) {
	began := time.Now()
	r := newRun(in.cfg, progress, began, spools)
	r.claims = claim(in.cfg.DataDir)
	defer r.claims.end()
	r.meter.phase(Crawling)
	for _, s := range sites {
		if err = r.site(ctx, s); err != nil {
			break
		}
	}
	if changed := r.report.Indexed + r.report.Updated + r.report.Deleted; err == nil && r.cfg.Sweep != nil && changed > 0 {
		r.meter.phase(Sweeping)
		if _, err = r.cfg.Sweep(ctx); err != nil {
			err = fmt.Errorf("remove originals without a document: %w", err)
		}
	}
	r.report.Duration = time.Since(began)
	if err == nil {
		r.meter.finish()
	}
	r.report.sort()
	return r.report, err
}

// Sites returns the sites of earlier runs with their options, oldest first, with Again set.
func (in *Ingester) Sites(ctx context.Context) ([]Site, error) {
	roots, err := in.siteRoots(ctx)
	if err != nil {
		return nil, err
	}
	var sites []Site
	for _, root := range roots {
		var s Site
		if err := json.Unmarshal([]byte(root.Source), &s); err != nil {
			return nil, fmt.Errorf("read the options of %s: %w", root.Path, err)
		}
		s.Again = true
		sites = append(sites, s)
	}
	return sites, nil
}

// isSite reports whether a root is a web site.
func isSite(r retrieval.Root) bool {
	return strings.HasPrefix(r.Path, "http://") || strings.HasPrefix(r.Path, "https://")
}

// siteRoots returns the recorded roots that are sites.
func (in *Ingester) siteRoots(ctx context.Context) ([]retrieval.Root, error) {
	roots, err := in.cfg.Store.Roots(ctx, in.cfg.Namespace)
	if err != nil {
		return nil, fmt.Errorf("read the ingested roots: %w", err)
	}
	return slices.DeleteFunc(roots, func(r retrieval.Root) bool { return !isSite(r) }), nil
}

// Forget deletes a page, which stays away until a run asks for its exact address or is forced. A site is
// forgotten with the last of its pages. An address without a scheme may be https or http. Forget returns how many
// documents it deleted; the error is retrieval.ErrNotFound if there is no page at the address.
//
// While another run reads web sites, the page is deleted too, but the error is a *LockedError: that run may
// store the page again, so the caller must call Forget again after it.
func (in *Ingester) Forget(ctx context.Context, url string) (int, error) {
	unlock, _, locked := in.lockSites()
	switch {
	case locked == nil:
		defer unlock()
	case !errors.As(locked, new(*LockedError)):
		return 0, locked
	}
	addresses := []string{url}
	if !strings.Contains(url, "://") {
		addresses = []string{"https://" + url, "http://" + url}
	}
	roots, err := in.siteRoots(ctx)
	if err != nil {
		return 0, err
	}
	for _, raw := range addresses {
		address, err := crawl.Normalise(raw)
		if err != nil {
			continue
		}
		n, err := in.forget(ctx, roots, address, locked == nil)
		if err == nil {
			return n, locked
		}
		if !errors.Is(err, retrieval.ErrNotFound) {
			return n, err
		}
	}
	return 0, errors.Join(retrieval.ErrNotFound, locked)
}

// forget removes a page of one of the roots, and if rootToo is set the root with its last page.
func (in *Ingester) forget(ctx context.Context, roots []retrieval.Root, address string, rootToo bool) (int, error) {
	for _, root := range roots {
		files, err := in.cfg.Store.Files(ctx, in.cfg.Namespace, root.Path)
		if err != nil {
			return 0, fmt.Errorf("read what is known of %s: %w", root.Path, err)
		}
		n, err := in.forgetPage(ctx, files, address)
		if err == nil && n > 0 && rootToo && !slices.ContainsFunc(files, func(f retrieval.File) bool { return isOfOther(f, address) }) {
			err = in.forgetSite(ctx, root)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, retrieval.ErrNotFound
}

// isOfOther reports whether the document of a row belongs to another page.
func isOfOther(f retrieval.File, address string) bool {
	page, _ := pageOf(f.Path)
	return page != address && f.DocumentID != ""
}

// forgetSite deletes the stored state of a site that has no documents any more.
func (in *Ingester) forgetSite(ctx context.Context, root retrieval.Root) error {
	b := retrieval.Batch{Namespace: in.cfg.Namespace, DropRoots: []string{root.Path}}
	if err := in.cfg.Corpus.Apply(ctx, b); err != nil {
		return fmt.Errorf("forget the site %s: %w", root.Path, err)
	}
	return nil
}

// forgetPage deletes the documents of one page, and remembers that this was requested.
func (in *Ingester) forgetPage(ctx context.Context, files []retrieval.File, address string) (int, error) {
	b := retrieval.Batch{Namespace: in.cfg.Namespace}
	for _, f := range files {
		page, inside := pageOf(f.Path)
		if page != address {
			continue
		}
		if f.DocumentID != "" {
			b.Delete = append(b.Delete, f.DocumentID)
		}
		if inside {
			b.DropFiles = append(b.DropFiles, f.FileKey)
			continue
		}
		f.DocumentID, f.Reason, f.Detail = "", string(removed), "it was removed"
		b.PutFiles = append(b.PutFiles, f)
	}
	if len(b.Delete) == 0 {
		return 0, nil
	}
	if err := in.cfg.Corpus.Apply(ctx, b); err != nil {
		return 0, fmt.Errorf("delete %s: %w", address, err)
	}
	return len(b.Delete), nil
}
