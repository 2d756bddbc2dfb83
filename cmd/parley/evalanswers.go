package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"parley/internal/documents"
	"parley/internal/eval"
)

// judge reports on the answers to sets of questions, each asked over its own corpus.
func (c evalCmd) judge(ctx context.Context, p *program, sets []*eval.AnswerSet) error {
	if p.given["data"] || c.JSON {
		return usagef("a report over answers is text, and its indexes are temporary: leave out --data and --json")
	}
	var old *os.File // opened first, so that a wrong name is reported before the work
	if c.Compare != "" {
		var err error
		if old, err = os.Open(c.Compare); err != nil {
			return usageError{fmt.Errorf("open the older report: %w", err)}
		}
		defer old.Close()
	}
	var judged []eval.Judgement
	for _, set := range sets {
		some, err := p.judgeSet(ctx, set)
		if err != nil {
			return err
		}
		judged = append(judged, some...)
	}
	if err := eval.WriteAnswers(p.stdout, judged); err != nil || old == nil {
		return err
	}
	return eval.WriteChanges(p.stdout, old, judged)
}

// judgeSet ingests the documents of a set into a temporary folder, and asks its questions.
func (p *program) judgeSet(ctx context.Context, set *eval.AnswerSet) (judged []eval.Judgement, err error) {
	cfg := p.config
	if cfg.Data, err = os.MkdirTemp("", "parley-eval-"); err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(cfg.Data)
	cfg.Database = ""
	display := newDisplay(p.stderr, time.Now)
	defer display.Finish()
	in, err := p.open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r, err := in.documents.Ingest(ctx, documents.Sources{Paths: []string{set.Documents}}, display.Update)
	if err != nil {
		return nil, err
	}
	display.Finish()
	if len(r.Failed) > 0 {
		writeResults(p.stderr, "Failed", r.Failed)
	}
	if err := in.embed(ctx, p.stderr, display, func(embedProgress) {}); err != nil { // a server would do it in the background
		return nil, err
	}
	return set.Judge(ctx, in.askIn)
}
