package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/fetch"
	"parley/internal/retrieval"
)

// siteFlags say how the web sites of a command line are read.
type siteFlags struct {
	Depth        int      `default:"0" help:"How many links away from a URL to read; 0 reads that page alone. Without any of these flags, a URL that was ingested before is read as it was then."`
	MaxPages     int      `default:"200" help:"Most pages to read for a URL."`
	Prefix       string   `help:"Read only pages at or below this address; by default the folder of the URL."`
	MediaWiki    bool     `name:"mediawiki" help:"The URLs are articles of a MediaWiki, such as Wikipedia: read their source, with infoboxes and sections."`
	SkipSections []string `help:"Headings whose sections are left out of pages, such as References."`
	Force        bool     `help:"Read pages again even if they have not changed."`
}

// sources is what a command line names to ingest.
type sources struct {
	paths   []string
	urls    []ingest.Site
	asKnown bool // a site that is known is read as it was before
}

// isURL reports whether an argument is the address of a web site.
func isURL(arg string) bool {
	lower := strings.ToLower(arg)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// from sorts the arguments of a command line.
func (f siteFlags) from(p *program, args []string) (sources, error) {
	from := sources{asKnown: true}
	for _, flag := range []string{"depth", "max-pages", "prefix", "mediawiki", "skip-sections"} {
		from.asKnown = from.asKnown && !p.given[flag]
	}
	for _, arg := range args {
		if !isURL(arg) {
			from.paths = append(from.paths, arg)
			continue
		}
		site := ingest.Site{URL: arg, Prefix: f.Prefix, Depth: f.Depth, Pages: f.MaxPages,
			MediaWiki: f.MediaWiki, SkipSections: f.SkipSections, Force: f.Force}
		if err := site.Check(); err != nil {
			return sources{}, usageError{err}
		}
		from.urls = append(from.urls, site)
	}
	return from, nil
}

// sites returns the sites as they are to be read.
func (s sources) sites(ctx context.Context, ingester *ingest.Ingester) ([]ingest.Site, error) {
	known, err := ingester.Sites(ctx)
	if err != nil || !s.asKnown {
		return s.urls, err
	}
	sites := slices.Clone(s.urls)
	for i, site := range sites {
		address, err := crawl.Normalise(site.URL)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(known, func(k ingest.Site) bool { return k.URL == address }); at >= 0 {
			sites[i] = known[at]
			sites[i].Force, sites[i].Again = site.Force, false
		}
	}
	return sites, nil
}

// newWebClient returns what reads web sites to ingest.
func newWebClient(cfg Config) *fetch.Client {
	agent := "parley/" + release
	if cfg.CrawlContact != "" {
		agent += " (+" + cfg.CrawlContact + ")"
	}
	networks, hosts, _ := allowedPrivate(cfg.CrawlAllowPrivate) // validated
	return fetch.New(fetch.Options{UserAgent: agent, Allow: networks, AllowHosts: hosts})
}

func newCrawler(cfg Config, client *fetch.Client) *crawl.Crawler {
	return crawl.New(client, crawl.Options{
		Delay: cmp.Or(time.Duration(cfg.CrawlDelay), -1), Time: time.Duration(cfg.CrawlTime), Accept: ingest.AcceptsPage,
	})
}

// allowedPrivate sorts the hosts and networks that may be read although they are not public.
func allowedPrivate(list []string) (networks []netip.Prefix, hosts []string, err error) {
	for _, s := range list {
		if network, err := netip.ParsePrefix(s); err == nil {
			networks = append(networks, network.Masked())
			continue
		}
		if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
			networks = append(networks, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		if s == "" || strings.ContainsAny(s, "/:@?#[]* ") {
			return nil, nil, fmt.Errorf("%q is neither a host name nor an address nor a network such as 10.1.0.0/16", s)
		}
		hosts = append(hosts, strings.TrimSuffix(s, "."))
	}
	return networks, hosts, nil
}

func (c *Config) checkAllowPrivate() error {
	_, _, err := allowedPrivate(c.CrawlAllowPrivate)
	return err
}

// jittered is an interval, a tenth longer or shorter, so that not all that run in the same interval
// run at the same moment.
func jittered(interval duration) time.Duration {
	return time.Duration(float64(interval) * (0.9 + 0.2*rand.Float64()))
}

// keepIngesting ingests sources, and then all that is known in an interval, until ctx ends. What
// goes wrong is told, and tried again the next time, but for a mistake in the command. Changes of files
// are followed in between, if they are to be.
func (c ingestCmd) keepIngesting(ctx context.Context, p *program, in *instance, from sources, d *display) error {
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	follow := c.Watch
	c.Watch = false // once would not return
	for {
		wait, again := jittered(c.Schedule), false
		if len(from.paths)+len(from.urls) > 0 {
			err := c.once(ctx, p, in, from, d)
			_, locked := errors.AsType[*ingest.LockedError](err)
			switch {
			case ctx.Err() != nil:
				return nil // whoever runs it has ended it
			case isUsage(err):
				return err
			case locked:
				wait, again = min(lockedRetry, wait), true
				p.log.Info("another ingestion is running; trying again later", "wait", wait)
			case err != nil && !errors.Is(err, errPartial):
				p.log.Error("ingest; the next attempt comes with the schedule", "error", err)
			}
		}
		if follow {
			follow = false
			beside.Go(func() {
				if err := p.keepFollowing(ctx, in, d); err != nil {
					p.log.Error("no longer following changes of files", "error", err)
				}
			})
		}
		if !sleep(ctx, wait) {
			return nil
		}
		if again {
			continue
		}
		var err error
		if from, err = p.known(ctx, in); err != nil {
			p.log.Error("look for what was ingested", "error", err)
		}
	}
}

// known returns all that was ever ingested and is still there to be read again.
func (p *program) known(ctx context.Context, in *instance) (sources, error) {
	roots, err := in.db.Corpus().Roots(ctx, in.cfg.Namespace)
	if err != nil {
		return sources{}, err
	}
	var from sources
	for _, root := range roots {
		if root.Source == "" && isIngestable(root) {
			from.paths = append(from.paths, root.Path)
		}
	}
	from.urls, err = p.ingester(in, nil).Sites(ctx)
	return from, err
}

// isIngestable holds for roots that are files and folders which are there. What is gone as a whole
// may be a disk that is not mounted, and keeps its documents.
func isIngestable(root retrieval.Root) bool { return exists(root.Path) }

// lockedRetry is how long to wait for another ingestion, or another process that reads web sites.
const lockedRetry = time.Minute

// keepSitesFresh reads the known web sites again in the interval of the settings until ctx ends. It
// begins when ingested is closed.
func (s *serving) keepSitesFresh(ctx context.Context, ingested <-chan struct{}) {
	if s.cfg.IngestSchedule <= 0 {
		return
	}
	select {
	case <-ingested:
	case <-ctx.Done():
		return
	}
	for wait := jittered(s.cfg.IngestSchedule); sleep(ctx, wait); {
		wait = jittered(s.cfg.IngestSchedule)
		report, err := s.freshenSites(ctx)
		locked, elsewhere := errors.AsType[*ingest.LockedError](err)
		switch {
		case ctx.Err() != nil:
			return
		case elsewhere:
			s.log.Debug("another process reads web sites", "process", locked.PID)
			wait = min(lockedRetry, wait)
		case err != nil:
			s.log.Error("read web sites again; the next attempt comes with the schedule", "error", err)
		default:
			logReport(s, report)
		}
	}
}

// freshenSites reads the web sites of all namespaces again.
func (s *serving) freshenSites(ctx context.Context) (all ingest.Report, err error) {
	namespaces, err := s.db.Corpus().RootNamespaces(ctx)
	if err != nil {
		return all, err
	}
	pool := newPool(s.cfg, s.cfg.readers(), false)
	defer pool.Close()
	for _, namespace := range namespaces {
		cfg := s.ingestConfig(s.instance, pool)
		cfg.Namespace = namespace
		ingester := ingest.New(cfg)
		sites, err := ingester.Sites(ctx)
		if err != nil {
			return all, err
		}
		report, err := ingester.RunSites(ctx, sites, nil)
		all.Add(report)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// logReport says what reading the web sites again has brought.
func logReport(s *serving, r ingest.Report) {
	s.log.Info("web sites read again", "indexed", r.Indexed, "updated", r.Updated, "unchanged", r.Unchanged,
		"deleted", r.Deleted, "failed", len(r.Failed), "duration", r.Duration)
	for _, f := range r.Failed {
		s.log.Warn("a page could not be read", "url", f.Path, "reason", f.Reason, "detail", f.Detail)
	}
}
