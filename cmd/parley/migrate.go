package main

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/documents/ingest"
	"parley/internal/store"
)

// migrateCmd copies everything between data folders and PostgreSQL databases.
type migrateCmd struct {
	From string `arg:"" name:"from" help:"Data folder, or PostgreSQL database as postgres://USER:PASSWORD@HOST/NAME."`
	To   string `arg:"" name:"to" help:"Data folder or PostgreSQL database that holds nothing yet, or part of an interrupted copy."`
}

// Help is the long description.
func (migrateCmd) Help() string {
	return "Stop the server first. All rows are compared when they are copied. An interrupted copy goes on when the command is repeated. " +
		"With a PostgreSQL database, --data names the folder for caches; uploaded files that lie in the data folder are not copied."
}

// Run copies and prints how much.
func (c migrateCmd) Run(ctx context.Context, p *program) (err error) {
	if c.From == c.To {
		return usagef("FROM and TO are the same")
	}
	from, err := p.openEnd(ctx, c.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := p.openEnd(ctx, c.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	rows := 0
	err = store.Copy(ctx, to.DB, from.DB, func(done store.Copied) {
		rows += done.Rows
		fmt.Fprintf(p.stderr, "%s: %d\n", done.Table, done.Rows)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Copied and compared %s.\n", plural(rows, "row"))
	return err
}

// end is one side of a copy, which nobody else serves.
type end struct {
	*store.DB
	unlock func()
}

func (e end) Close() error {
	e.unlock()
	return e.DB.Close()
}

// openEnd opens a folder or database and keeps servers away from it.
func (p *program) openEnd(ctx context.Context, place string) (e end, err error) {
	if store.IsURL(place) {
		if e.DB, err = store.OpenPostgres(ctx, place, p.config.Data, p.log); err != nil {
			return e, err
		}
		e.unlock, err = (&instance{db: e.DB}).claimServing(ctx)
		if err != nil {
			err = errors.Join(err, e.DB.Close())
		}
		return e, err
	}
	dir, err := store.PrepareFolder(place)
	if err != nil {
		return e, err
	}
	if _, e.unlock, err = ingest.LockServing(dir); err != nil {
		return e, usageError{err}
	}
	if e.DB, err = store.Open(ctx, dir, p.log); err != nil {
		e.unlock()
	}
	return e, err
}
