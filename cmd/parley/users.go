package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"parley/internal/durable"
	"parley/internal/users"
)

// usersCmd exports and deletes what is kept about users. It works on the data folder, also while a server runs.
type usersCmd struct {
	List   usersListCmd   `cmd:"" default:"withargs" help:"List the users for whom something is stored."`
	Export usersExportCmd `cmd:"" help:"Write everything that is kept about a user to a ZIP archive."`
	Delete usersDeleteCmd `cmd:"" help:"Delete everything about a user. The ledger keeps amounts without the name, and the audit log its entries."`
}

type usersListCmd struct{}

type usersExportCmd struct {
	User string `arg:"" help:"Id of the user, as parley users lists it."`
	File string `arg:"" help:"Archive to write. It must not exist."`
}

type usersDeleteCmd struct {
	User string `arg:"" help:"Id of the user, as parley users lists it."`
	Yes  bool   `help:"Delete. Without it, the command only says what it would delete."`
}

// Run prints one user a line.
func (usersListCmd) Run(ctx context.Context, p *program) error {
	return p.withUsers(ctx, func(_ *instance, all *users.Users) error {
		subjects, err := all.Subjects(ctx)
		for _, subject := range subjects {
			fmt.Fprintln(p.stdout, printable(subject))
		}
		return err
	})
}

// printable returns a subject so that it cannot control a terminal.
func printable(subject string) string {
	if quoted := fmt.Sprintf("%q", subject); quoted != `"`+subject+`"` {
		return quoted
	}
	return subject
}

// Run writes an archive that only the user who runs the program can read.
func (c usersExportCmd) Run(ctx context.Context, p *program) error {
	return p.withUsers(ctx, func(in *instance, all *users.Users) (err error) {
		f, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return usagef("%s exists already: name another file", c.File)
		}
		if err != nil {
			return usageError{err}
		}
		err = all.Export(ctx, f, c.User)
		if err = durable.Close(f, err); err != nil {
			return errors.Join(userError(err), os.Remove(c.File))
		}
		p.noteLocal(ctx, in.db, "parley users export", "user "+c.User)
		fmt.Fprintf(p.stdout, "Everything about %s is in %s.\n", printable(c.User), c.File)
		return nil
	})
}

// Run deletes a user, or says what would be deleted.
func (c usersDeleteCmd) Run(ctx context.Context, p *program) error {
	return p.withUsers(ctx, func(in *instance, all *users.Users) error {
		if !c.Yes {
			return c.survey(ctx, p, in)
		}
		report, err := all.Delete(ctx, c.User)
		if err != nil {
			return userError(err)
		}
		p.noteLocal(ctx, in.db, "parley users delete", "user "+c.User)
		fmt.Fprintf(p.stdout, "Deleted of %s: %s.\n", printable(c.User), counted(report.Documents, report.Records))
		return nil
	})
}

// survey counts what a deletion would delete.
func (c usersDeleteCmd) survey(ctx context.Context, p *program, in *instance) error {
	counts := map[string]int{}
	err := in.db.Users().Records(ctx, c.User, func(kind string, _ []byte) error { counts[kind]++; return nil })
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "There are %s of %s, with what belongs to these. --yes deletes all of it but audit entries; usage keeps its amounts without the name.\n",
		counted(counts["document"], counts), printable(c.User))
	return nil
}

// counted names records with their numbers.
func counted(documents int, records map[string]int) string {
	all := []string{plural(documents, "document")}
	for _, kind := range slices.Sorted(maps.Keys(records)) {
		if kind != "document" {
			all = append(all, fmt.Sprintf("%s: %d", strings.ReplaceAll(kind, "_", " "), records[kind]))
		}
	}
	return strings.Join(all, ", ")
}

func userError(err error) error {
	if errors.Is(err, users.ErrNotAUser) {
		return usageError{users.ErrNotAUser}
	}
	return err
}

// withUsers opens the data folder for a command.
func (p *program) withUsers(ctx context.Context, do func(*instance, *users.Users) error) (err error) {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	in, err := p.open(ctx, withBuiltin(p.config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return do(in, in.users())
}

// users returns the service that exports and deletes users.
func (in *instance) users() *users.Users {
	return users.New(users.Config{Records: in.db.Users(), Documents: in.documents, Originals: in.db.Blobs()})
}
