package ingest

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/retrieval"
)

// Site is a web page to ingest, with the pages that are linked from it.
type Site struct {
	URL          string   // of the first page: http or https
	Prefix       string   // only pages whose address begins so; "" for the folder of URL
	Depth        int      // how many links away from URL; 0 for URL alone
	Pages        int      // most pages of a run; 0 for 200
	Force        bool     // read pages anew that have not changed, and those that were forgotten
	SkipSections []string // headings, in any case, whose sections are left out
	MaxChunks    int      // most chunks of a page, the rest is left out; 0 for no limit
	MediaWiki    bool     // the pages are articles of a MediaWiki, of which the source is read
}

// SiteError says that a site cannot be ingested at all.
type SiteError struct {
	URL    string
	Reason string // why not, for people
}

func (e *SiteError) Error() string {
	return fmt.Sprintf("cannot ingest %s: %s", printable(e.URL), e.Reason)
}

// RunSites makes the corpus follow web pages: new and changed ones are indexed, and those that are
// gone (404, 410) are deleted. A page that has not changed costs a conditional request and nothing
// else, one that cannot be read at the moment stays as it is and stands in the report.
//
// A *SiteError comes before anything is changed. Otherwise it is as Run.
func (in *Ingester) RunSites(ctx context.Context, sites []Site, progress func(Progress)) (Report, error) {
	return Report{}, errors.New("sites cannot be ingested yet")
}

// SurveySites is to RunSites what Survey is to Run: it reads the pages and changes nothing.
func (in *Ingester) SurveySites(ctx context.Context, sites []Site, visit func(retrieval.Put) error, progress func(Progress)) (Report, error) {
	return Report{}, errors.New("sites cannot be ingested yet")
}

// Sites returns the sites of earlier runs, as they were asked for, in the order in which they came.
func (in *Ingester) Sites(ctx context.Context) ([]Site, error) {
	return nil, nil
}

// Forget removes a site with all its pages from the corpus, or one page of a site, which stays
// away until a run asks for its very address. It returns how many documents were deleted; the
// error is retrieval.ErrNotFound when the address is neither.
func (in *Ingester) Forget(ctx context.Context, url string) (int, error) {
	return 0, retrieval.ErrNotFound
}
