package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// keysCmd manages the keys with which programs sign in. It works on the data folder and needs no server; a
// running server follows it within a second.
type keysCmd struct {
	Create keysCreateCmd `cmd:"" help:"Create a key, and print it. It cannot be printed again."`
	List   keysListCmd   `cmd:"" default:"withargs" help:"List the keys, the newest first."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key."`
}

type keysCreateCmd struct {
	Role    string   `default:"reader" help:"What the key may do: reader (ask and read), editor (also add and delete documents) or administrator (also change what others own, and, with all namespaces, manage keys and see the usage of others)."`
	In      []string `placeholder:"NAME" help:"Namespaces that the key may use, separated by commas; * for all. By default the namespace of --namespace, or all for an administrator without --namespace."`
	Route   []string `placeholder:"PATH" help:"Paths that the key may call, such as /v1/*. By default all that its role allows."`
	Expires string   `help:"When the key expires: a duration such as 90d, or a day such as 2027-03-31. By default never."`
	Name    string   `help:"What the key is for, for people who list keys."`
}

type keysListCmd struct{}

type keysRevokeCmd struct {
	ID string `arg:"" help:"Id of the key, or the key."`
}

// Run prints the key alone on standard output, so that a script can take it from there.
func (c keysCreateCmd) Run(ctx context.Context, p *program) error {
	now := time.Now()
	expires, err := parseExpiry(c.Expires, now)
	if err != nil {
		return err
	}
	key := apikey.Key{Name: c.Name, Role: access.Role(c.Role), Namespaces: c.namespaces(p), Routes: c.Route, ExpiresAt: expires}
	for _, name := range key.Namespaces {
		if err := retrieval.CheckNamespace(name); err != nil {
			return usagef("--in: %q: %w", name, err)
		}
	}
	key, text, err := apikey.New(key, now)
	if err != nil {
		return usageError{err}
	}
	err = p.withStore(ctx, func(db *store.DB) error {
		if err := db.APIKeys().AddKey(ctx, key); err != nil {
			return err
		}
		p.noteLocal(ctx, db, "parley keys create", fmt.Sprintf("key %s: %s", key.ID, key.Role))
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "Key %s: %s of %s, expires: %s. It is not shown again.\n", key.ID, key.Role, joinedOr(key.Namespaces, "all namespaces"),
		shownTime(key.ExpiresAt, "never"))
	_, err = fmt.Fprintln(p.stdout, text)
	return err
}

// namespaces returns the namespaces of the key; nil means all.
func (c keysCreateCmd) namespaces(p *program) []string {
	switch {
	case slices.Contains(c.In, "*"):
		return nil
	case len(c.In) > 0:
		return c.In
	case access.Role(c.Role) == access.Administrator && p.origin["namespace"] == "":
		return nil
	}
	return []string{p.config.Namespace}
}

// parseExpiry reads a duration from now, or a day, at whose end the key expires; "" means never.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	var d duration
	if err := d.UnmarshalText([]byte(s)); err != nil || d <= 0 {
		return time.Time{}, usagef("--expires: %q is neither a duration such as 12h or 90d, nor a day such as 2027-03-31", s)
	}
	return now.Add(time.Duration(d)), nil
}

// Run lists the keys.
func (keysListCmd) Run(ctx context.Context, p *program) error {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	return p.withKeys(ctx, func(keys *store.APIKeys) error {
		all, err := keys.Keys(ctx)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			_, err := fmt.Fprintln(p.stdout, "There are no keys.")
			return err
		}
		now := time.Now()
		t := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tSTATE\tROLE\tNAMESPACES\tROUTES\tCREATED\tEXPIRES\tLAST USED\tNAME")
		for _, k := range all {
			fmt.Fprintln(t, strings.Join([]string{k.ID, k.State(now), string(k.Role), joinedOr(k.Namespaces, "all"), joinedOr(k.Routes, "all"),
				shownTime(k.CreatedAt, ""), shownTime(k.ExpiresAt, "never"), shownTime(k.UsedAt, "never"), k.Name}, "\t"))
		}
		return t.Flush()
	})
}

// Run revokes a key.
func (c keysRevokeCmd) Run(ctx context.Context, p *program) error {
	if err := p.checkStoredAnything(); err != nil {
		return err
	}
	return p.withStore(ctx, func(db *store.DB) error {
		id := apikey.IDOf(c.ID)
		err := db.APIKeys().RevokeKey(ctx, id, time.Now())
		if errors.Is(err, apikey.ErrNotFound) {
			return usagef("there is no key %s; parley keys lists all keys", id)
		}
		if err != nil {
			return err
		}
		p.noteLocal(ctx, db, "parley keys revoke", "key "+id)
		_, err = fmt.Fprintf(p.stdout, "The key %s is revoked.\n", id)
		return err
	})
}

// withKeys opens the data folder for a command.
func (p *program) withKeys(ctx context.Context, do func(*store.APIKeys) error) error {
	return p.withStore(ctx, func(db *store.DB) error { return do(db.APIKeys()) })
}

// withStore opens the data folder for a command.
func (p *program) withStore(ctx context.Context, do func(*store.DB) error) (err error) {
	db, err := p.openStore(ctx, p.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

func joinedOr(all []string, none string) string {
	return cmp.Or(strings.Join(all, ","), none)
}

func shownTime(t time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return t.Local().Format("2006-01-02 15:04")
}
