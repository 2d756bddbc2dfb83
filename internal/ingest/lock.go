package ingest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// LockedError says that another process, or another run of this one, ingests into the folder.
type LockedError struct {
	DataDir string
	PID     int // 0 when not known
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
	return fmt.Sprintf("%s is ingesting into %s at the moment; try again when it is done", who, e.DataDir)
}

// lock takes the lock of a data folder and returns what gives it back. The system gives it back
// too when the process dies, so the file that stays behind means nothing.
func lock(dataDir string) (unlock func(), err error) {
	if dataDir == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(filepath.Join(dataDir, "ingest.lock"), os.O_RDWR|os.O_CREATE, 0o600)
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
	return nil, &LockedError{DataDir: dataDir, PID: pid}
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
