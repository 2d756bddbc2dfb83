package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"parley/internal/access"
	"parley/internal/auth/roster"
	"parley/internal/store"
	"parley/internal/wire/membersapi"
)

// membersCmd manages the members of namespaces. A running server follows it within a second.
type membersCmd struct {
	List   membersListCmd   `cmd:"" default:"withargs" help:"List the members of all namespaces that have some."`
	Add    membersAddCmd    `cmd:"" help:"Add a member to the namespace of --namespace, or change its role. From the first member on, only members and administrators may use the namespace."`
	Remove membersRemoveCmd `cmd:"" help:"Remove a member from the namespace of --namespace."`
	Open   membersOpenCmd   `cmd:"" help:"Remove all members of the namespace of --namespace, so that everybody may use it again."`
}

type membersListCmd struct{}

type memberName struct {
	User  string `placeholder:"SUBJECT" xor:"member" required:"" help:"Id of a user, such as key:4f7kq2mzt3wd or what the identity provider calls them."`
	Group string `placeholder:"ID" xor:"member" required:"" help:"Id of a group."`
}

func (n memberName) in(p *program) access.Member {
	return access.Member{Namespace: p.config.Namespace, Name: n.User + n.Group, Group: n.Group != ""}
}

type membersAddCmd struct {
	memberName
	Role string `default:"reader" help:"reader (ask and read), editor (also add and delete documents) or owner (also manage members, and change all documents)."`
}

type membersRemoveCmd struct{ memberName }

type membersOpenCmd struct{}

// Run prints a table.
func (membersListCmd) Run(ctx context.Context, p *program) error {
	return p.withMembers(ctx, func(_ *store.DB, members *store.Members) error {
		closed, all, err := members.All(ctx)
		if err != nil {
			return err
		}
		if len(closed) == 0 {
			_, err := fmt.Fprintln(p.stdout, "No namespace has members: everybody whom the server admits may use all of them.")
			return err
		}
		t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "NAMESPACE\tMEMBER\tROLE")
		for _, namespace := range closed {
			some := false
			for _, m := range all {
				if m.Namespace == namespace {
					some = true
					fmt.Fprintf(t, "%s\t%s\t%s\n", namespace, printable(membersapi.Name(m)), m.Role)
				}
			}
			if !some {
				fmt.Fprintf(t, "%s\t(administrators only)\t\n", namespace)
			}
		}
		return t.Flush()
	})
}

// Run adds a member.
func (c membersAddCmd) Run(ctx context.Context, p *program) error {
	m := c.in(p)
	m.Role = access.Role(c.Role)
	if err := errors.Join(membersapi.CheckNamespace(m.Namespace), roster.Check(m)); err != nil {
		return usageError{err}
	}
	return p.withMembers(ctx, func(db *store.DB, members *store.Members) error {
		if err := members.Put(ctx, m, time.Now()); err != nil {
			return err
		}
		p.noteLocal(ctx, db, "parley members add", fmt.Sprintf("%s: %s of %s", m.Namespace, m.Role, membersapi.Name(m)))
		_, err := fmt.Fprintf(p.stdout, "In %s, the %s is now %s. Only members and administrators may use it.\n", m.Namespace, printable(membersapi.Name(m)), m.Role)
		return err
	})
}

// Run removes a member.
func (c membersRemoveCmd) Run(ctx context.Context, p *program) error {
	m := c.in(p)
	return p.withMembers(ctx, func(db *store.DB, members *store.Members) error {
		err := members.Remove(ctx, m)
		if errors.Is(err, roster.ErrNotFound) {
			return usagef("the %s is not a member of %s; parley members lists the members", printable(membersapi.Name(m)), m.Namespace)
		}
		if err != nil {
			return err
		}
		p.noteLocal(ctx, db, "parley members remove", m.Namespace+": "+membersapi.Name(m))
		_, err = fmt.Fprintf(p.stdout, "The %s is no longer a member of %s.\n", printable(membersapi.Name(m)), m.Namespace)
		return err
	})
}

// Run opens a namespace.
func (membersOpenCmd) Run(ctx context.Context, p *program) error {
	return p.withMembers(ctx, func(db *store.DB, members *store.Members) error {
		err := members.Open(ctx, p.config.Namespace)
		if errors.Is(err, roster.ErrNotFound) {
			return usagef("the namespace %s has no members", p.config.Namespace)
		}
		if err != nil {
			return err
		}
		p.noteLocal(ctx, db, "parley members open", p.config.Namespace)
		_, err = fmt.Fprintf(p.stdout, "Everybody whom the server admits may use the namespace %s.\n", p.config.Namespace)
		return err
	})
}

// withMembers opens the data folder for a command.
func (p *program) withMembers(ctx context.Context, do func(*store.DB, *store.Members) error) error {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	return p.withStore(ctx, func(db *store.DB) error { return do(db, db.Members()) })
}
