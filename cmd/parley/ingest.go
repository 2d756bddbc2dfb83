package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/ingest"
)

type ingestCmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files, folders, the URLs of web sites, and the addresses of remote sources such as s3://BUCKET/FOLDER (docs/ingestion.md)."`
	siteFlags
	Schedule duration `default:"0" help:"Keep running, and read everything that was ever ingested again at this interval, for example 6h."`
	Report   bool     `help:"Also print a table of how many files of each format were indexed, refused and failed, and why."`
	Watch    bool     `help:"Keep running, and follow everything that was ingested from this disk, until interrupted."`
	Estimate bool     `help:"Only report what would be indexed and embedded, and what that would cost; store and spend nothing."`
}

// Run returns errPartial when some files could not be read.
func (c ingestCmd) Run(ctx context.Context, p *program) error {
	d := newDisplay(p.stderr, time.Now)
	p.log = newLogger(d, p.config.LogLevel)
	cfg := withBuiltin(p.config)
	from, err := c.from(p, c.Paths)
	if err != nil {
		return err
	}
	switch {
	case len(c.Paths) == 0 && c.Schedule == 0:
		return usagef("name the files, folders, URLs or sources to ingest")
	case c.Schedule != 0 && c.Schedule < duration(time.Minute):
		return usagef("--schedule: must be at least 1m")
	case c.Estimate:
		return p.estimate(ctx, cfg, from, d)
	}
	in, err := p.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer in.Close()
	if c.Schedule > 0 {
		return c.keepIngesting(ctx, p, in, from, d)
	}
	from.Paused = true
	return c.once(ctx, p, in, from, d)
}

// once ingests sources and embeds them.
func (c ingestCmd) once(ctx context.Context, p *program, in *instance, from documents.Sources, d *display) error {
	d.Start()
	report, err := in.documents.Ingest(ctx, from, d.Update)
	d.Finish()
	if err != nil {
		return interrupted(badPath(err))
	}
	writeReport(p.stdout, report)
	if c.Report {
		writeFormats(p.stdout, report.Formats)
	}
	if err := p.recogniseNow(ctx, in.documents, p.stdout); err != nil {
		return interrupted(err)
	}
	if err := p.embedNow(ctx, in, p.stdout, d); err != nil {
		return interrupted(err)
	}
	if c.Watch {
		return p.keepFollowing(ctx, in, d)
	}
	if report.Incomplete() {
		return errPartial
	}
	return nil
}

// keepFollowing follows changes until it is interrupted, and embeds the changed documents.
func (p *program) keepFollowing(ctx context.Context, in *instance, d *display) error {
	err := in.documents.FollowFiles(ctx, func(ingest.Report) {
		if err := p.recogniseNow(ctx, in.documents, p.stdout); err != nil && ctx.Err() == nil {
			p.log.Error("recognise text on pictures; the next change tries again", "error", err)
		}
		if err := p.embedNow(ctx, in, p.stdout, d); err != nil && ctx.Err() == nil {
			p.log.Error("embed documents; the next change tries again", "error", err)
		}
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the user ended it
	}
	return err
}

// recogniseNow recognises the text on the pages that wait for it, and says which page it is at. The summary
// goes to out.
func (p *program) recogniseNow(ctx context.Context, service *documents.Service, out io.Writer) error {
	pages, began := 0, time.Now()
	err := service.RecogniseNow(ctx, func(name string, done, of int) {
		pages++
		switch {
		case done == 0:
			fmt.Fprintf(p.stderr, "Recognising the text of %s (pages: %d)\n", name, of)
		case done%10 == 0:
			fmt.Fprintf(p.stderr, "Recognising the text of %s: %d of %d pages are done\n", name, done, of)
		}
	})
	if pages > 0 && err == nil {
		fmt.Fprintf(out, "Recognised the text of %d pages in %s.\n", pages, time.Since(began).Round(100*time.Millisecond))
	}
	return err
}

// interrupted turns the end of ctx into a message that says what was kept; it returns other errors
// unchanged.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; what was indexed so far is kept, and the next run continues from there")
	}
	return err
}

// withBuiltin returns cfg with the built-in model, for commands that call no other.
func withBuiltin(cfg Config) Config {
	cfg.Model = builtinModel
	return cfg
}
