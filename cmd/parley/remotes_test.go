package main

import (
	"slices"
	"testing"

	"parley/internal/documents/source"
)

func TestRemotes_SayWhoMaySeeASourceAndHowMuchItMayHold(t *testing.T) {
	t.Parallel()
	p := &program{}
	err := p.config.IngestSources.UnmarshalText([]byte(`
mail: {address: imaps://mail.example.com, user: anna, secret_env: X, users: [anna]}
board: {address: imaps://mail.example.com/Board, groups: [board], category: minutes, quota: 2GiB}
open: {address: s3://handbook}
`))
	if err == nil {
		err = p.config.IngestSources.check()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := func(address string) (users, groups []string, category string, quota int64) {
		a, err := source.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		found := p.said(a)
		f, quota := found.Fields, found.Quota
		if f.Access != nil {
			users, groups = f.Access.Users, f.Access.Groups
		}
		if f.Category != nil {
			category = *f.Category
		}
		return users, groups, category, quota
	}
	if users, groups, _, _ := said("imaps://mail.example.com/INBOX"); !slices.Equal(users, []string{"anna"}) || groups != nil {
		t.Errorf("of a mailbox of an account: %q, %q", users, groups)
	}
	if users, groups, category, quota := said("imaps://mail.example.com/Board"); quota != 2<<30 || users != nil || !slices.Equal(groups, []string{"board"}) || category != "minutes" {
		t.Errorf("of a mailbox with an entry of its own: %q, %q, %q, %d bytes", users, groups, category, quota)
	}
	if users, groups, _, quota := said("s3://handbook/x"); quota != 0 || users != nil || groups != nil {
		t.Errorf("of a source that says nothing: %q, %q", users, groups)
	}
	for _, bad := range []string{`{a: {address: s3://b, groups: []}}`, `{a: {address: s3://b, users: [" "]}}`, `{a: {address: s3://b, quota: much}}`} {
		var s remotes
		if err := s.UnmarshalText([]byte(bad)); err != nil {
			t.Fatal(err)
		}
		if s.check() == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
