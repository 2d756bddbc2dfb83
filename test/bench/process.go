package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// patience is the time limit for a server's first answer.
const patience = 2 * time.Minute

// server is a process that serves on a free loopback port.
type server struct {
	cmd  *exec.Cmd
	addr string
	said bytes.Buffer // its standard error; read it only after it has ended
}

// serve starts a command that serves on addr. The caller stops it.
func serve(ctx context.Context, addr string, env []string, name string, args ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, name, args...), addr: addr}
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stderr = &s.said
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return s, nil
}

// parley starts the program on a data folder and waits until it is ready. It returns the time since
// the start of the process.
func (b *bench) parley(ctx context.Context, data string, flags ...string) (*server, time.Duration, error) {
	program, err := b.build(ctx)
	if err != nil {
		return nil, 0, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	s, err := serve(ctx, addr, nil, program, append([]string{"serve", "--addr", addr, "--data", data, "--embedding", "none"}, flags...)...)
	if err != nil {
		return nil, 0, err
	}
	if err := s.waitFor(ctx, "/readyz"); err != nil {
		s.stop()
		return nil, 0, fmt.Errorf("%w\n%s", err, s.said.String())
	}
	return s, time.Since(began), nil
}

func (s *server) url(path string) string { return "http://" + s.addr + path }

// pid returns the process id.
func (s *server) pid() int { return s.cmd.Process.Pid }

// waitFor polls a path until the status is 200.
func (s *server) waitFor(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if s.answers(ctx, path) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer %s in %s", s.cmd.Path, path, patience)
		case <-time.After(time.Millisecond):
		}
	}
}

func (s *server) answers(ctx context.Context, path string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(path), nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// listening waits until the server accepts connections.
func (s *server) listening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen: %w", s.cmd.Path, err)
		case <-time.After(time.Millisecond):
		}
	}
}

// stop ends the process with a signal, or kills it if that takes too long.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(5*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // its exit code does not affect the measurement
}

// resident returns the resident size of the process in MiB.
func (s *server) resident() (float64, error) {
	now, err := s.size()
	return now.resident(), err
}

// size returns how much of the process is in memory.
func (s *server) size() (now size, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid()))
	if err != nil {
		return now, &missingError{"the size of a process cannot be read here"}
	}
	found := 0
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		var part *float64
		switch name {
		case "RssAnon":
			part = &now.anonymous
		case "RssFile", "RssShmem":
			part = &now.mapped
		default:
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
		if err != nil {
			return now, fmt.Errorf("read /proc/%d/status: %w", s.pid(), err)
		}
		*part += kib / 1024
		found++
	}
	if found == 0 {
		return now, fmt.Errorf("/proc/%d/status has no RssAnon", s.pid())
	}
	return now, nil
}

// freeAddr returns a free loopback address.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	addr := l.Addr().String()
	return addr, l.Close()
}

// read returns the response of a route.
func (s *server) read(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(path), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return body, nil
}

// metrics returns the metrics of /metrics by name and labels.
func (s *server) metrics(ctx context.Context) (map[string]float64, error) {
	body, err := s.read(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ') // labels may contain spaces
		if end < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if values[line[:end]], err = strconv.ParseFloat(line[end+1:], 64); err != nil {
			return nil, fmt.Errorf("read /metrics: %w", err)
		}
	}
	return values, nil
}
