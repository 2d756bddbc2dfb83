package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/internal/extract"
)

// gated is an extractor in which each run waits until all runs have reached it.
type gated struct {
	Extractor
	arrive func()
}

func (g gated) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	g.arrive()
	return g.Extractor.Extract(ctx, r)
}

// Uploads of several owners may have the same names. They are read at the same time, and no document
// takes the name of another.
func TestRun_OwnersAreReadBesideEachOther(t *testing.T) {
	b := newBench(t)
	const owners = 4
	data := t.TempDir()
	var all sync.WaitGroup
	all.Add(owners + 1) // and a folder
	once := make([]sync.Once, owners+1)
	errs := make(chan error, owners+1)
	start := func(i int, folder, owner string) {
		cfg := b.cfg
		cfg.DataDir, cfg.Owner, cfg.Uploads = data, owner, ""
		if owner != "" {
			cfg.Uploads = folder
		}
		cfg.Extractor = gated{b.cfg.Extractor, func() { once[i].Do(all.Done); all.Wait() }}
		_, err := New(cfg).Run(t.Context(), []string{folder}, nil)
		errs <- err
	}
	for i := range owners + 1 {
		owner, folder := fmt.Sprintf("owner %d", i), filepath.Join(data, "uploads", fmt.Sprint(i))
		if i == owners {
			owner, folder = "", t.TempDir()
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a.txt", "b.txt"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(name+" of "+owner), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		go start(i, folder, owner)
	}
	for range owners + 1 {
		select {
		case err := <-errs:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the runs wait for each other")
		}
	}
	seen := map[string]bool{}
	for _, name := range b.corpus.names() {
		if seen[name] {
			t.Errorf("two documents have the name %s", name)
		}
		seen[name] = true
	}
	if len(seen) != 2*(owners+1) {
		t.Errorf("the documents are %v", b.corpus.names())
	}
}

func TestLockShared_OneKeyHasOneRunAndNoneBesideThatOfAll(t *testing.T) {
	data := t.TempDir()
	take := func(key string) (func(), error) {
		unlock, _, err := Locks{Dir: data}.share("ingest.lock", "ingesting into", key)
		return unlock, err
	}
	a, err := take("a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := take("b")
	if err != nil {
		t.Fatalf("another key: %v", err)
	}
	for _, key := range []string{"a", ""} {
		if _, err := take(key); !errors.As(err, new(*LockedError)) {
			t.Errorf("%q beside a and b: %v", key, err)
		}
	}
	// A run that cannot share does not wait forever while others come one after another.
	if _, err := take("c"); !errors.As(err, new(*LockedError)) {
		t.Errorf("c while a run waits for all to end: %v", err)
	}
	a()
	a()
	b()
	whole, err := take("")
	if err != nil {
		t.Fatalf("after all: %v", err)
	}
	if _, err := take("a"); !errors.As(err, new(*LockedError)) {
		t.Errorf("beside a run that shares with none: %v", err)
	}
	whole()
	if again, err := take("a"); err != nil {
		t.Errorf("at the end: %v", err)
	} else {
		again()
	}
}
