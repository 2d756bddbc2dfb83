package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"parley/internal/documents/job"
	"parley/internal/store"
)

// jobsCmd manages jobs of uploads and indexing requests. It works on the data folder and needs no
// server; a running server follows it within seconds.
type jobsCmd struct {
	List   jobsListCmd   `cmd:"" default:"withargs" help:"List the jobs, the newest first."`
	Show   jobsShowCmd   `cmd:"" help:"Show a job and the state of its files."`
	Retry  jobsRetryCmd  `cmd:"" help:"Retry a job that failed or was cancelled."`
	Cancel jobsCancelCmd `cmd:"" help:"Cancel a job."`
}

type jobsListCmd struct {
	Limit int `default:"20" help:"Largest number of jobs to list."`
}

type jobsShowCmd struct {
	ID string `arg:"" help:"Id of the job."`
}

type jobsRetryCmd struct {
	ID string `arg:"" help:"Id of the job."`
}

type jobsCancelCmd struct {
	ID string `arg:"" help:"Id of the job."`
}

// Run lists the jobs without an owner, which are all jobs as long as there is no sign-in.
func (c jobsListCmd) Run(ctx context.Context, p *program) error {
	return p.withJobs(ctx, func(jobs *store.Jobs) error {
		all, err := jobs.Jobs(ctx, job.List{Limit: max(c.Limit, 1)})
		if err != nil {
			return err
		}
		if len(all) == 0 {
			_, err := fmt.Fprintln(p.stdout, "There are no jobs.")
			return err
		}
		t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tKIND\tSTATE\tNAMESPACE\tCREATED\tFILES\tMESSAGE")
		for _, j := range all {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%s\n", j.ID, j.Kind, j.State, j.Namespace,
				j.CreatedAt.Local().Format(time.DateTime), j.Counts.Done, j.Counts.Total, j.Message)
		}
		return t.Flush()
	})
}

// Run prints a job.
func (c jobsShowCmd) Run(ctx context.Context, p *program) error {
	return p.printJob(ctx, c.ID, func(jobs *store.Jobs) (job.Job, error) { return jobs.Job(ctx, "", c.ID) })
}

// Run queues a job again.
func (c jobsRetryCmd) Run(ctx context.Context, p *program) error {
	return p.printJob(ctx, c.ID, func(jobs *store.Jobs) (job.Job, error) { return jobs.Retry(ctx, "", c.ID, time.Now()) })
}

// Run cancels a job.
func (c jobsCancelCmd) Run(ctx context.Context, p *program) error {
	return p.printJob(ctx, c.ID, func(jobs *store.Jobs) (job.Job, error) { return jobs.Ask(ctx, "", c.ID, time.Now()) })
}

// withJobs opens the data folder for a command.
func (p *program) withJobs(ctx context.Context, do func(*store.Jobs) error) (err error) {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	db, err := p.openStore(ctx, p.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db.Jobs())
}

func jobError(id string, err error) error {
	switch {
	case errors.Is(err, job.ErrNotFound):
		return usagef("there is no job %s", id)
	case errors.Is(err, job.ErrState):
		return fmt.Errorf("the state of job %s does not allow this; see parley jobs show %s", id, id)
	}
	return err
}

// printJob prints the job that get returns, which has the id.
func (p *program) printJob(ctx context.Context, id string, get func(*store.Jobs) (job.Job, error)) error {
	return p.withJobs(ctx, func(jobs *store.Jobs) error {
		j, err := get(jobs)
		if err != nil {
			return jobError(id, err)
		}
		return p.writeJob(j)
	})
}

func (p *program) writeJob(j job.Job) error {
	fmt.Fprintf(p.stdout, "%s (%s in %s): %s. %s\n", j.ID, j.Kind, j.Namespace, j.State, j.Message)
	if j.Asked {
		fmt.Fprintln(p.stdout, "The server that is running it will cancel it.")
	}
	t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	for _, f := range j.Files {
		fmt.Fprintln(t, strings.TrimRight(fmt.Sprintf("  %s\t%s\t%s\t%s", f.State, f.Name, f.Reason, f.Detail), "\t"))
	}
	return t.Flush()
}
