package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/audit"
)

// AuditStore is a store of the audit log.
type AuditStore interface {
	audit.Store
	Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error)
	ForgetAudit(ctx context.Context, before time.Time) (int, error)
}

// Audit tests a store of the audit log.
func Audit(t *testing.T, open func(*testing.T) AuditStore) {
	s, ctx := open(t), t.Context()
	at := func(hour int) time.Time { return time.Date(2026, 11, 23, hour, 0, 0, 0, time.UTC) }
	all := []audit.Entry{
		{ID: "01A", At: at(1), Action: audit.SignIn, Subject: "ann", From: "192.0.2.1", What: "POST /sign-in", Object: "key a"},
		{ID: "01B", At: at(2), Action: audit.Change, Subject: "bob", What: "POST /upload", Object: "job \"ä\"\n\u2028", Status: 200},
		{ID: "01C", At: at(3), Action: audit.Refused, Status: 401, Why: "Sign-in is required."},
		{ID: "01a", At: at(4), Action: audit.Change, Subject: "ann"}, // after the others: ids are compared by their bytes
	}
	for _, i := range []int{2, 0, 3, 1} {
		if err := s.AddAudit(ctx, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		q    audit.Query
		want []audit.Entry
	}{
		"all": {audit.Query{}, all}, "a page": {audit.Query{After: "01A", Limit: 2}, all[1:3]}, "one's": {audit.Query{Subject: "ann"}, []audit.Entry{all[0], all[3]}},
		"one kind of one's": {audit.Query{Subject: "ann", Action: audit.Change}, all[3:]}, "a time": {audit.Query{From: at(2), To: at(4)}, all[1:3]},
		"none": {audit.Query{After: "01a"}, nil},
	} {
		got, err := s.Audit(ctx, c.q)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
	if err := s.AddAudit(ctx, all[0]); err == nil {
		t.Error("an entry was replaced")
	}
	n, err := s.ForgetAudit(ctx, at(3))
	got, failed := s.Audit(ctx, audit.Query{})
	if diff := cmp.Diff(all[2:], got); diff != "" || n != 2 || err != nil || failed != nil {
		t.Errorf("%d forgotten, %v, %v (-want +got)\n%s", n, err, failed, diff)
	}
}
