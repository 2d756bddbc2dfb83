package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// following is a call of Follow, with everything that it has told.
type following struct {
	*testing.T
	root string
	said *strings.Builder

	mu   sync.Mutex
	told []Changes
	fail error // what the handler returns
}

// quick makes Follow fast; the bounds of the tests are far longer.
func quick() Options {
	return Options{Quiet: 20 * time.Millisecond, Longest: 200 * time.Millisecond, Poll: 50 * time.Millisecond, Retry: 20 * time.Millisecond}
}

// follow follows a folder, or the path that makeRoot returns, until the test ends.
func follow(t *testing.T, options Options, makeRoot func(dir string) string) *following {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &following{T: t, root: dir, said: &strings.Builder{}}
	if makeRoot != nil {
		f.root = makeRoot(dir)
	}
	options.Logger = slog.New(slog.NewTextHandler(lockedWriter{f}, nil))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Follow(ctx, []string{f.root}, options, f.changed) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow returned %v", err)
		}
	})
	f.tells(f.root) // at first everything
	return f
}

type lockedWriter struct{ f *following }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.f.said.Write(p)
}

func (f *following) changed(_ context.Context, c Changes) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	f.told = append(f.told, c)
	return nil
}

// tells waits until Follow has told of a path, or of a folder around it, and forgets what it was told
// until then.
func (f *following) tells(path string) {
	f.Helper()
	f.until("nothing is told of "+path, func() bool {
		for _, c := range f.told {
			around := func(p string) bool { return below(p, path) }
			if slices.ContainsFunc(c.Paths, around) || slices.ContainsFunc(c.Roots, around) {
				f.told = nil
				return true
			}
		}
		return false
	})
}

func (f *following) until(complaint string, met func() bool) {
	f.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		f.mu.Lock()
		ok := met()
		f.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			f.Fatal(complaint)
		}
	}
}

func (f *following) path(parts ...string) string {
	return filepath.Join(append([]string{f.root}, parts...)...)
}

func (f *following) write(path string) {
	f.Helper()
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *following) do(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func TestFollow_TellsOfFilesThatComeChangeAndGo(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), nil)
	f.write(f.path("a.txt"))
	f.tells(f.path("a.txt"))
	f.write(f.path("a.txt"))
	f.tells(f.path("a.txt"))
	f.do(os.Rename(f.path("a.txt"), f.path("b.txt")))
	f.tells(f.path("b.txt"))
	f.do(os.Remove(f.path("b.txt")))
	f.tells(f.path("b.txt"))
}

func TestFollow_TellsOfAFileThatIsReplacedAtomically(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), nil)
	f.write(f.path("a.txt"))
	f.tells(f.path("a.txt"))
	f.write(f.path(".a.txt.swp"))
	f.do(os.Rename(f.path(".a.txt.swp"), f.path("a.txt")))
	f.tells(f.path("a.txt"))
}

func TestFollow_FollowsNewMovedAndDeletedFolders(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), nil)
	f.do(os.MkdirAll(f.path("one", "two", "three"), 0o700))
	f.write(f.path("one", "two", "three", "a.txt")) // perhaps before anybody watches
	f.tells(f.path("one", "two", "three", "a.txt"))
	f.write(f.path("one", "two", "three", "b.txt"))
	f.tells(f.path("one", "two", "three", "b.txt"))
	f.do(os.Rename(f.path("one", "two"), f.path("moved")))
	f.tells(f.path("one", "two"))
	f.write(f.path("moved", "three", "c.txt"))
	f.tells(f.path("moved", "three", "c.txt"))
	f.do(os.RemoveAll(f.path("moved")))
	f.tells(f.path("moved"))
}

func TestFollow_AFolderThatWasMovedAwayIsNotFollowed(t *testing.T) {
	t.Parallel()
	away := filepath.Join(t.TempDir(), "away")
	f := follow(t, quick(), nil)
	f.do(os.Mkdir(f.path("in"), 0o700))
	f.tells(f.path("in"))
	f.do(os.Rename(f.path("in"), away))
	f.tells(f.path("in"))
	f.write(filepath.Join(away, "a.txt"))
	f.write(f.path("last.txt"))
	f.until("last.txt is not told", func() bool {
		for _, c := range f.told {
			if slices.Contains(c.Paths, f.path("in", "a.txt")) {
				f.Error("a file in a folder that was moved away was told")
			}
			if slices.Contains(c.Paths, f.path("last.txt")) {
				return true
			}
		}
		return false
	})
}

