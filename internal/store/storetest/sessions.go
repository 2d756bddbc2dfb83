package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/auth/session"
)

// SessionStore keeps sessions. It also has the methods for managing them.
type SessionStore interface {
	session.Store
	Sessions(ctx context.Context, subject string, at time.Time) ([]session.Session, error)
	EndSessionsOf(ctx context.Context, subject string) (int, error)
	ForgetSessions(ctx context.Context, at time.Time) (int, error)
}

// Sessions tests a SessionStore.
func Sessions(t *testing.T, open func(t *testing.T) SessionStore) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, SessionStore)
	}{
		{"a session comes back until it is ended", testSessionRoundTrip},
		{"the oldest sessions of a subject make room", testSessionRoom},
		{"sessions are listed while they last, the newest first", testSessionList},
		{"sessions of a subject are ended together", testSessionEnd},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// begin stores sessions that begin one after another, each for an hour.
func begin(t *testing.T, s SessionStore, subject string, most int, ids ...string) {
	t.Helper()
	for i, id := range ids {
		began := keyTime.Add(time.Duration(i) * time.Minute)
		err := s.AddSession(t.Context(), session.Session{ID: id, Subject: subject, CreatedAt: began, ExpiresAt: began.Add(time.Hour)}, most)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantSessions(t *testing.T, s SessionStore, subject string, at time.Time, want ...string) {
	t.Helper()
	all, err := s.Sessions(t.Context(), subject, at)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range all {
		got = append(got, one.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("sessions of %q: %q, want %q", subject, got, want)
	}
}

func testSessionRoundTrip(t *testing.T, s SessionStore) {
	want := session.Session{
		ID: "s", Hash: [32]byte{31: 7}, Subject: "ada", Name: "Ada \x00", Key: "k", Issuer: "https://id.example.com",
		Claims: []byte(`{"groups":["a"]}`), Sealed: []byte{0, 255}, CreatedAt: keyTime, ExpiresAt: keyTime.Add(time.Hour),
	}
	if err := s.AddSession(t.Context(), want, 1); err != nil {
		t.Fatal(err)
	}
	got, err := s.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	if err := s.EndSession(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	if _, err := s.Session(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a session that was ended: %v", err)
	}
	if err := s.EndSession(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("ending it again: %v", err)
	}
}

func testSessionRoom(t *testing.T, s SessionStore) {
	begin(t, s, "eve", 9, "e")
	begin(t, s, "ada", 2, "a", "b", "c")
	wantSessions(t, s, "ada", keyTime, "c", "b")
	wantSessions(t, s, "eve", keyTime, "e")
}

func testSessionList(t *testing.T, s SessionStore) {
	begin(t, s, "ada", 9, "a", "b", "c")
	wantSessions(t, s, "", keyTime.Add(time.Hour), "c", "b")
	if n, err := s.ForgetSessions(t.Context(), keyTime.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("%d sessions were forgotten, %v", n, err)
	}
	wantSessions(t, s, "", keyTime, "c", "b")
}

func testSessionEnd(t *testing.T, s SessionStore) {
	begin(t, s, "ada", 9, "a", "b")
	begin(t, s, "eve", 9, "e")
	if n, err := s.EndSessionsOf(t.Context(), "ada"); n != 2 || err != nil {
		t.Errorf("%d sessions were ended, %v", n, err)
	}
	wantSessions(t, s, "", keyTime, "e")
}
