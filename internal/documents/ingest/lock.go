package ingest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// LockedError means that another process, or another run of this process, is doing the same.
type LockedError struct {
	DataDir string
	Doing   string // "ingesting into"
	PID     int    // 0 if unknown
	Host    string // the host of that process; "" if unknown
	URL     string // of a server; "" if unknown
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is %s %s at the moment; try again when it is done", e.Who(), e.Doing, e.DataDir)
}

// Who names the process that holds the lock. It includes the host, since every container may use the
// same process id.
func (e *LockedError) Who() string {
	elsewhere := e.Host != "" && e.Host != hostname()
	switch {
	case e.PID == 0:
		return "another process"
	case elsewhere:
		return fmt.Sprintf("process %d on %s", e.PID, e.Host)
	case e.PID == os.Getpid():
		return "this process"
	}
	return fmt.Sprintf("process %d", e.PID)
}

func hostname() string {
	name, _ := os.Hostname() // without the name, the message is still good enough
	return name
}

// Locks keep the processes that use one store out of each other's way. The system releases them when
// a process dies.
type Locks struct {
	Dir string // data folder, in which the locks are files; "" for no locks
	// Shared takes a lock also against the processes on other machines that use the store. It reports
	// false if one of them has the lock. Nil for a store that is a folder.
	Shared func(name string) (unlock func(), ok bool, err error)
}

// Busy returns a *LockedError while documents are being ingested. It takes the lock for a moment to find
// out, so do not call it often.
func (l Locks) Busy() error {
	unlock, err := l.ingestion()
	if err == nil {
		unlock()
	}
	return err
}

func (l Locks) ingestion() (unlock func(), err error) {
	unlock, _, err = l.share("ingest.lock", "ingesting into", "")
	return unlock, err
}

// sharing holds the locks of data folders that runs of this process share. The system's locks work only
// between processes, so the process holds each of them once for all its runs.
var sharing = struct {
	sync.Mutex
	locks map[string]*sharedLock // by path
}{locks: map[string]*sharedLock{}}

type sharedLock struct {
	unlock func()
	keys   map[string]bool // of the runs that hold it
	wanted time.Time       // when a run that needs the lock alone was last refused
}

// yieldTime is the time for which runs wait for a run that needs the lock alone. That run retries about every
// second.
const yieldTime = 5 * time.Second

// share takes a lock for a run, and shares it with the runs of this process that have other keys. With
// the key "" the run needs the lock alone. first reports whether no other run holds it.
func (l Locks) share(name, doing, key string) (unlock func(), first bool, err error) {
	if l.Dir == "" {
		return func() {}, true, nil
	}
	path := filepath.Join(realPath(l.Dir), name)
	sharing.Lock()
	defer sharing.Unlock()
	held := sharing.locks[path]
	if held == nil {
		release, err := l.lock(name, doing)
		if err != nil {
			return nil, false, err
		}
		held = &sharedLock{unlock: release, keys: map[string]bool{}}
		sharing.locks[path], first = held, true
	} else if taken := held.keys[key] || held.keys[""] || key == ""; taken || time.Since(held.wanted) < yieldTime {
		if key == "" {
			held.wanted = time.Now()
		}
		return nil, false, &LockedError{DataDir: l.Dir, Doing: doing, PID: os.Getpid()}
	}
	held.keys[key] = true
	return sync.OnceFunc(func() {
		sharing.Lock()
		defer sharing.Unlock()
		if delete(held.keys, key); len(held.keys) == 0 {
			delete(sharing.locks, path)
			held.unlock()
		}
	}), first, nil
}

// Embedding takes the lock for embedding the documents of a store, so that two processes do not pay
// for the same texts. The returned function releases it. A *LockedError means that another process
// holds it.
func (l Locks) Embedding() (unlock func(), err error) {
	return l.lock("embed.lock", "embedding the documents of")
}

// Jobs takes the lock for running the jobs of a store. The returned function releases it. A *LockedError
// means that another process holds it.
func (l Locks) Jobs() (unlock func(), err error) {
	return l.lock("jobs.lock", "carrying out the jobs of")
}

// Renewing takes the lock for renewing the sign-in at an MCP server, whose refresh token may be valid only
// once. The returned function releases it. A *LockedError means that another process holds it.
func (l Locks) Renewing() (unlock func(), err error) {
	return l.lock("renew.lock", "renewing a sign-in of")
}

// LockServing takes the lock for serving a data folder: two servers would not see each other's
// Idempotency-Keys, budgets and running turns. Announce stores the server's URL for the *LockedError of a second
// server. The system releases the lock when the process dies. The error is errors.ErrUnsupported if the file
// system has no locks.
func LockServing(dataDir string) (announce func(url string) error, unlock func(), err error) {
	f, err := openLock(dataDir, "serve.lock", "serving")
	if err != nil {
		return nil, nil, err
	}
	return func(url string) error { return writeHolder(f, url) }, func() { f.Close() }, nil
}

// All takes all locks, so that no other process serves the store, changes its documents or runs its
// jobs. A *LockedError names the process that does.
func (l Locks) All() (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, release := range held {
			release()
		}
	}
	for _, each := range []struct{ name, doing string }{
		{"serve.lock", "serving"}, {"ingest.lock", "ingesting into"}, {"sites.lock", "reading web sites into"},
		{"sources.lock", "reading sources into"},
		{"embed.lock", "embedding the documents of"}, {"jobs.lock", "carrying out the jobs of"},
	} {
		release, err := l.lock(each.name, each.doing)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, release)
	}
	return unlock, nil
}

// lock takes a lock. The returned function releases it, as does the system when the process dies, so a
// remaining file means nothing.
func (l Locks) lock(name, doing string) (unlock func(), err error) {
	if l.Dir == "" {
		return func() {}, nil
	}
	f, err := openLock(l.Dir, name, doing)
	if err != nil {
		return nil, err
	}
	release := func() {}
	if l.Shared != nil {
		var ok bool
		if release, ok, err = l.Shared(name); err == nil && !ok {
			err = &LockedError{DataDir: "the database", Doing: doing}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { release(); f.Close() }, nil // closing releases the lock
}

// openLock takes a lock that lasts until the file is closed.
func openLock(dataDir, name, doing string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dataDir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the data folder: %w", err)
	}
	held, err := tryLock(f)
	if err == nil && held {
		err = writeHolder(f, "")
	}
	if err == nil && held {
		return f, nil
	}
	defer f.Close() // nothing was written
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	locked := &LockedError{DataDir: dataDir, Doing: doing}
	locked.PID, locked.Host, locked.URL = readHolder(f)
	return nil, locked
}

// writeHolder writes the holder of a lock to its file: the process id, the host, and the URL of a
// server.
func writeHolder(f *os.File, url string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n%s\n%s\n", os.Getpid(), hostname(), url), 0)
	return err
}

// readHolder reads what writeHolder wrote. Values that it cannot read are zero.
func readHolder(f *os.File) (pid int, host, url string) {
	const most = 4096 // bytes
	text, _ := io.ReadAll(io.LimitReader(f, most))
	lines := append(strings.Split(string(text), "\n"), "", "", "")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	return pid, lines[1], lines[2]
}
