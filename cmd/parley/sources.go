package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"parley/internal/documents"
	"parley/internal/documents/source"
)

// sourcesCmd manages the remote sources of a namespace. A running server follows it within seconds.
type sourcesCmd struct {
	List   sourcesListCmd   `cmd:"" default:"withargs" help:"List the sources of the namespace of --namespace: state, last run, what changed and failed, next run."`
	Run    sourcesRunCmd    `cmd:"" help:"Read a source now, also if it is paused."`
	Pause  sourcesPauseCmd  `cmd:"" help:"Read a source no more, until it is resumed. Its documents stay."`
	Resume sourcesResumeCmd `cmd:"" help:"Read a paused source by the schedule again."`
	Remove sourcesRemoveCmd `cmd:"" help:"Forget a source, and delete its documents."`
}

type sourcesListCmd struct{}

type sourceAddress struct {
	Address string `arg:"" help:"Address of the source, as parley sources lists it."`
}

type sourcesRunCmd struct {
	sourceAddress
	DeleteMissing bool `help:"If the source lists nothing any more, delete its documents. Without it they stay, since the place may just not be there."`
}

type (
	sourcesPauseCmd  struct{ sourceAddress }
	sourcesResumeCmd struct{ sourceAddress }
	sourcesRemoveCmd struct{ sourceAddress }
)

// Run prints the sources.
func (sourcesListCmd) Run(ctx context.Context, p *program) error {
	return p.withSources(ctx, func(s *documents.Service) error {
		all, err := s.RemoteSources(ctx, p.config.Namespace, time.Duration(p.config.IngestSchedule))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			_, err := fmt.Fprintf(p.stdout, "The namespace %s has no remote sources: parley ingest ADDRESS reads one.\n", p.config.Namespace)
			return err
		}
		t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "ADDRESS\tKIND\tSTATE\tLAST RUN\tNEW\tCHANGED\tSAME\tDELETED\tFAILED\tNEXT RUN")
		for _, r := range all {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", printable(r.Address), r.Kind, r.State(), shownTime(r.Run.Began, "never"),
				r.Run.Indexed, r.Run.Updated, r.Run.Unchanged, r.Run.Deleted, r.Run.Failed, shownTime(r.Next, "-"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, r := range all {
			if r.Rights {
				fmt.Fprintf(p.stdout, "%s: the source decides who may see its documents\n", printable(r.Address))
			}
			p.printFaults(r)
		}
		return nil
	})
}

// printFaults says what the last run of a source could not read.
func (p *program) printFaults(r documents.RemoteSource) {
	switch {
	case r.Run.Error != "" && r.Run.FailingSince.IsZero():
		fmt.Fprintf(p.stdout, "%s: %s\n", printable(r.Address), printable(r.Run.Error))
	case r.Run.Error != "":
		fmt.Fprintf(p.stdout, "%s: %s (since %s)\n", printable(r.Address), printable(r.Run.Error), shownTime(r.Run.FailingSince, "now"))
	}
	for _, f := range r.Run.Failures {
		fmt.Fprintf(p.stdout, "  %s: %s\n", printable(f.Path), printable(f.Detail))
	}
}

// Run reads a source in this process.
func (c sourcesRunCmd) Run(ctx context.Context, p *program) error {
	a, err := source.Parse(c.Address)
	if err != nil {
		return usageError{err}
	}
	d := newDisplay(p.stderr, time.Now)
	p.log = newLogger(d, p.config.LogLevel)
	in, err := p.open(ctx, withBuiltin(p.config))
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.documents.WantSource(ctx, p.config.Namespace, c.Address, c.DeleteMissing); err != nil {
		return c.explain(p, err)
	}
	return ingestCmd{}.once(ctx, p, in, documents.Sources{Remotes: []source.Address{a}, Paused: true}, d)
}

// Run pauses a source.
func (c sourcesPauseCmd) Run(ctx context.Context, p *program) error { return c.pause(ctx, p, true) }

// Run resumes a source.
func (c sourcesResumeCmd) Run(ctx context.Context, p *program) error { return c.pause(ctx, p, false) }

func (c sourceAddress) pause(ctx context.Context, p *program, paused bool) error {
	return p.withSources(ctx, func(s *documents.Service) error {
		if err := s.PauseSource(ctx, p.config.Namespace, c.Address, paused); err != nil {
			return c.explain(p, err)
		}
		text := "%s is read by the schedule again.\n"
		if paused {
			text = "%s is read only when somebody asks for that.\n"
		}
		_, err := fmt.Fprintf(p.stdout, text, printable(c.Address))
		return err
	})
}

// Run removes a source.
func (c sourcesRemoveCmd) Run(ctx context.Context, p *program) error {
	return p.withSources(ctx, func(s *documents.Service) error {
		n, err := s.RemoveSource(ctx, p.config.Namespace, c.Address)
		if err != nil {
			return c.explain(p, err)
		}
		_, err = fmt.Fprintf(p.stdout, "Forgot %s and deleted %s.\n", printable(c.Address), plural(n, "document"))
		return err
	})
}

// explain names the source that is not there.
func (c sourceAddress) explain(p *program, err error) error {
	if errors.Is(err, documents.ErrNoSource) {
		return usagef("the namespace %s has no source %s; parley sources lists its sources", p.config.Namespace, printable(c.Address))
	}
	return err
}

// withSources opens the data folder for a command.
func (p *program) withSources(ctx context.Context, do func(*documents.Service) error) error {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	in, err := p.open(ctx, withBuiltin(p.config))
	if err != nil {
		return err
	}
	defer in.Close()
	return do(in.documents)
}
