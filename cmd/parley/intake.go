package main

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire/ingestapi"
)

// newIntake returns what takes in uploads and addresses.
func (p *program) newIntake(in *instance) *documents.Service {
	s := &intakeSources{program: p, instance: in}
	return documents.New(documents.Config{
		Jobs:   in.db.Jobs(),
		Lock:   func() (func(), error) { return ingest.LockJobs(in.cfg.Data) },
		Files:  upload.New(filepath.Join(in.cfg.Data, "uploads")),
		Store:  in.db.Corpus(),
		Corpus: in.corpus,
		Ingest: s.ingestUploads, IngestFile: s.ingestFile, Survey: s.surveyFile,
		Crawl: s.crawl, SurveySites: s.surveySites, Forget: s.forget,
		IsFull:    store.IsFull,
		Quota:     documents.Quota{All: int64(in.cfg.UploadsQuota), Owner: int64(in.cfg.UploadsOwnerQuota)},
		Retention: time.Duration(in.cfg.Retention),
		Logger:    p.log,
	})
}

// intakeSources reads for jobs what they name.
type intakeSources struct {
	*program
	*instance
}

// ofScope returns how documents of a scope are made: those of somebody are for nobody else.
func (s *intakeSources) ofScope(at upload.Scope, pool *extract.Pool, outcome func(ingest.Outcome)) ingest.Config {
	c := s.ingestConfig(s.instance, pool)
	c.Namespace, c.Owner, c.Outcome = at.Namespace, at.Owner, outcome
	if at.Owner != "" {
		c.Access = access.List{Users: []string{at.Owner}}
	}
	return c
}

// manyFiles is for how many files it is worth to start all processes at once.
const manyFiles = 4

func (s *intakeSources) ingestUploads(ctx context.Context, r documents.Run) (ingest.Report, error) {
	pool := newPool(s.cfg, s.cfg.readers(), r.Files >= manyFiles)
	defer pool.Close()
	c := s.ofScope(r.Scope, pool, r.Outcome)
	c.Uploads = r.Folder
	c.MayName = nil // whoever sends files has a say in the namespace of the request only
	return ingest.New(c).Run(ctx, []string{r.Folder}, nil)
}

func (s *intakeSources) ingestFile(ctx context.Context, f documents.File) (ingest.Report, error) {
	pool := newPool(s.cfg, 1, false)
	defer pool.Close()
	return ingest.New(s.ofScope(upload.Scope{Namespace: f.Namespace}, pool, f.Outcome)).Run(ctx, []string{f.Path}, nil)
}

func (s *intakeSources) crawl(ctx context.Context, c documents.Crawl) (ingest.Report, error) {
	pool := newPool(s.cfg, s.cfg.readers(), false)
	defer pool.Close()
	return ingest.New(s.ofScope(c.Scope, pool, c.Outcome)).RunSites(ctx, []ingest.Site{c.Site}, nil)
}

func (s *intakeSources) forget(ctx context.Context, namespace, url string) (int, error) {
	return ingest.New(s.ofScope(upload.Scope{Namespace: namespace}, nil, nil)).Forget(ctx, url)
}

func (s *intakeSources) surveyFile(ctx context.Context, namespace, path string) (documents.Estimate, error) {
	return s.survey(ctx, namespace, func(in *ingest.Ingester, add func(retrieval.Put) error) (ingest.Report, error) {
		return in.Survey(ctx, []string{path}, add, nil)
	})
}

func (s *intakeSources) surveySites(ctx context.Context, namespace string, sites []ingest.Site) (documents.Estimate, error) {
	return s.survey(ctx, namespace, func(in *ingest.Ingester, add func(retrieval.Put) error) (ingest.Report, error) {
		return in.SurveySites(ctx, sites, add, nil)
	})
}

// survey adds up what read says would be indexed.
func (s *intakeSources) survey(ctx context.Context, namespace string,
	read func(*ingest.Ingester, func(retrieval.Put) error) (ingest.Report, error)) (e documents.Estimate, err error) {
	planner, err := retrieval.NewPlanner(ctx, s.db.Corpus(), s.cfg.Embedding, s.cfg.EmbeddingDimensions)
	if err != nil {
		return e, err
	}
	pool := newPool(s.cfg, s.cfg.readers(), false)
	defer pool.Close()
	c := s.ofScope(upload.Scope{Namespace: namespace}, pool, nil)
	c.DataDir = ""  // the file lies in there
	c.MayName = nil // as for ingestUploads
	report, err := read(ingest.New(c), func(put retrieval.Put) error {
		e.Documents++
		e.Chunks += len(put.Chunks)
		for _, chunk := range put.Chunks {
			e.Tokens += chunk.Tokens
		}
		return planner.AddDocument(ctx, put.Document.Title, put.Chunks)
	})
	if err != nil {
		return e, err
	}
	e.Refused = append(report.Failed, report.Skipped...)
	e.Cost, e.CostKnown = s.embeddingCost(planner.Plan().Tokens)
	return e, nil
}

// embeddingCost returns what embedding so many tokens costs in US dollars; nothing without an
// embedding model.
func (in *instance) embeddingCost(tokens int) (float64, bool) {
	if in.cfg.Embedding == "" {
		return 0, true
	}
	provider, model, _ := strings.Cut(in.cfg.Embedding, ":")
	micros, known := in.prices.Cost(provider, model, llm.Usage{Input: tokens}, time.Now())
	return float64(micros) / 1e6, known
}

// ingestAPI returns what answers the routes by which documents come in.
func (s *serving) ingestAPI() *ingestapi.Handler {
	return ingestapi.New(ingestapi.Config{
		Service:   s.intake,
		Namespace: s.cfg.Namespace,
		PublicURL: s.cfg.PublicURL,
		MaxUpload: int64(s.cfg.LimitsMaxUpload), MaxBody: int64(s.cfg.LimitsMaxBody),
		Cost: s.embeddingCost,
	})
}

// The values of the setting uploads.enabled.
const (
	uploadsAuto = "auto"
	uploadsOn   = "true"
	uploadsOff  = "false"
)

// takesUploads reports whether whoever reaches the server may hand in documents. As nobody signs in
// yet, that is the case by itself only where nobody but users of this machine can: a public URL is a
// sign of a proxy that lets others in.
func (c *Config) takesUploads(listening net.Addr) bool {
	switch c.UploadsEnabled {
	case uploadsOn:
		return true
	case uploadsOff:
		return false
	}
	tcp, ok := listening.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return false
	}
	if c.PublicURL == "" {
		return true
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// refreshUploads brings the uploads up to date that were ingested before.
func (s *serving) refreshUploads(ctx context.Context, ingested <-chan struct{}) {
	select {
	case <-ingested:
	case <-ctx.Done():
		return
	}
	for {
		err := s.intake.Refresh(ctx)
		if _, locked := errors.AsType[*ingest.LockedError](err); !locked {
			if err != nil && ctx.Err() == nil {
				s.log.Error("bring the uploaded files up to date", "error", err)
			}
			return
		}
		if !sleep(ctx, lockInterval) {
			return
		}
	}
}
