package auth_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/auth"
	"parley/internal/auth/apikey"
	"parley/internal/auth/session"
	"parley/internal/store"
	"parley/internal/wire"
)

// crowd says that everybody is in a thousand groups.
type crowd struct{}

func (crowd) Recall(string, []byte) (access.Principal, error) {
	return access.Principal{Subject: "ann", Role: access.Reader, Groups: make([]string, 1000)}, nil
}

// BenchmarkAdmit measures how long it takes to admit an anonymous caller, a caller with one of 10,000 keys, a caller whose
// key was not used in the last second, and a caller with a session.
func BenchmarkAdmit(b *testing.B) {
	db, err := store.Open(b.Context(), b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	text := ""
	for range 10_000 {
		var k apikey.Key
		if k, text, err = apikey.New(apikey.Key{Role: access.Reader}, time.Now()); err == nil {
			err = db.APIKeys().AddKey(b.Context(), k)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	sessions := session.NewBook(db.Sessions(), crowd{}, time.Hour, time.Now)
	_, cookie, err := sessions.Begin(b.Context(), session.Session{Subject: "ann", Issuer: "https://login.example.com", Claims: []byte("{}")}, "")
	if err != nil {
		b.Fatal(err)
	}
	later := time.Now()
	for name, c := range map[string]struct {
		credential string
		now        func() time.Time
	}{
		"anonymous": {"", time.Now}, "key": {text, time.Now}, "session": {cookie, time.Now},
		"key read again": {text, func() time.Time { later = later.Add(time.Second); return later }},
	} {
		g := auth.New(auth.Config{Keys: apikey.NewBook(db.APIKeys(), slog.New(slog.DiscardHandler), c.now), Anonymous: true, Sessions: sessions})
		r := httptest.NewRequest(http.MethodPost, "/chat", nil)
		if c.credential == cookie {
			r.Host = "localhost"
			r.AddCookie(&http.Cookie{Name: "parley-session", Value: cookie})
		} else if c.credential != "" {
			r.Header.Set("Authorization", "Bearer "+c.credential)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := g.Admit(r, wire.Ask); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
