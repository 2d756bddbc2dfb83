package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"parley/internal/auth/session"
	"parley/internal/store"
)

// sessionsCmd shows and ends the sessions of people who signed in on the web page. A running server follows it
// within a second.
type sessionsCmd struct {
	List sessionsListCmd `cmd:"" default:"withargs" help:"List the sessions that go on, the newest first."`
	End  sessionsEndCmd  `cmd:"" help:"End a session, or all of somebody."`
}

type sessionsListCmd struct{}

type sessionsEndCmd struct {
	ID   string `arg:"" optional:"" help:"Id of the session."`
	User string `placeholder:"SUBJECT" help:"End all sessions of this user, as the list names them."`
}

// Run prints a table.
func (sessionsListCmd) Run(ctx context.Context, p *program) error {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	return p.withStore(ctx, func(db *store.DB) error {
		all, err := db.Sessions().Sessions(ctx, "", time.Now())
		if err != nil {
			return err
		}
		if len(all) == 0 {
			_, err := fmt.Fprintln(p.stdout, "Nobody is signed in on the web page.")
			return err
		}
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tUSER\tNAME\tSINCE\tUNTIL\tSIGNED IN WITH")
		for _, s := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, s.Subject, s.Name, shownTime(s.CreatedAt, ""), shownTime(s.ExpiresAt, ""),
				cmp.Or(s.Issuer, "key "+s.Key))
		}
		return w.Flush()
	})
}

// Run ends sessions.
func (c sessionsEndCmd) Run(ctx context.Context, p *program) error {
	if (c.ID == "") == (c.User == "") {
		return usagef("name the id of a session, or a user with --user")
	}
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	return p.withStore(ctx, func(db *store.DB) error {
		if c.User != "" {
			n, err := db.Sessions().EndSessionsOf(ctx, c.User)
			if err == nil {
				p.noteLocal(ctx, db, "parley sessions end", "all of "+c.User)
				fmt.Fprintf(p.stdout, "%s ended.\n", plural(n, "session"))
			}
			return err
		}
		err := db.Sessions().EndSession(ctx, c.ID)
		if errors.Is(err, session.ErrNotFound) {
			return usagef("there is no session %s; parley sessions lists them", c.ID)
		}
		if err == nil {
			p.noteLocal(ctx, db, "parley sessions end", c.ID)
			fmt.Fprintln(p.stdout, "The session has ended.")
		}
		return err
	})
}
