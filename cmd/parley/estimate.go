package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley/internal/documents"
	"parley/internal/retrieval"
)

// estimate prints what ingesting sources would index and embed. It works on a copy of each file in
// a temporary folder, and only reads the data folder, if it exists.
func (p *program) estimate(ctx context.Context, cfg Config, from documents.Sources, d *display) (err error) {
	temporary, err := os.MkdirTemp("", "parley-estimate-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if cfg.Database == "" && !exists(filepath.Join(cfg.Data, "corpus.db")) {
		cfg.Data = temporary
	}
	prices, err := readPrices(cfg)
	if err != nil {
		return err
	}
	db, err := p.openStore(ctx, cfg)
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
	web := newWebClient(cfg)
	defer web.Close()
	report, err := p.newDocuments(cfg, db, nil, web).Survey(ctx, from, func(put retrieval.Put) error {
		return planner.AddDocument(ctx, put.Document.Title, put.Chunks)
	}, d.Update)
	d.Finish()
	if err != nil {
		return badPath(err)
	}
	writeEstimate(p.stdout, report, planner.Plan(), prices)
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
