package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// process is a running `parley serve` of the built binary.
type process struct {
	addr   string
	cmd    *exec.Cmd
	stdout output // complete once the process has ended
	stderr output
	ended  chan error
}

// output is what a process has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// startServe runs `parley serve` on a free port until the test ends. env has entries of the form
// "NAME=value".
func startServe(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{addr: addr, ended: make(chan error, 1)}
	p.cmd = exec.Command(binary(t), append([]string{"serve", "--addr", addr}, args...)...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		if _, open := <-p.ended; open {
			close(p.ended)
		}
		if t.Failed() {
			t.Logf("%s", p.stderr.String())
		}
	})
	return p
}

// serveIngested runs `parley serve` and waits until its documents are read.
func serveIngested(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := startServe(t, env, args...)
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	return p
}

// folderOf writes files into a folder that is there until the test ends.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// signal sends a signal and returns how the process ended.
func (p *process) signal(t *testing.T, s os.Signal) error {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	err := <-p.ended
	close(p.ended)
	return err
}

// parley runs a command of the binary to its end and returns its standard output.
func parley(t *testing.T, args ...string) string {
	t.Helper()
	return parleyWith(t, os.Environ(), args...)
}

// parleyWith is parley with an environment.
func parleyWith(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("parley %q: %v: %s", args, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}
