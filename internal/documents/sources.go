package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/documents/source"
	"parley/internal/interrupt"
	"parley/internal/retrieval"
)

// Sources are the files, folders, web sites and remote sources to ingest.
type Sources struct {
	Paths   []string
	Sites   []ingest.Site
	Remotes []source.Address
	AsKnown bool // a known site is read with the options of its earlier ingestion
	Paused  bool // remote sources are read also if they are paused: somebody has asked for them
}

// Empty reports whether there are no sources.
func (f Sources) Empty() bool { return len(f.Paths)+len(f.Sites)+len(f.Remotes) == 0 }

// Ingest brings the namespace of the Service up to date with sources, files before web sites and remote
// sources, which take longer. A remote source that cannot be read is a failure in the report. A *ingest.PathError or
// *ingest.SiteError means that a source cannot be ingested at all. progress, which may be nil, is called from Ingest's
// goroutine.
func (s *Service) Ingest(ctx context.Context, from Sources, progress func(ingest.Progress)) (ingest.Report, error) {
	pool := s.reading.pool(s.reading.workers(), true)
	defer pool.Close()
	in := s.reading.ingester(s.cfg.Namespace, pool)
	return eachKind(ctx, in, from,
		func() (ingest.Report, error) { return in.Run(ctx, from.Paths, progress) },
		func(sites []ingest.Site) (ingest.Report, error) { return in.RunSites(ctx, sites, progress) },
		func() (ingest.Report, error) { return s.readRemotes(ctx, in, from, progress) })
}

// Survey reports what Ingest would do, and changes nothing. It calls visit with the documents that
// Ingest would store, one at a time.
func (s *Service) Survey(ctx context.Context, from Sources, visit func(retrieval.Put) error, progress func(ingest.Progress)) (ingest.Report, error) {
	pool := s.reading.pool(s.reading.workers(), true)
	defer pool.Close()
	in := s.reading.ingester(s.cfg.Namespace, pool)
	return eachKind(ctx, in, from,
		func() (ingest.Report, error) { return in.Survey(ctx, from.Paths, visit, progress) },
		func(sites []ingest.Site) (ingest.Report, error) { return in.SurveySites(ctx, sites, visit, progress) },
		func() (ingest.Report, error) { return s.surveyRemotes(ctx, in, from.Remotes, visit, progress) })
}

// eachKind processes the paths of sources, then their sites, and then the remote ones, and adds up the results.
func eachKind(ctx context.Context, in *ingest.Ingester, from Sources,
	paths func() (ingest.Report, error), sites func([]ingest.Site) (ingest.Report, error), remotes func() (ingest.Report, error)) (report ingest.Report, err error) {
	if len(from.Paths) > 0 {
		if report, err = paths(); err != nil {
			return report, err
		}
	}
	if len(from.Sites) > 0 {
		asked, err := from.sites(ctx, in)
		if err != nil {
			return report, err
		}
		web, err := sites(asked)
		report.Add(web)
		if err != nil {
			return report, err
		}
	}
	far, err := remotes()
	report.Add(far)
	return report, err
}

// sites returns the sites with the options to use.
func (f Sources) sites(ctx context.Context, in *ingest.Ingester) ([]ingest.Site, error) {
	known, err := in.Sites(ctx)
	if err != nil || !f.AsKnown {
		return f.Sites, err
	}
	sites := slices.Clone(f.Sites)
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

// Known returns everything that was ingested into the namespace of the Service and can be read again. A
// path that is gone is left out: its disk may not be mounted, and its documents stay. So is a source that is paused.
func (s *Service) Known(ctx context.Context) (Sources, error) {
	roots, err := s.cfg.Store.Roots(ctx, s.cfg.Namespace)
	if err != nil {
		return Sources{}, fmt.Errorf("read the ingested roots: %w", err)
	}
	var from Sources
	for _, root := range roots {
		if a, err := source.Parse(root.Path); err == nil {
			if !decodeWishes(root.Source).Paused {
				from.Remotes = append(from.Remotes, a)
			}
		} else if _, err := os.Stat(root.Path); err == nil && root.Source == "" {
			from.Paths = append(from.Paths, root.Path)
		}
	}
	from.Sites, err = s.reading.ingester(s.cfg.Namespace, nil).Sites(ctx)
	return from, err
}

// Rebuild makes all documents of the namespace again from their stored originals, see
// ingest.Ingester.Rebuild, and removes the old ones.
func (s *Service) Rebuild(ctx context.Context, progress func(ingest.Progress)) (report ingest.RebuildReport, err error) {
	if err := s.SweepReplaced(ctx); err != nil {
		return report, err
	}
	pool := s.reading.pool(s.reading.workers(), true)
	defer pool.Close()
	if report, err = s.reading.ingester(s.cfg.Namespace, pool).Rebuild(ctx, s.cfg.Corpus, progress); err != nil {
		return report, err
	}
	return report, s.SweepReplaced(ctx)
}

// KeepOut deletes documents of all namespaces that an earlier version made visible to everybody although they
// restrict access, and returns them; see ingest.Ingester.KeepOut. It waits for other ingestions to end.
func (s *Service) KeepOut(ctx context.Context) (out []ingest.FileResult, err error) {
	namespaces, err := s.cfg.Store.Namespaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	pool := s.reading.pool(1, true)
	defer pool.Close()
	for _, ns := range namespaces {
		in := s.reading.ingester(ns, pool)
		some, err := in.KeepOut(ctx)
		for errors.As(err, new(*ingest.LockedError)) && interrupt.Sleep(ctx, lockInterval) == nil {
			some, err = in.KeepOut(ctx)
		}
		if out = append(out, some...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// sweepStep is the number of documents that one transaction removes, so that other writers are not blocked for
// long.
const sweepStep = 20

// SweepReplaced removes the documents that a Rebuild has replaced.
func (s *Service) SweepReplaced(ctx context.Context) error {
	for {
		n, err := s.cfg.Store.SweepReplaced(ctx, sweepStep)
		if err != nil || n == 0 {
			return err
		}
	}
}

// UploadedBy returns the ids of the documents of a namespace that an owner has uploaded.
func (s *Service) UploadedBy(ctx context.Context, namespace, owner string) (map[string]bool, error) {
	files, err := s.cfg.Store.Files(ctx, namespace, ingest.UploadsRoot(owner))
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(files))
	for _, f := range files {
		ids[f.DocumentID] = true
	}
	return ids, nil
}

// IsURL reports whether a source is the address of a web site, and not a path.
func IsURL(source string) bool {
	lower := strings.ToLower(source)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// onDisk reports whether a root is a file or folder on this disk.
func onDisk(root retrieval.Root) bool { return filepath.IsAbs(root.Path) }
