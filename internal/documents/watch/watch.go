// Package watch tells what changes below files and folders.
//
// It follows what the system says of them, and falls back to looking again now and then where the
// system cannot say: its limit of watches is reached, or its queue has overflowed. It never says
// less than what has changed; it may say more.
//
//	err := watch.Follow(ctx, roots, watch.Options{}, func(ctx context.Context, c watch.Changes) error {
//		…
//	})
package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Changes is what has changed since the last ones.
type Changes struct {
	Paths []string // of files and folders that came, went or changed; a folder stands for all in it
	Roots []string // of which anything may have changed
}

func (c Changes) empty() bool { return len(c.Paths) == 0 && len(c.Roots) == 0 }

// Options say how to follow. A zero field means its default.
type Options struct {
	Quiet   time.Duration // how long nothing happens before changes are told; 200 ms
	Longest time.Duration // how long they are held back at the most; 2 s
	Poll    time.Duration // how often everything is looked at where the system does not tell; 15 s
	Check   time.Duration // how often everything is looked at where it does, in case it does not; 10 min
	Retry   time.Duration // after which changes that could not be handled are told again; 1 s
	// Ignore reports whether what happens at or below a path of a root does not matter; nil for never.
	Ignore func(root, path string) bool
	// Logger gets what a user should know; nil discards.
	Logger *slog.Logger

	newWatcher func() (*fsnotify.Watcher, error) // for tests
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&o.Quiet, 200*time.Millisecond)
	set(&o.Longest, 2*time.Second)
	set(&o.Poll, 15*time.Second)
	set(&o.Check, 10*time.Minute)
	set(&o.Retry, time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ignore == nil {
		o.Ignore = func(string, string) bool { return false }
	}
	if o.newWatcher == nil {
		o.newWatcher = fsnotify.NewWatcher
	}
	return o
}

// lookInterval is how often it is seen whether the roots are still there.
const lookInterval = time.Second

// maxPaths is from how many paths on the root is told in their place.
const maxPaths = 256

// Follow tells changed what changes at or below roots, which are absolute and free of symbolic
// links, until ctx ends; it returns ctx's error. At first it tells all roots that are there. Changed
// is called from one goroutine at a time. What it returns an error for is told again later, with
// what has changed since.
//
// A root that is gone is told of when it is back.
func Follow(ctx context.Context, roots []string, options Options, changed func(context.Context, Changes) error) error {
	f := &follower{
		options: options.withDefaults(), changed: changed,
		watched: map[string]bool{}, paths: map[string]bool{}, all: map[string]bool{},
	}
	for _, path := range roots {
		f.roots = append(f.roots, &root{path: path})
	}
	return f.run(ctx)
}

// root is a file or folder that is followed.
type root struct {
	path string
	info os.FileInfo // nil while it is gone
	lost bool        // it is not watched any more, and may be there
}

// follower is the state of one Follow. Only the goroutine of run touches it.
type follower struct {
	options Options
	changed func(context.Context, Changes) error
	roots   []*root
	watcher *fsnotify.Watcher // nil while everything is polled
	watched map[string]bool   // folders

	paths    map[string]bool // that have changed
	all      map[string]bool // roots of which anything may have changed
	since    time.Time       // when the first of them did
	retry    time.Time       // before which nothing is told, after an error
	failures int             // in a row
	quiet    *time.Timer
}

func (f *follower) run(ctx context.Context) error {
	f.open()
	defer f.close()
	f.quiet = time.NewTimer(f.options.Quiet)
	defer f.quiet.Stop()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	f.look()
	checked := time.Now()
	told := make(chan result, 1)
	telling := false
	for {
		select {
		case <-ctx.Done():
			if telling {
				<-told
			}
			return ctx.Err()
		case e, ok := <-f.events():
			if ok {
				f.event(e)
			}
		case err, ok := <-f.errors():
			if ok {
				f.failed(err)
			}
		case <-look.C:
			f.look()
			if time.Since(checked) >= f.interval() {
				checked = time.Now()
				f.everything()
			}
		case r := <-told:
			telling = false
			f.took(r)
		case <-f.quiet.C:
			if c := f.take(telling); !c.empty() {
				telling = true
				go func() { told <- result{c, f.changed(ctx, c)} }() // run waits for it
			}
		}
	}
}

// result is what became of changes that were told.
type result struct {
	changes Changes
	err     error
}

// took goes on after changes were told.
func (f *follower) took(r result) {
	if r.err == nil {
		f.failures = 0
		if len(f.paths)+len(f.all) > 0 {
			f.quiet.Reset(f.options.Quiet)
		}
		return
	}
	const most = 6 // doublings
	wait := f.options.Retry << min(f.failures, most)
	f.failures++
	f.retry = time.Now().Add(wait)
	for _, p := range r.changes.Paths {
		f.paths[p] = true
	}
	for _, p := range r.changes.Roots {
		f.all[p] = true
	}
	f.since = time.Now()
	f.quiet.Reset(wait)
}

// take returns the changes to tell now, and forgets them.
func (f *follower) take(telling bool) Changes {
	if telling || len(f.paths)+len(f.all) == 0 {
		return Changes{} // took looks again
	}
	if wait := time.Until(f.retry); wait > 0 {
		f.quiet.Reset(wait)
		return Changes{}
	}
	var c Changes
	for _, r := range f.roots {
		if f.all[r.path] {
			c.Roots = append(c.Roots, r.path)
		}
	}
	for path := range f.paths {
		if !slices.ContainsFunc(c.Roots, func(root string) bool { return below(root, path) }) {
			c.Paths = append(c.Paths, path)
		}
	}
	slices.Sort(c.Paths)
	clear(f.paths)
	clear(f.all)
	return c
}

// note remembers a path that has changed.
func (f *follower) note(path string) {
	f.changing()
	f.paths[path] = true
	if len(f.paths) <= maxPaths {
		return
	}
	for _, r := range f.roots {
		for p := range f.paths {
			if below(r.path, p) {
				f.all[r.path] = true
				delete(f.paths, p)
			}
		}
	}
	clear(f.paths) // of no root that is followed
}

// changing puts off the telling for as long as changes go on, within a limit.
func (f *follower) changing() {
	now := time.Now()
	if len(f.paths)+len(f.all) == 0 {
		f.since = now
	}
	if now.Sub(f.since) < f.options.Longest-f.options.Quiet {
		f.quiet.Reset(f.options.Quiet)
	}
}

// everything remembers that anything may have changed.
func (f *follower) everything() {
	f.changing()
	for _, r := range f.roots {
		if r.info != nil {
			f.all[r.path] = true
		}
	}
}

// look finds out which roots are gone, back, or others than before.
func (f *follower) look() {
	for _, r := range f.roots {
		info, err := os.Stat(r.path)
		switch {
		case err != nil && r.info != nil:
			f.options.Logger.Warn("a folder that is followed is gone; its documents stay until it is back", "path", r.path, "error", err)
			f.forget(r.path)
			r.info = nil
		case err == nil && (r.info == nil || r.lost || !os.SameFile(info, r.info)):
			r.info, r.lost = info, false
			f.forget(r.path)
			f.add(r.path, r.path)
			f.changing()
			f.all[r.path] = true
		}
	}
}

// interval is how often everything is looked at.
func (f *follower) interval() time.Duration {
	if f.watcher == nil {
		return f.options.Poll
	}
	return f.options.Check
}

// below reports whether path is root or lies in it.
func below(root, path string) bool {
	if path == root {
		return true
	}
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest[0] == filepath.Separator || root[len(root)-1] == filepath.Separator)
}
