package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/access"
	"parley/internal/auth/apikey"
)

// KeyStore keeps API keys. It also has the methods for managing them.
type KeyStore interface {
	apikey.Store
	AddKey(ctx context.Context, k apikey.Key) error
	Keys(ctx context.Context) ([]apikey.Key, error)
	RevokeKey(ctx context.Context, id string, at time.Time) error
}

// Keys tests a KeyStore.
func Keys(t *testing.T, open func(t *testing.T) KeyStore) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, KeyStore)
	}{
		{"a key comes back", testKeyRoundTrip},
		{"keys are listed, the newest first", testKeyList},
		{"a key is revoked once", testKeyRevoked},
		{"a key can be used until it expires or is revoked", testKeyValid},
		{"the last use of a key is kept", testKeyUsed},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

var keyTime = time.Date(2026, 11, 23, 12, 0, 0, 1000, time.UTC)

func addKey(t *testing.T, s KeyStore, k apikey.Key) apikey.Key {
	t.Helper()
	if err := s.AddKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return k
}

func wantKey(t *testing.T, s KeyStore, want apikey.Key) {
	t.Helper()
	got, err := s.Key(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
}

func testKeyRoundTrip(t *testing.T, s KeyStore) {
	wantKey(t, s, addKey(t, s, apikey.Key{ID: "all", Name: "crawler \x00 of Ada", Role: access.Administrator, Hash: [32]byte{31: 7}, CreatedAt: keyTime}))
	wantKey(t, s, addKey(t, s, apikey.Key{
		ID: "some", Namespaces: []string{"a", "b"}, Routes: []string{"/v1/*"}, CreatedAt: keyTime,
		ExpiresAt: keyTime.Add(time.Hour), RevokedAt: keyTime.Add(time.Minute), UsedAt: keyTime.Add(time.Second),
	}))
	wantKey(t, s, addKey(t, s, apikey.Key{ID: "none", Namespaces: []string{}, Routes: []string{}, CreatedAt: keyTime}))
	if _, err := s.Key(t.Context(), "another"); !errors.Is(err, apikey.ErrNotFound) {
		t.Errorf("a key that does not exist: %v", err)
	}
}

func testKeyList(t *testing.T, s KeyStore) {
	var want []apikey.Key
	for i, id := range []string{"c", "a", "b"} {
		want = append([]apikey.Key{addKey(t, s, apikey.Key{ID: id, CreatedAt: keyTime.Add(time.Duration(i) * time.Second)})}, want...)
	}
	got, err := s.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func testKeyRevoked(t *testing.T, s KeyStore) {
	k := addKey(t, s, apikey.Key{ID: "k", CreatedAt: keyTime})
	for i := range 2 {
		if err := s.RevokeKey(t.Context(), k.ID, keyTime.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	k.RevokedAt = keyTime // the first time counts
	wantKey(t, s, k)
	if err := s.RevokeKey(t.Context(), "another", keyTime); !errors.Is(err, apikey.ErrNotFound) {
		t.Errorf("a key that does not exist: %v", err)
	}
}

func testKeyValid(t *testing.T, s KeyStore) {
	want := func(what string, at time.Time, want bool) {
		t.Helper()
		if got, err := s.HasValidKey(t.Context(), at); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", what, got, err, want)
		}
	}
	want("no key", keyTime, false)
	addKey(t, s, apikey.Key{ID: "revoked", CreatedAt: keyTime, RevokedAt: keyTime})
	want("a revoked key", keyTime, false)
	addKey(t, s, apikey.Key{ID: "an hour", CreatedAt: keyTime, ExpiresAt: keyTime.Add(time.Hour)})
	want("before it expires", keyTime.Add(time.Minute), true)
	want("after it has expired", keyTime.Add(2*time.Hour), false)
	addKey(t, s, apikey.Key{ID: "for ever", CreatedAt: keyTime})
	want("a key that does not expire", keyTime.Add(2*time.Hour), true)
}

func testKeyUsed(t *testing.T, s KeyStore) {
	a, b := addKey(t, s, apikey.Key{ID: "a", CreatedAt: keyTime}), addKey(t, s, apikey.Key{ID: "b", CreatedAt: keyTime})
	for _, after := range []time.Duration{time.Hour, time.Minute} { // an earlier time does not count
		err := s.UsedKeys(t.Context(), map[string]time.Time{"a": keyTime.Add(after), "another": keyTime})
		if err != nil {
			t.Fatal(err)
		}
	}
	a.UsedAt = keyTime.Add(time.Hour)
	wantKey(t, s, a)
	wantKey(t, s, b)
}
