package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/extract"
)

// child is a worker process as its pool sees it. One Extract uses it at a time.
type child struct {
	process *os.Process
	stdin   *os.File // closing it ends the worker
	stdout  *os.File
	handing *os.File // passes files to it; nil if it opens them itself
	spools  string   // folder below which it may write; meaningless while it is fresh
	stderr  *firstBytes
	ended   chan struct{} // closed once the process is gone
	state   *os.ProcessState
	idle    *time.Timer
	fresh   bool // it has answered nothing yet
	reads   bool // it has loaded Tesseract, which a confined worker cannot do

	waits waits
}

// workerProcs is the number of threads of a worker that run Go code at the same time. Compiled WebAssembly does not
// yield, so one thread must stay free to notice the end of the worker's time.
const workerProcs = 2

// startChild starts this program as a worker, in an environment that is empty except for what the
// Go runtime and the system need.
func startChild() (*child, error) {
	executable, err := workerProgram()
	if err != nil {
		return nil, fmt.Errorf("start an extraction worker: %w", err)
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start an extraction worker: %w", err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		closeAll(inRead, inWrite)
		return nil, fmt.Errorf("start an extraction worker: %w", err)
	}
	handing, theirs, err := newHandover()
	if err != nil {
		closeAll(inRead, inWrite, outRead, outWrite)
		return nil, fmt.Errorf("start an extraction worker: %w", err)
	}
	c := &child{handing: handing, stdin: inWrite, stdout: outRead, stderr: &firstBytes{}, ended: make(chan struct{}), fresh: true}
	cmd := exec.Command(executable) //nolint:noctx // it outlives the call that starts it, and its pool ends it
	cmd.Args = []string{"parley", "extract-worker"}
	cmd.Env = []string{workerVariable + "=1", "GOMAXPROCS=" + strconv.Itoa(workerProcs)}
	if root := os.Getenv("SYSTEMROOT"); root != "" {
		cmd.Env = append(cmd.Env, "SYSTEMROOT="+root)
	}
	cmd.Dir = os.TempDir()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, c.stderr
	cmd.SysProcAttr = workerAttributes()
	if theirs != nil {
		cmd.ExtraFiles = []*os.File{theirs}
	}
	err = cmd.Start()
	closeAll(inRead, outWrite, theirs)
	if err != nil {
		closeAll(inWrite, outRead, handing)
		return nil, fmt.Errorf("start an extraction worker: %w", err)
	}
	c.process, c.waits.pid = cmd.Process, cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // its state says how it ended
		c.state = cmd.ProcessState
		close(c.ended)
	}()
	return c, nil
}

// fits reports whether the child can run a job: it must be able to write to the job's folder, and to load Tesseract if
// the job needs that.
func (c *child) fits(j job) bool {
	return c.fresh || (c.spools == spoolsOf(j) || j.Spool == "") && (c.reads || j.Read == nil)
}

// ask sends a job and waits for the answer. It calls begun when the file is about to be read.
// Killing the child ends the wait.
func (c *child) ask(j job, begun func()) (outcome, error) {
	if j.Handed = c.handing != nil; j.Handed {
		switch err := handOver(c.handing, j.Path); {
		case errors.As(err, new(*extract.Error)):
			return outcome{}.or(err), nil
		case err != nil:
			return outcome{}, err
		}
	}
	if c.fresh {
		c.spools, c.reads = spoolsOf(j), j.Read != nil
	}
	if err := writeFrame(c.stdin, j); err != nil {
		return outcome{}, &unasked{err}
	}
	for first := true; ; first = false {
		var o outcome
		if err := readFrame(c.stdout, &o); err != nil {
			return outcome{}, err
		}
		c.fresh = false
		switch {
		case !o.Begun:
			return o, nil
		case !first: // otherwise a broken worker could extend its time without end
			return outcome{}, errBegunTwice
		}
		begun()
	}
}

var errBegunTwice = errors.New("the worker says twice that it has begun")

// unasked means that a job did not reach its worker.
type unasked struct{ error }

// took returns how long a job ran, without the time that it waited for a processor.
func (c *child) took(since time.Time) time.Duration {
	const telling = 100 * time.Millisecond // asking for the waiting time takes as long as a small file
	took := time.Since(since)
	if took < telling {
		return took
	}
	return c.waits.used()
}

func (c *child) kill() {
	// An error means that the process has already ended, which is fine.
	_ = c.process.Kill()
}

// stop ends the child and waits until it is gone. The child leaves by itself when its input ends, unless a parser holds
// it.
func (c *child) stop() {
	const patience = time.Second
	c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.kill()
		<-c.ended
	}
	closeAll(c.stdout, c.handing)
}

// ranOutOfMemory reports whether a child that has ended lacked memory.
func (c *child) ranOutOfMemory() bool {
	return c.state.ExitCode() == exitMemory || strings.Contains(c.stderr.String(), "out of memory") ||
		strings.Contains(c.stderr.String(), "cannot allocate memory")
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// firstBytes keeps the start of a worker's standard error, where the runtime
// says why it ends the process.
type firstBytes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (f *firstBytes) Write(p []byte) (int, error) {
	const kept = 4096
	f.mu.Lock()
	defer f.mu.Unlock()
	f.b.Write(p[:min(len(p), kept-f.b.Len())])
	return len(p), nil
}

func (f *firstBytes) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.b.String()
}
