package ingest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// LockedError says that another process, or another run of this one, is at the same work.
type LockedError struct {
	DataDir string
	Doing   string // "ingesting into"
	PID     int    // 0 when not known
}

func (e *LockedError) Error() string {
	who := "another process"
	switch e.PID {
	case 0:
	case os.Getpid():
		who = "this process"
	default:
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is %s %s at the moment; try again when it is done", who, e.Doing, e.DataDir)
}

// Busy returns a *LockedError while documents are being ingested into a data folder. It takes the lock
// for a moment to find out, so that it is not for asking often.
func Busy(dataDir string) error {
	unlock, err := lockIngestion(dataDir)
	if err == nil {
		unlock()
	}
	return err
}

func lockIngestion(dataDir string) (unlock func(), err error) {
	return lock(dataDir, "ingest.lock", "ingesting into")
}

// LockEmbedding takes the right to embed the documents of a data folder, so that no two processes
// pay for the same texts, and returns what gives it back. A *LockedError says that another has it.
func LockEmbedding(dataDir string) (unlock func(), err error) {
	return lock(dataDir, "embed.lock", "embedding the documents of")
}

// LockJobs takes the right to carry out the jobs of a data folder, and returns what gives it back. A
// *LockedError says that another process has it.
func LockJobs(dataDir string) (unlock func(), err error) {
	return lock(dataDir, "jobs.lock", "carrying out the jobs of")
}

// lock takes a lock of a data folder and returns what gives it back. The system gives it back
// too when the process dies, so the file that stays behind means nothing.
func lock(dataDir, name, doing string) (unlock func(), err error) {
	if dataDir == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(filepath.Join(dataDir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the data folder: %w", err)
	}
	held, err := tryLock(f)
	if err == nil && held {
		err = writePID(f)
	}
	if err == nil && held {
		return func() { f.Close() }, nil // closing gives the lock back
	}
	defer f.Close() // nothing was written
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	text, _ := io.ReadAll(io.LimitReader(f, 32)) // the message is good enough without
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return nil, &LockedError{DataDir: dataDir, Doing: doing, PID: pid}
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
