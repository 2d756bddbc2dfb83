package main

import (
	"context"
	"net"
	"net/http"
	"os/user"
	"time"

	"parley/internal/access"
	"parley/internal/audit"
	"parley/internal/store"
	"parley/internal/wire"
	"parley/internal/wire/auditapi"
	"parley/internal/wire/signin"
)

// auditCmd prints the audit log.
type auditCmd struct {
	From   string `placeholder:"TIME" help:"First day or time, such as 2026-11-01 or 2026-11-01T10:00:00Z."`
	To     string `placeholder:"TIME" help:"The day or time before which entries count."`
	User   string `placeholder:"SUBJECT" help:"Whose entries to print."`
	Action string `help:"Which entries to print: sign-in, sign-out, refused, change or start."`
}

// Run prints JSON Lines.
func (c auditCmd) Run(ctx context.Context, p *program) error {
	q, err := auditapi.ParseQuery(c.From, c.To, c.User, c.Action)
	if err != nil {
		return usageError{err}
	}
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	return p.withStore(ctx, func(db *store.DB) error {
		const page = 1000
		q.Limit = page
		for {
			all, err := db.Audit().Audit(ctx, q)
			if err != nil {
				return err
			}
			if err := auditapi.Write(p.stdout, all); err != nil || len(all) < page {
				return err
			}
			q.After = all[len(all)-1].ID
		}
	})
}

// noteLocal writes what a command on this machine has changed to the audit log.
func (p *program) noteLocal(ctx context.Context, db *store.DB, what, object string) {
	audit.New(db.Audit(), p.log, time.Now).Note(ctx, audit.Entry{Action: audit.Change, Subject: localSubject(), What: what, Object: object})
}

// noteStart writes the start of a server to the audit log.
func noteStart(ctx context.Context, log *audit.Log, listening net.Addr) {
	log.Note(ctx, audit.Entry{Action: audit.Start, Subject: localSubject(), What: "parley serve", Object: release + " on " + listening.String()})
}

// localSubject names the user of this machine who runs the program.
func localSubject() string {
	u, err := user.Current()
	if err != nil {
		return access.LocalPrefix + "?"
	}
	return access.LocalPrefix + u.Username
}

// noteRefused writes a request that has no right to the audit log.
func noteRefused(log *audit.Log) func(*http.Request, access.Principal, error) {
	return func(r *http.Request, who access.Principal, err error) {
		f := wire.FailureOf(err)
		log.Note(r.Context(), audit.Entry{Action: audit.Refused, Subject: who.Subject, From: peerOf(r), What: r.Method + " " + r.URL.Path, Status: f.Status, Why: f.Text})
	}
}

// noteChanged writes a request that may have changed something to the audit log.
func noteChanged(log *audit.Log) func(*wire.Request, int) {
	return func(r *wire.Request, status int) {
		log.Note(r.Context(), audit.Entry{Action: audit.Change, Subject: r.Who.Subject, From: peerOf(r.Request), What: r.Method + " " + r.URL.Path,
			Object: r.Changed, Status: status})
	}
}

// noteSignIn writes a sign-in, even a failed one, or a sign-out to the audit log.
func noteSignIn(log *audit.Log) func(*wire.Request, signin.Event) {
	return func(r *wire.Request, e signin.Event) {
		entry := audit.Entry{Action: audit.SignIn, Subject: e.Subject, From: peerOf(r.Request), What: r.Method + " " + r.URL.Path, Object: e.With, Why: e.Refused}
		switch {
		case e.Out:
			entry.Action = audit.SignOut
		case e.Refused != "":
			entry.Action = audit.Refused
		}
		log.Note(r.Context(), entry)
	}
}

// peerOf returns the address from which a request came, without the port. It ignores headers.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
