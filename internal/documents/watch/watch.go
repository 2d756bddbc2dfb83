// Package watch reports changes of files and folders.
//
// It uses the notifications of the system, and polls if the system cannot notify, because its limit of watches is
// reached or its queue has overflowed. It never misses a change; it may report paths that have not changed.
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

// Changes are the changes since the last report.
type Changes struct {
	Paths []string // files and folders that were added, removed or changed; a folder includes everything in it
	Roots []string // roots in which anything may have changed
}

func (c Changes) empty() bool { return len(c.Paths) == 0 && len(c.Roots) == 0 }

// Options tune Follow. A zero field means its default.
type Options struct {
	Quiet   time.Duration // silence before changes are reported; 200 ms
	Longest time.Duration // longest delay of a report; 2 s
	Poll    time.Duration // interval of complete checks if the system does not notify; 15 s
	Check   time.Duration // interval of complete checks if it does, in case it misses something; 10 min
	Retry   time.Duration // before changes that could not be handled are reported again; 1 s
	// Ignore reports whether to ignore changes at or below a path of a root; nil ignores none.
	Ignore func(root, path string) bool
	// Logger receives messages for the user; nil discards them.
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

// lookInterval is the time between two checks that the roots still exist.
const lookInterval = time.Second

// maxPaths is the most paths in a report; if there are more, it names the root instead.
const maxPaths = 256

// Follow calls changed with the changes at or below roots, which are absolute and without symbolic links, until
// ctx ends, and returns ctx's error. The first call has all roots that exist. Changed is called by one goroutine at
// a time. If it returns an error, its changes are reported again later, with those since.
//
// A root that is gone is reported when it is back.
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

// root is a followed file or folder.
type root struct {
	path string
	info os.FileInfo // nil while it is gone
	lost bool        // no longer watched, but it may exist
}

// follower is the state of one Follow. Only the goroutine of run uses it.
type follower struct {
	options Options
	changed func(context.Context, Changes) error
	roots   []*root
	watcher *fsnotify.Watcher // nil while polling
	watched map[string]bool   // folders

	paths    map[string]bool // changed paths
	all      map[string]bool // roots in which anything may have changed
	since    time.Time       // time of the first unreported change
	retry    time.Time       // nothing is reported before this time, after an error
	failures int             // consecutive failures
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

// result is the outcome of a report.
type result struct {
	changes Changes
	err     error
}

// took handles the result of a report.
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

// take returns the changes to report now, and removes them from the follower.
func (f *follower) take(telling bool) Changes {
	if telling || len(f.paths)+len(f.all) == 0 {
		return Changes{} // took checks again
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

// note records a changed path.
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
	clear(f.paths) // the remaining paths belong to roots that are no longer followed
}

// changing delays the report while changes continue, up to a limit.
func (f *follower) changing() {
	now := time.Now()
	if len(f.paths)+len(f.all) == 0 {
		f.since = now
	}
	if now.Sub(f.since) < f.options.Longest-f.options.Quiet {
		f.quiet.Reset(f.options.Quiet)
	}
}

// everything records that anything may have changed.
func (f *follower) everything() {
	f.changing()
	for _, r := range f.roots {
		if r.info != nil {
			f.all[r.path] = true
		}
	}
}

// look checks which roots are gone, back, or replaced.
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

// interval returns the time between two complete checks.
func (f *follower) interval() time.Duration {
	if f.watcher == nil {
		return f.options.Poll
	}
	return f.options.Check
}

// below reports whether path is root or is inside it.
func below(root, path string) bool {
	if path == root {
		return true
	}
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest[0] == filepath.Separator || root[len(root)-1] == filepath.Separator)
}
