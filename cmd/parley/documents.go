package main

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/fetch"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire/ingestapi"
)

// newDocuments returns what brings documents into a data folder. The corpus may be nil where nothing is
// changed.
func (p *program) newDocuments(cfg Config, db *store.DB, corpus *retrieval.Corpus, web *fetch.Client) *documents.Service {
	return documents.New(documents.Config{
		Data: cfg.Data, Namespace: cfg.Namespace, ConfigFile: p.configFile,
		Store: db.Corpus(), Corpus: corpus, Blobs: db.Blobs(), Disk: db, Jobs: db.Jobs(), Vectors: db.Corpus(), Web: web,
		Crawl: crawl.Options{Delay: cmp.Or(time.Duration(cfg.CrawlDelay), -1)}, Extract: extractLimits(cfg),
		Workers: cfg.ExtractWorkers, Images: cfg.IngestImages, Names: cfg.namedNamespaces(),
		Split:     ingest.SplitOptions{Size: cfg.IngestChunkSize, Overlap: cmp.Or(cfg.IngestChunkOverlap, -1)},
		Embedding: cfg.Embedding, EmbeddingDimensions: cfg.EmbeddingDimensions,
		// While nobody signs in there is one owner, who may fill it all.
		Quota:     documents.Quota{All: int64(cfg.UploadsQuota), Owner: int64(cfg.UploadsQuota)},
		Retention: time.Duration(cfg.Retention), Logger: p.log,
	})
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
		Service:   s.documents,
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

// badPath makes a usage error of one that is about a path or address of the command line.
func badPath(err error) error {
	if _, bad := errors.AsType[*ingest.PathError](err); bad {
		return usageError{err}
	}
	if _, bad := errors.AsType[*ingest.SiteError](err); bad {
		return usageError{err}
	}
	return err
}
