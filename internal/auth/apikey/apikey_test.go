package apikey_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
)

// shelf is a Store in memory.
type shelf struct {
	mu    sync.Mutex
	keys  map[string]apikey.Key
	reads int
	notes int
	full  bool // times of use cannot be written
}

func (s *shelf) put(k apikey.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]apikey.Key{}
	}
	s.keys[k.ID] = k
}

func (s *shelf) Key(_ context.Context, id string) (apikey.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	k, ok := s.keys[id]
	if !ok {
		return apikey.Key{}, apikey.ErrNotFound
	}
	return k, nil
}

func (s *shelf) HasValidKey(_ context.Context, at time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		if k.State(at) == apikey.Valid {
			return true, nil
		}
	}
	return false, nil
}

func (s *shelf) UsedKeys(_ context.Context, used map[string]time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes++
	if s.full {
		return errors.New("disk full")
	}
	for id, at := range used {
		k := s.keys[id]
		k.UsedAt = at
		s.keys[id] = k
	}
	return nil
}

func TestNew_RefusesWhatAKeyCannotBe(t *testing.T) {
	now := time.Now()
	for want, k := range map[string]apikey.Key{
		"is not a role":   {},
		"the name has":    {Role: access.Reader, Name: strings.Repeat("n", 201)},
		"is not a path":   {Role: access.Reader, Routes: []string{"v1/models"}},
		`"/v1/*/models"`:  {Role: access.Reader, Routes: []string{"/v1/*/models"}},
		"in the past":     {Role: access.Reader, ExpiresAt: now},
		"at most 100":     {Role: access.Reader, Namespaces: make([]string, 101)},
		`"root" is not a`: {Role: "root"},
	} {
		if _, text, err := apikey.New(k, now); err == nil || !strings.Contains(err.Error(), want) || text != "" {
			t.Errorf("%+v: %q, %v; want %s", k, text, err, want)
		}
	}
}

func TestBook_KnowsKeysByTheirSecretsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		book := apikey.NewBook(store, nil, time.Now)
		k, text, err := apikey.New(apikey.Key{Role: access.Reader, Namespaces: []string{"a"}, ExpiresAt: time.Now().Add(time.Hour)}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, other, _ := apikey.New(apikey.Key{Role: access.Administrator}, time.Now()) // not stored
		store.put(k)
		got, err := book.Find(t.Context(), text)
		if who := got.Principal(); err != nil || who.Subject != "key:"+k.ID || who.Role != access.Reader || who.MayUse("b") || !who.MayUse("a") {
			t.Errorf("%+v, %v", got, err)
		}
		stored := apikey.Prefix + k.ID + "_" + strings.Repeat("a", len(text)-len(apikey.Prefix+k.ID)-1)
		for _, bad := range []string{"", "parley_", text + "x", text[:len(text)-1], text[:len(text)-1] + "a", strings.ToUpper(text), other, stored, k.ID, text[:20]} {
			if bad == text {
				continue
			}
			if _, err := book.Find(t.Context(), bad); !errors.Is(err, apikey.ErrWrong) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		time.Sleep(time.Hour)
		if _, err := book.Find(t.Context(), text); !errors.Is(err, apikey.ErrExpired) {
			t.Errorf("expired: %v", err)
		}
		if some, err := book.Any(t.Context()); err != nil || some {
			t.Errorf("an expired key counts: %v, %v", some, err)
		}
	})
}

func TestBook_SeesARevocationWithinASecondAndReadsAKeyOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		book := apikey.NewBook(store, nil, time.Now)
		k, text, _ := apikey.New(apikey.Key{Role: access.Reader}, time.Now())
		store.put(k)
		for range 1000 {
			if _, err := book.Find(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		if store.reads != 1 {
			t.Errorf("%d reads", store.reads)
		}
		k.RevokedAt = time.Now()
		store.put(k)
		time.Sleep(time.Second)
		if _, err := book.Find(t.Context(), text); !errors.Is(err, apikey.ErrRevoked) {
			t.Errorf("revoked: %v", err)
		}
	})
}

func TestBook_WritesTheTimeOfUseOnceAMinuteAndAtTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		book := apikey.NewBook(store, nil, time.Now)
		k, text, _ := apikey.New(apikey.Key{Role: access.Reader}, time.Now())
		store.put(k)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); book.Run(ctx) }()
		use := func(n int) {
			for range n {
				if _, err := book.Find(t.Context(), text); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
			}
		}
		use(150)
		if store.notes != 2 {
			t.Errorf("%d writes in 150 s", store.notes)
		}
		last := time.Now().Add(-time.Second)
		stop()
		<-done
		if got, _ := store.Key(t.Context(), k.ID); !got.UsedAt.Equal(last) {
			t.Errorf("last used %v, want %v", got.UsedAt, last)
		}
	})
}

func TestBook_WritesTheTimesOfUseLaterIfTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{full: true}
		book := apikey.NewBook(store, slog.New(slog.DiscardHandler), time.Now)
		k, text, _ := apikey.New(apikey.Key{Role: access.Reader}, time.Now())
		store.put(k)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); book.Run(ctx) }()
		used := time.Now()
		if _, err := book.Find(t.Context(), text); err != nil {
			t.Error(err)
		}
		time.Sleep(90 * time.Second)
		store.mu.Lock()
		store.full = false
		store.mu.Unlock()
		stop()
		<-done
		if got, _ := store.Key(t.Context(), k.ID); !got.UsedAt.Equal(used) || store.notes != 2 {
			t.Errorf("last used %v after %d writes, want %v", got.UsedAt, store.notes, used)
		}
	})
}

func TestKey_ReachesItsRoutesOnly(t *testing.T) {
	for _, c := range []struct {
		routes []string
		path   string
		want   bool
	}{
		{nil, "/anything", true},
		{[]string{}, "/v1/models", false},
		{[]string{"/v1/*"}, "/v1/models", true},
		{[]string{"/v1/*"}, "/v10/models", false},
		{[]string{"/v1/*"}, "/api/keys", false},
		{[]string{"/chat"}, "/chat/", true},
		{[]string{"/chat"}, "/chat/stream", false},
		{[]string{"/a", "/chat*"}, "/chat/stream", true},
	} {
		if got := (apikey.Key{Routes: c.routes}).Reaches(c.path); got != c.want {
			t.Errorf("%v reach %s: %v", c.routes, c.path, got)
		}
	}
}
