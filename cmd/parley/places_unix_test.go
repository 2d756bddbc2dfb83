//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestConnections_FitTheLimitOfOpenFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files      uint64
		concurrent int
		want       int
		scarce     bool
	}{
		{0, 256, 4096, false},
		{1 << 20, 256, 4096, false},
		{1 << 20, 5000, 10000, false},
		{4096, 256, 3584, true},
		{1024, 256, 512, true},
		{256, 256, 64, true},
		{20, 256, 32, true},
	} {
		cfg := Config{LimitsMaxConcurrent: c.concurrent}
		if n, scarce := cfg.connections(c.files); n != c.want || scarce != c.scarce {
			t.Errorf("%d files, %d answers: %d connections, scarce %v; want %d, %v", c.files, c.concurrent, n, scarce, c.want, c.scarce)
		}
	}
}

// A server with a low limit of open files keeps answering.
func TestServe_AnswersProbesWhenIdleConnectionsTakeAllFiles(t *testing.T) {
	t.Parallel()
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := exec.Command("sh", "-c", `ulimit -n 160 && exec "$0" "$@"`, binary(t), "serve", "--addr", addr, "--data", filepath.Join(t.TempDir(), "data"))
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if said := stderr.String(); !strings.Contains(said, "LimitNOFILE") || strings.Contains(said, "too many open files") {
			t.Errorf("the server says %s", said)
		}
	}()
	waitServing(t, addr)
	const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for range 400 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/config"} {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
		res, err := client.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
	}
}
