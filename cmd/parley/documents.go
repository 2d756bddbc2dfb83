package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/crawl"
	"parley/internal/documents/ingest"
	"parley/internal/extract"
	"parley/internal/fetch"
	"parley/internal/llm"
	"parley/internal/ocr"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/wire/ingestapi"
)

// newDocuments returns the service that ingests documents into a data folder. The corpus may be nil
// if nothing will be changed.
func (p *program) newDocuments(cfg Config, db *store.DB, corpus *retrieval.Corpus, web *fetch.Client) *documents.Service {
	return documents.New(p.documentsConfig(cfg, db, corpus, web))
}

func (p *program) documentsConfig(cfg Config, db *store.DB, corpus *retrieval.Corpus, web *fetch.Client) documents.Config {
	return documents.Config{
		Data: cfg.Data, Uploads: db.Uploads(), Locks: sharedLocks(db),
		Scratch: scratchIn(cfg.Data), Namespace: cfg.Namespace, ConfigFile: p.configFile,
		Store: db.Corpus(), Corpus: corpus, Blobs: db.Blobs(), Disk: db, Jobs: db.Jobs(), Vectors: db.Corpus(), Web: web,
		Crawl: crawl.Options{Delay: cmp.Or(time.Duration(cfg.CrawlDelay), -1)}, Extract: extractLimits(cfg),
		Workers: cfg.ExtractWorkers, Images: cfg.IngestImages, Names: cfg.namedNamespaces(),
		Recognition: p.recognition(cfg, db), Transcription: p.transcription(cfg, db),
		Split:     cfg.split(),
		Embedding: cfg.Embedding, EmbeddingDimensions: cfg.EmbeddingDimensions,
		Remotes: cfg.IngestSources.addresses(), Accounts: p.account, Said: p.said, BegunByPeople: p.begunByPeople, KeepLost: time.Duration(cfg.IngestKeepLost),
		// Without sign-in there is one owner, who may use the whole quota.
		Quota:     documents.Quota{All: int64(cfg.UploadsQuota), Owner: int64(cfg.UploadsQuota)},
		Retention: time.Duration(cfg.Retention), Logger: p.log,
	}
}

func (c *Config) split() ingest.SplitOptions {
	return ingest.SplitOptions{Size: c.IngestChunkSize, Overlap: cmp.Or(c.IngestChunkOverlap, -1)}
}

// givenTime is the time limit for reading a file that came with a question.
const givenTime = time.Minute

// read reads a file that is not stored as a document, in a child process, and cuts it as documents are cut.
func (in *instance) read(ctx context.Context, name, path string) (title string, chunks []retrieval.Chunk, err error) {
	result, err := in.pages.Extract(ctx, extract.Request{Name: name, Path: path, Time: min(givenTime, extractLimits(in.cfg).WithDefaults().Time)})
	if err != nil {
		return "", nil, err
	}
	return result.Document.Title, ingest.Split(result.Document, in.cfg.split()), nil
}

// The settings of ingest.ocr besides auto.
const (
	ocrAlways = "always"
	ocrOff    = "off"
)

// recognition returns how the text on pictures is recognised; nil if it is not.
func (p *program) recognition(cfg Config, db *store.DB) *documents.Recognition {
	r := cfg.recognition()
	if r != nil {
		r.Vision = p.vision(cfg, db, visionRetries)
	}
	return r
}

// recognition returns how Tesseract recognises the text on pictures.
func (c Config) recognition() *documents.Recognition {
	r := &documents.Recognition{Languages: c.IngestOCRLanguages, Data: c.IngestOCRData, MaxPages: c.IngestOCRPages}
	switch c.IngestOCR {
	case ocrOff:
		return nil
	case ocrAlways:
		r.MaxPages = 0
	}
	return r
}

func (c Config) checkOCR() error {
	if c.IngestOCR == ocrOff {
		return nil
	}
	if len(c.IngestOCRLanguages) == 0 {
		return errors.New("names no language; eng is in the program, and ingest.ocr switches the recognition off")
	}
	return ocr.CheckLanguages(c.IngestOCRLanguages, c.IngestOCRData)
}

// embeddingCost returns the cost in US dollars of embedding tokens. ok is false if the model has no price.
func (in *instance) embeddingCost(tokens int) (float64, bool) {
	if in.cfg.Embedding == "" || isBuiltin(in.cfg.Embedding) {
		return 0, true
	}
	provider, model, _ := strings.Cut(in.cfg.Embedding, ":")
	micros, known := in.prices.Cost(provider, model, llm.Usage{Input: tokens}, time.Now())
	return float64(micros) / 1e6, known
}

// ingestAPI returns the handler for uploads and ingestion.
func (s *serving) ingestAPI() *ingestapi.Handler {
	return ingestapi.New(ingestapi.Config{
		Service:   s.documents,
		Namespace: s.cfg.Namespace,
		PublicURL: s.cfg.PublicURL,
		MaxUpload: int64(s.cfg.LimitsMaxUpload), MaxBody: int64(s.cfg.LimitsMaxBody),
		Cost: s.embeddingCost, Schedule: time.Duration(s.cfg.IngestSchedule),
	})
}

// badPath turns an error about a path or address on the command line into a usage error.
func badPath(err error) error {
	if _, bad := errors.AsType[*ingest.PathError](err); bad {
		return usageError{err}
	}
	if _, bad := errors.AsType[*ingest.SiteError](err); bad {
		return usageError{err}
	}
	return err
}
