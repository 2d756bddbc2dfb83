package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley/internal/documents/ingest"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// estimate says what ingesting sources would bring. It works on a copy of each file in a temporary
// folder, and only reads the data folder, if there is one.
func (p *program) estimate(ctx context.Context, cfg Config, from sources, d *display) (err error) {
	temporary, err := os.MkdirTemp("", "parley-estimate-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if !exists(filepath.Join(cfg.Data, "corpus.db")) {
		cfg.Data = temporary
	}
	prices, err := readPrices(cfg)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, cfg.Data, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	planner, err := retrieval.NewPlanner(ctx, db.Corpus(), cfg.Embedding, cfg.EmbeddingDimensions)
	if err != nil {
		return err
	}
	if err := planner.AddStored(ctx); err != nil {
		return err
	}
	reading := cfg
	if !exists(filepath.Join(cfg.Data, "cache")) {
		reading.Data = temporary
	}
	pool := newPool(reading, cfg.readers(), true)
	defer pool.Close()
	add := func(put retrieval.Put) error { return planner.AddDocument(ctx, put.Document.Title, put.Chunks) }
	web := newWebClient(cfg)
	defer web.Close()
	report, err := survey(ctx, p.ingester(&instance{cfg: cfg, db: db, web: web}, pool), from, add, d)
	d.Finish()
	if err != nil {
		return badPath(err)
	}
	writeEstimate(p.stdout, report, planner.Plan(), prices)
	return nil
}

// survey reads what ingest would, and changes nothing.
func survey(ctx context.Context, ingester *ingest.Ingester, from sources, add func(retrieval.Put) error, d *display) (report ingest.Report, err error) {
	if len(from.paths) > 0 {
		if report, err = ingester.Survey(ctx, from.paths, add, d.Update); err != nil {
			return report, err
		}
	}
	if len(from.urls) == 0 {
		return report, nil
	}
	sites, err := from.sites(ctx, ingester)
	if err != nil {
		return report, err
	}
	web, err := ingester.SurveySites(ctx, sites, add, d.Update)
	report.Add(web)
	return report, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
