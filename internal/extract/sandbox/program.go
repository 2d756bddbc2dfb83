package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley/internal/extract"
)

// program is a program of this machine that reads its standard input and writes its standard output. It runs with the
// limits of a worker: without network and, where the kernel has Landlock, without access to the files of others.
type program struct {
	path  string   // absolute
	env   []string // all of its environment
	reads []string // folders that it reads, besides its own and those of the system's libraries
}

// launch describes the program that the process becomes.
type launch struct {
	Path   string
	Args   []string
	Reads  []string
	Limits extract.Limits
}

const (
	launchVariable = "program" // value of workerVariable
	maxOutput      = 16 << 20  // bytes that a program may write
)

// run runs the program with arguments and returns its output. If the program fails or exceeds its limits, the error is
// an *extract.Error; other errors are the context's, or that no process can be started.
func (p program) run(ctx context.Context, l extract.Limits, input []byte, args ...string) ([]byte, error) {
	l = l.WithDefaults()
	executable, err := workerProgram()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.path, err)
	}
	told, err := json.Marshal(launch{p.path, args, p.reads, l})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.path, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, executable)
	cmd.Args = []string{"parley", "extract-program", string(told)}
	cmd.Env = append([]string{workerVariable + "=" + launchVariable}, p.env...)
	cmd.Dir = os.TempDir()
	out, complaint := &bounded{full: func() { cancel(errOutput) }}, &firstBytes{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, complaint
	cmd.SysProcAttr = groupAttributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, startError(fmt.Errorf("start %s: %w", p.path, err))
	}
	w := waits{pid: cmd.Process.Pid}
	w.begin(l.Time)
	stop := w.end(l.Time, func(busy bool) {
		if busy {
			cancel(busyError(l))
		} else {
			cancel(timeoutError(l))
		}
	})
	err = cmd.Wait()
	stop()
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return nil, cause
	case err != nil:
		return nil, &extract.Error{Reason: extract.Crashed, Detail: fmt.Sprintf("%s failed: %v: %.200s", filepath.Base(p.path), err, strings.TrimSpace(complaint.String()))}
	}
	return out.kept, nil
}

var errOutput = &extract.Error{Reason: extract.TooLarge, Detail: fmt.Sprintf("the program writes more than %d MiB", maxOutput>>20)}

// bounded keeps what is written, up to a limit.
type bounded struct {
	kept []byte
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.kept)+len(p) > maxOutput {
		b.full()
		return 0, errOutput
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// become replaces this process by the program that it was started to run. It returns only on an error.
func become(args []string) error {
	if len(args) != 3 {
		return errors.New("it was not told what to run")
	}
	var l launch
	if err := json.Unmarshal([]byte(args[2]), &l); err != nil {
		return err
	}
	folder := filepath.Dir(l.Path)
	confine(l.Limits)
	confineCPU(l.Limits.Time)
	if err := shutInProgram(append(l.Reads, folder, filepath.Join(folder, "../lib"), filepath.Join(folder, "../share"))); err != nil {
		return fmt.Errorf("take files from the program: %w", err)
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, workerVariable+"=") {
			env = append(env, v)
		}
	}
	return syscall.Exec(l.Path, append([]string{filepath.Base(l.Path)}, l.Args...), env)
}
