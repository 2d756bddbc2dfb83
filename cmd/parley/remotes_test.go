package main

import (
	"slices"
	"strings"
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

func TestRemotes_LetASourceDecideOverRightsWhereThatIsClear(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"{address: webdavs://cloud.example.com/docs, source_rights: true}":                 "",
		"{address: imaps://mail.example.com, source_rights: true, category: mail}":         "",
		"{address: s3://handbook, source_rights: false, users: [anna]}":                    "",
		"{address: webdavs://cloud.example.com/docs, source_rights: true, users: [anna]}":  "use either source_rights, or users and groups",
		"{address: webdavs://cloud.example.com/docs, source_rights: true, groups: [sale]}": "use either source_rights, or users and groups",
		"{address: s3://handbook, source_rights: true}":                                    "the kind S3 bucket do not say which people may see their files. Name users and groups instead",
		"{address: git+https://git.example.com/x, source_rights: true}":                    "the kind git repository do not",
	} {
		p := &program{}
		err := p.config.IngestSources.UnmarshalText([]byte("docs: " + entry))
		if err == nil {
			err = p.config.IngestSources.check()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
	p := &program{}
	if err := p.config.IngestSources.UnmarshalText([]byte("docs: {address: webdavs://cloud.example.com/docs, source_rights: true}")); err != nil {
		t.Fatal(err)
	}
	if !p.config.IngestSources.askRights() || DefaultConfig().IngestSources.askRights() {
		t.Error("askRights is true without a source with source_rights, or false with one")
	}
	for address, want := range map[string]bool{"webdavs://cloud.example.com/docs/deep": true, "webdavs://cloud.example.com/other": false} {
		a, err := source.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if p.said(a).Rights != want {
			t.Errorf("%s: rights from the source: %t", address, !want)
		}
	}
}