func TestFollow_ManyChangesAreToldAsTheirRoot(t *testing.T) {
	t.Parallel()
	options := quick()
	options.Quiet, options.Longest = 500*time.Millisecond, time.Minute // one report, however slow the disk is
	f := follow(t, options, nil)
	for i := range 5000 {
		if i%100 == 0 {
			f.do(os.Mkdir(f.path(fmt.Sprint(i/100)), 0o700))
		}
		f.write(f.path(fmt.Sprint(i/100), fmt.Sprint(i)))
	}
	f.until("the root is not told", func() bool {
		for _, c := range f.told {
			if len(c.Paths) > maxPaths {
				f.Errorf("%d paths at once", len(c.Paths))
			}
			if slices.Contains(c.Roots, f.root) {
				return true
			}
		}
		return false
	})
}

func TestFollow_ARootThatIsGoneIsToldWhenItIsBack(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), nil)
	f.write(f.path("a.txt"))
	f.tells(f.path("a.txt"))
	f.do(os.RemoveAll(f.root))
	f.until("nothing is said of the root", func() bool { return strings.Contains(f.said.String(), "is gone") })
	f.mu.Lock()
	f.told = nil
	f.mu.Unlock()
	f.do(os.Mkdir(f.root, 0o700))
	f.tells(f.root)
	f.write(f.path("b.txt"))
	f.tells(f.path("b.txt"))
}

func TestFollow_ARootThatIsBackAtOnceIsFollowedOn(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), func(dir string) string {
		root := filepath.Join(dir, "root")
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		return root
	})
	f.do(os.Rename(f.root, f.root+".old"))
	f.do(os.Rename(f.root+".old", f.root))
	f.tells(f.root) // once it is watched again
	f.write(f.path("a.txt"))
	f.tells(f.path("a.txt"))
}

func TestFollow_FollowsAFileAndWhatStandsBesideIt(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), func(dir string) string {
		path := filepath.Join(dir, "a.txt")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	})
	f.write(f.root)
	f.tells(f.root)
	f.write(f.root + ".parley.yaml")
	f.tells(f.root)
	f.write(f.root + ".new")
	f.do(os.Rename(f.root+".new", f.root))
	f.tells(f.root)
}

func TestFollow_WhatIsIgnoredIsNotTold(t *testing.T) {
	t.Parallel()
	options := quick()
	options.Ignore = func(_, path string) bool { return strings.Contains(path, "data") }
	f := follow(t, options, nil)
	f.do(os.MkdirAll(f.path("data", "in"), 0o700))
	f.write(f.path("data", "in", "a.db"))
	f.write(f.path("a.txt"))
	f.until("a.txt is not told", func() bool {
		for _, c := range f.told {
			if slices.ContainsFunc(c.Paths, func(p string) bool { return strings.Contains(p, "data") }) {
				f.Errorf("told %v", c.Paths)
			}
			if slices.Contains(c.Paths, f.path("a.txt")) {
				return true
			}
		}
		return false
	})
}

func TestFollow_WhatCouldNotBeHandledIsToldAgain(t *testing.T) {
	t.Parallel()
	f := follow(t, quick(), nil)
	f.mu.Lock()
	f.fail = errors.New("somebody else is ingesting")
	f.mu.Unlock()
	f.write(f.path("a.txt"))
	time.Sleep(100 * time.Millisecond)
	f.write(f.path("b.txt"))
	f.mu.Lock()
	f.fail = nil
	f.mu.Unlock()
	f.tells(f.path("a.txt"))
}

func TestFollow_PollsWhereTheSystemDoesNotTell(t *testing.T) {
	t.Parallel()
	options := quick()
	options.newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	f := follow(t, options, nil)
	f.tells(f.root)
	f.tells(f.root) // again and again
	f.until("nothing is said of it", func() bool { return strings.Contains(f.said.String(), "max_user_watches") })
}

func TestFollow_AfterAnOverflowEverythingIsTold(t *testing.T) {
	t.Parallel()
	watchers := make(chan *fsnotify.Watcher, 1)
	options := quick()
	options.newWatcher = func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		watchers <- w
		return w, err
	}
	f := follow(t, options, nil)
	(<-watchers).Errors <- fsnotify.ErrEventOverflow
	f.tells(f.root)
}
