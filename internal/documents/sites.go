package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
)

// The kinds of jobs that read the web.
const (
	Index     = "index"
	MediaWiki = "mediawiki"
	PDFPage   = "pdf-url"
)

// MaxSites is the largest number of addresses of one job.
const MaxSites = 100

// siteRequest is the Request of a job that reads the web.
type siteRequest struct {
	Sites []ingest.Site `json:"sites"`
	Force bool          `json:"force"` // of all sites, because Site does not store it
}

// AddSites adds a job that reads web sites. The names of its files are their addresses in normal form. A
// *ingest.SiteError says that a site cannot be read at all.
func (s *Service) AddSites(ctx context.Context, at upload.Scope, kind string, sites []ingest.Site, force bool) (job.Job, error) {
	j := job.Job{ID: job.NewID(), Kind: kind, Namespace: at.Namespace, Owner: at.Owner}
	for i := range sites {
		if err := checkSite(&sites[i]); err != nil {
			return job.Job{}, err
		}
		j.Files = append(j.Files, job.File{Name: sites[i].URL, State: job.FileQueued})
	}
	var err error
	if j.Request, err = json.Marshal(siteRequest{Sites: sites, Force: force}); err != nil {
		return job.Job{}, fmt.Errorf("write the request of a job: %w", err)
	}
	if j, err = s.add(ctx, j); err == nil {
		for _, site := range sites {
			s.forgotten.remove(page{at.Namespace, site.URL}) // the page is wanted again
		}
	}
	return j, err
}

// checkSite normalises the address of a site.
func checkSite(site *ingest.Site) error {
	if err := site.Check(); err != nil {
		return err
	}
	address, err := crawl.Normalise(site.URL)
	if err != nil {
		return &ingest.SiteError{URL: site.URL, Reason: err.Error()}
	}
	site.URL = address
	return nil
}

// EstimateSites returns what indexing sites would take. It reads them and changes nothing.
func (s *Service) EstimateSites(ctx context.Context, namespace string, sites []ingest.Site) (Estimate, error) {
	for i := range sites {
		if err := checkSite(&sites[i]); err != nil {
			return Estimate{}, err
		}
	}
	e, err := s.reader.Survey(ctx, Work{Scope: upload.Scope{Namespace: namespace}, Sites: sites})
	return e, s.full(err)
}

// readSites reads the sites of a job, one after another. If one cannot be read, the others still are. The entry
// of a site is queued until the walk has ended, so that a run that was cut short, or the retry of a page, walks
// the site again.
func (s *Service) readSites(ctx context.Context, t *job.Task) error {
	j := t.Job()
	var request siteRequest
	if err := json.Unmarshal(j.Request, &request); err != nil {
		return fmt.Errorf("read the request of the job: %w", err)
	}
	pages, again := listedPages(j, len(request.Sites))
	for i, site := range request.Sites {
		if i >= len(j.Files) || j.Files[i].State != job.FileQueued && !again {
			continue // an earlier run has processed it
		}
		site.Force = request.Force
		w := &siteWatch{task: t, index: i, site: site.URL, before: j.Files[i], pages: pages}
		w.enter(i, job.File{Name: site.URL, State: job.FileQueued})
		if err := s.readSite(ctx, scopeOf(j), site, w); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.Update(func(j *job.Job) { settlePages(j, len(request.Sites)) })
	return nil
}

// listedPages returns the indexes of the pages that a job lists after its sites, and whether one of them is
// to be retried.
func listedPages(j job.Job, sites int) (pages map[string]int, again bool) {
	pages = map[string]int{}
	for i, f := range j.Files {
		if i >= sites {
			pages[f.Name] = i
			again = again || f.State == job.FileQueued
		}
	}
	return pages, again
}

// settlePages ends the pages that were to be retried but that no site linked to.
func settlePages(j *job.Job, sites int) {
	for i := range j.Files {
		if f := &j.Files[i]; i >= sites && f.State == job.FileQueued {
			f.State, f.Reason, f.Detail = job.FileSkipped, string(crawl.NotFound), "No page linked to it this time."
		}
	}
}

func (s *Service) readSite(ctx context.Context, at upload.Scope, site ingest.Site, w *siteWatch) error {
	for {
		w.task.Doing("Reading " + site.URL + ".")
		report, err := s.reader.Read(ctx, Work{Scope: at, Sites: []ingest.Site{site}, Outcome: w.outcome})
		bad, isBad := errors.AsType[*ingest.SiteError](err)
		_, locked := errors.AsType[*ingest.LockedError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case locked:
			if err := w.task.Wait(ctx, "Waiting for another run that reads web sites."); err != nil {
				return err
			}
			continue
		case isBad:
			w.settle(job.File{State: job.FileFailed, Reason: "url", Detail: bad.Reason})
		case err != nil:
			return s.full(err)
		default:
			w.settle(fromReport(report))
		}
		return nil
	}
}

// fromReport returns the outcome of a site's first page from a report, for a page that had no outcome.
func fromReport(r ingest.Report) job.File {
	for _, f := range append(r.Failed, r.Skipped...) {
		return job.File{State: stateOf(f.Reason), Reason: string(f.Reason), Detail: f.Detail}
	}
	switch {
	case r.Indexed+r.Updated > 0:
		return job.File{State: job.FileIndexed}
	case r.Unchanged > 0:
		return job.File{State: job.FileUnchanged}
	}
	return job.File{State: job.FileSkipped, Reason: "empty", Detail: "No page was found there."}
}

// maxPages is the maximum number of pages that a job lists.
const maxPages = 5000

// siteWatch records the outcomes of the pages of a site in a job.
type siteWatch struct {
	task   *job.Task
	index  int // of the site in Job.Files
	site   string
	before job.File       // the site's entry before this run
	pages  map[string]int // index in Job.Files of the pages other than first ones
	first  job.File       // the outcome of the first page; without a State it is unknown
}

// outcome records the outcome of a page. Pages other than the first are listed only if they were indexed
// or failed.
func (w *siteWatch) outcome(o ingest.Outcome) {
	f := job.File{Name: o.Path, State: stateOf(o.Reason), Reason: string(o.Reason), Detail: o.Detail, Partly: partly(o), DocumentID: o.DocumentID}
	if f.State == job.FileIndexed && o.Unchanged {
		f.State = job.FileUnchanged
	}
	w.task.Update(func(j *job.Job) {
		j.Counts.Chunks += o.Chunks
		j.Counts.Tokens += o.Tokens
		if o.First || o.Path == w.site {
			w.first = f
			return
		}
		at, known := w.pages[o.Path]
		switch {
		case known:
			j.Files[at] = sameJob(j.Files[at], f)
		case f.State != job.FileSkipped && len(j.Files) < maxPages:
			w.pages[o.Path] = len(j.Files)
			j.Files = append(j.Files, f)
		}
	})
}

// sameJob returns the entry of a file that one job has read twice: a file that was indexed the first
// time stays indexed, although it was unchanged the second time.
func sameJob(before, now job.File) job.File {
	if before.State == job.FileIndexed && now.State == job.FileUnchanged {
		now.State = job.FileIndexed
	}
	return now
}

// settle ends the entry of the site, with f if its first page had no outcome.
func (w *siteWatch) settle(f job.File) {
	if w.first.State != "" {
		f = w.first
	}
	f.Name = w.site
	w.enter(w.index, sameJob(w.before, f))
}

func (w *siteWatch) enter(i int, f job.File) {
	w.task.Update(func(j *job.Job) { j.Files[i] = f })
}
