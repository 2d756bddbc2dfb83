package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/internal/audit"
	"parley/internal/store"
)

func open(t *testing.T) *store.Audit {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Audit()
}

func TestLog_IsReadInOrderAndByWhoWhenAndWhat(t *testing.T) {
	entries := open(t)
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	log := audit.New(entries, slog.New(slog.DiscardHandler), func() time.Time { now = now.Add(time.Hour); return now })
	for _, e := range []audit.Entry{
		{Action: audit.SignIn, Subject: "ann"}, {Action: audit.Change, Subject: "bob", What: "POST /upload", Object: "job 1: a.pdf", Status: 200},
		{Action: audit.Change, Subject: "ann", What: "DELETE /api/keys/x", Status: 404},
	} {
		log.Note(t.Context(), e)
	}
	who := func(q audit.Query) (all []string) {
		got, err := entries.Audit(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			all = append(all, e.Subject+" "+string(e.Action))
		}
		return all
	}
	first, err := entries.Audit(t.Context(), audit.Query{Limit: 1})
	if err != nil || len(first) != 1 {
		t.Fatalf("%v, %v", first, err)
	}
	all := []string{"ann sign-in", "bob change", "ann change"}
	at := func(hour int) time.Time { return time.Date(2026, 11, 23, hour, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		q    audit.Query
		want []string
	}{
		"all": {audit.Query{}, all}, "one's": {audit.Query{Subject: "ann"}, []string{all[0], all[2]}}, "one kind": {audit.Query{Action: audit.Change}, all[1:]},
		"from": {audit.Query{From: at(12)}, all[1:]}, "to": {audit.Query{To: at(12)}, all[:1]}, "after": {audit.Query{After: first[0].ID, Limit: 1}, all[1:2]},
	} {
		if diff := cmp.Diff(c.want, who(c.q)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if n, err := entries.ForgetAudit(t.Context(), at(13)); err != nil || n != 2 || len(who(audit.Query{})) != 1 {
		t.Errorf("%d forgotten, %v", n, err)
	}
}

// Whatever somebody calls themselves or asks for, an entry stays one line that a JSON reader and a database take.
func TestLog_CannotBeForgedFromWithin(t *testing.T) {
	entries := open(t)
	log := audit.New(entries, slog.New(slog.DiscardHandler), time.Now)
	for _, odd := range []string{"ann\n{\"action\":\"sign-in\"}", "\x00", "\xff\xfe", "\u2028", `"}`, strings.Repeat("ä", 400), strings.Repeat("x", 1<<20), "\x1b[2J"} {
		log.Note(t.Context(), audit.Entry{Action: audit.Change, Subject: odd, What: odd, Object: odd, Why: odd, From: odd})
	}
	all, err := entries.Audit(t.Context(), audit.Query{})
	if err != nil || len(all) != 8 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	for _, e := range all {
		line, err := json.Marshal(e)
		if err != nil || bytes.ContainsAny(line, "\n\x00\x1b") || len(e.What) > 500 || !utf8.ValidString(e.What) || e.What == "" {
			t.Errorf("%q, %v", line, err)
		}
	}
}

func TestLog_WritesAFewOfManyRefusalsAndCountsTheRest(t *testing.T) {
	entries := open(t)
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	log := audit.New(entries, slog.New(slog.DiscardHandler), func() time.Time { return now })
	for range 500 {
		log.Note(t.Context(), audit.Entry{Action: audit.Refused, Status: 401})
	}
	log.Note(t.Context(), audit.Entry{Action: audit.SignIn, Subject: "ann"}) // is not refused
	now = now.Add(time.Minute)
	log.Note(t.Context(), audit.Entry{Action: audit.Refused, Status: 403})
	all, err := entries.Audit(t.Context(), audit.Query{})
	if err != nil || len(all) != 63 || !strings.HasPrefix(all[61].Why, "440 more") || all[62].Status != 403 {
		t.Errorf("%d entries, %v: %+v", len(all), err, all[max(0, len(all)-2):])
	}
}

type full struct{}

func (full) AddAudit(context.Context, audit.Entry) error { return errors.New("no space left") }

func TestLog_SaysWhatItCannotWrite(t *testing.T) {
	var said strings.Builder
	audit.New(full{}, slog.New(slog.NewTextHandler(&said, nil)), time.Now).Note(t.Context(), audit.Entry{Action: audit.Change, Subject: "ann"})
	if !strings.Contains(said.String(), "no space left") || !strings.Contains(said.String(), "subject=ann") {
		t.Error(said.String())
	}
}
