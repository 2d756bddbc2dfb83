package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/documents/source"
	"parley/internal/fetch"
	"parley/internal/interrupt"
)

// siteFlags say how to read the web sites on the command line.
type siteFlags struct {
	Depth        int      `default:"0" help:"How many links away from a URL to read; 0 reads that page alone. Without any of these flags, a URL that was ingested before is read as it was then."`
	MaxPages     int      `default:"200" help:"Most pages to read for a URL."`
	Prefix       string   `help:"Read only pages at or below this address; by default the folder of the URL."`
	MediaWiki    bool     `name:"mediawiki" help:"The URLs are articles of a MediaWiki, such as Wikipedia: read their source, with infoboxes and sections."`
	SkipSections []string `help:"Headings whose sections are left out of pages, such as References."`
	Force        bool     `help:"Read pages again even if they have not changed."`
}

// from sorts arguments into files and web sites.
func (f siteFlags) from(p *program, args []string) (documents.Sources, error) {
	from := documents.Sources{AsKnown: true}
	for _, flag := range []string{"depth", "max-pages", "prefix", "mediawiki", "skip-sections"} {
		from.AsKnown = from.AsKnown && !p.given[flag]
	}
	for _, arg := range args {
		if source.IsRemote(arg) {
			a, err := source.Parse(arg)
			if err != nil {
				return documents.Sources{}, usagef("cannot ingest the address that begins with %.8q: %w", arg, err)
			}
			from.Remotes = distinct(append(from.Remotes, a))
			continue
		}
		if !documents.IsURL(arg) {
			from.Paths = append(from.Paths, arg)
			continue
		}
		site := ingest.Site{URL: arg, Prefix: f.Prefix, Depth: f.Depth, Pages: f.MaxPages,
			MediaWiki: f.MediaWiki, SkipSections: f.SkipSections, Force: f.Force}
		if err := site.Check(); err != nil {
			return documents.Sources{}, usageError{err}
		}
		from.Sites = append(from.Sites, site)
	}
	return from, nil
}

// newWebClient returns the client for ingesting web sites.
func newWebClient(cfg Config) *fetch.Client {
	agent := "parley/" + release
	if cfg.CrawlContact != "" {
		agent += " (+" + cfg.CrawlContact + ")"
	}
	networks, hosts, _ := allowedPrivate(cfg.CrawlAllowPrivate) // already validated
	return fetch.New(fetch.Options{UserAgent: agent, Allow: networks, AllowHosts: hosts})
}

// allowedPrivate sorts the private hosts and networks that may be read.
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

// keepIngesting ingests sources, and then all known sources at an interval, until ctx ends. It
// reports failures and tries again the next time, except after a mistake in the command. In between
// it follows changes of files, if asked to.
func (c ingestCmd) keepIngesting(ctx context.Context, p *program, in *instance, from documents.Sources, d *display) error {
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	follow := c.Watch
	c.Watch = false // with it, once would not return
	for {
		wait, again := interrupt.Jittered(time.Duration(c.Schedule)), false
		if !from.Empty() {
			err := c.once(ctx, p, in, from, d)
			_, locked := errors.AsType[*ingest.LockedError](err)
			switch {
			case ctx.Err() != nil:
				return nil // the user ended it
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
		if interrupt.Sleep(ctx, wait) != nil {
			return nil
		}
		if again {
			continue
		}
		var err error
		if from, err = in.documents.Known(ctx); err != nil {
			p.log.Error("list the ingested sources", "error", err)
		}
	}
}

// lockedRetry is the wait for another process that ingests.
const lockedRetry = time.Minute
