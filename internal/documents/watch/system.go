package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// open starts the system's notifications.
func (f *follower) open() {
	watcher, err := f.options.newWatcher()
	if err != nil {
		f.poll(err)
		return
	}
	f.watcher = watcher
}

func (f *follower) close() {
	if f.watcher != nil {
		f.watcher.Close()
		f.watcher = nil
		clear(f.watched)
	}
}

// poll replaces notifications by regular polling.
func (f *follower) poll(err error) {
	f.close()
	f.options.Logger.Warn("the system does not report changes, so the folders are checked regularly; "+
		"on Linux, fs.inotify.max_user_watches and max_user_instances are the limits", "interval", f.options.Poll, "error", err)
}

// events returns the channel of notifications; nil while polling.
func (f *follower) events() chan fsnotify.Event {
	if f.watcher == nil {
		return nil
	}
	return f.watcher.Events
}

func (f *follower) errors() chan error {
	if f.watcher == nil {
		return nil
	}
	return f.watcher.Errors
}

// failed handles an error of the notifications, after which changes may have been missed, for example
// because the queue was full.
func (f *follower) failed(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		f.options.Logger.Warn("follow folders", "error", err)
	} else {
		f.options.Logger.Info("too many changes at once for the system's queue, so everything is checked")
	}
	for _, r := range f.roots { // there may be new folders
		if r.info != nil {
			f.add(r.path, r.path)
		}
	}
	f.everything()
}

// event handles one notification.
func (f *follower) event(e fsnotify.Event) {
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		f.lose(e.Name)
	}
	for _, r := range f.roots {
		switch {
		case r.info == nil:
		case r.info.IsDir() && below(r.path, e.Name):
			f.inFolder(r, e)
			return
		case !r.info.IsDir() && filepath.Dir(e.Name) == filepath.Dir(r.path) && !f.options.Ignore(filepath.Dir(r.path), e.Name):
			f.changing() // a change beside a file may affect its metadata
			f.all[r.path] = true
		}
	}
}

// inFolder handles a change at or below a root.
func (f *follower) inFolder(r *root, e fsnotify.Event) {
	if f.options.Ignore(r.path, e.Name) {
		return
	}
	if e.Has(fsnotify.Create) || e.Has(fsnotify.Chmod) && !f.watched[e.Name] { // the permissions may have kept it from being watched
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			f.add(r.path, e.Name)
		}
	}
	if f.all[r.path] {
		f.changing()
		return
	}
	f.note(e.Name)
}

// add watches a folder of a root with all folders in it, or the folder of a root that is a file. It
// skips folders that cannot be read.
func (f *follower) add(root, path string) {
	if f.watcher == nil {
		return
	}
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // the ingestion reports unreadable files
		case !d.IsDir() && p == root:
			return f.watch(filepath.Dir(p))
		case !d.IsDir():
			return nil
		case f.options.Ignore(root, p):
			return fs.SkipDir
		}
		return f.watch(p)
	})
	if err != nil {
		f.poll(err)
		f.everything()
	}
}

// watch watches one folder. It returns an error if the system cannot watch any more folders.
func (f *follower) watch(dir string) error {
	err := f.watcher.Add(dir)
	if err == nil {
		f.watched[dir] = true
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// lose handles a path that was removed or renamed. A root at that path may come back as the same folder
// before the next check, and must be watched again then.
func (f *follower) lose(path string) {
	if !f.watched[path] {
		return
	}
	f.forget(path)
	for _, r := range f.roots {
		r.lost = r.lost || below(path, r.path) || path == filepath.Dir(r.path)
	}
}

// forget stops watching a folder that was removed or renamed, and everything in it: otherwise changes
// would be reported under the old name.
func (f *follower) forget(path string) {
	if f.watcher == nil || !f.watched[path] {
		return
	}
	for dir := range f.watched {
		if below(path, dir) {
			delete(f.watched, dir)
			_ = f.watcher.Remove(dir) // the system may have removed it already
		}
	}
}
