package main

import (
	"context"
	"errors"
	"time"
)

// ingestCmd brings files and folders into the corpus.
type ingestCmd struct {
	Paths []string `arg:"" name:"path" help:"Files and folders."`
}

// Run returns errPartial when some files could not be read.
func (c ingestCmd) Run(ctx context.Context, p *program) error {
	d := newDisplay(p.stderr, time.Now)
	p.log = newLogger(d, p.config.LogLevel)
	in, err := p.open(ctx, withBuiltin(p.config))
	if err != nil {
		return err
	}
	defer in.Close()
	report, err := p.ingest(ctx, in, c.Paths, d.Update)
	d.Finish()
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; what was indexed so far is kept, and the next run goes on from there")
	}
	if err != nil {
		return err
	}
	writeReport(p.stdout, report)
	if len(report.Failed) > 0 {
		return errPartial
	}
	return nil
}

// withBuiltin returns cfg with the model that needs no key, for commands that ask no other.
func withBuiltin(cfg Config) Config {
	cfg.Model = builtinModel
	return cfg
}
