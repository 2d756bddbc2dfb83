package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/auth/roster"
)

func TestMembers_CloseANamespaceUntilItIsOpened(t *testing.T) {
	onBoth(t, func(t *testing.T, db *DB) {
		ctx, s := t.Context(), db.Members()
		version := int64(-1)
		check := func(doing string, wantClosed []string, want ...access.Member) {
			t.Helper()
			closed, all, err := s.All(ctx)
			if diff := cmp.Diff(wantClosed, closed) + cmp.Diff(want, all); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got)\n%s", doing, err, diff)
			}
			now, err := s.Version(ctx)
			if err != nil || now <= version {
				t.Errorf("%s: version %d after %d, %v", doing, now, version, err)
			}
			version = now
		}
		check("new", nil)
		ann := access.Member{Namespace: "a", Name: `ann'"; --`, Role: access.Owner}
		staff := access.Member{Namespace: "a", Group: true, Name: ann.Name, Role: access.Reader}
		for _, m := range []access.Member{staff, ann} {
			if err := s.Put(ctx, m, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		check("two", []string{"a"}, ann, staff)
		ann.Role = access.Editor
		if err := s.Put(ctx, ann, time.Now()); err != nil {
			t.Fatal(err)
		}
		check("another role", []string{"a"}, ann, staff)
		if err := s.Remove(ctx, staff); err != nil {
			t.Fatal(err)
		}
		check("one", []string{"a"}, ann)
		if _, err := db.Users().Delete(ctx, ann.Name, time.Now()); err != nil {
			t.Fatal(err)
		}
		check("a deleted user leaves it closed", []string{"a"})
		if err := s.Remove(ctx, ann); !errors.Is(err, roster.ErrNotFound) {
			t.Errorf("removed nobody: %v", err)
		}
		if err := s.Open(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		check("open", nil)
		if err := s.Open(ctx, "a"); !errors.Is(err, roster.ErrNotFound) {
			t.Errorf("opened an open one: %v", err)
		}
	})
}
