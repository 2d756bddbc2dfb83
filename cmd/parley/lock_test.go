package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// waitServing returns when the server answers.
func waitServing(t *testing.T, addr string) {
	t.Helper()
	for range 600 {
		if res, err := http.Get("http://" + addr + "/readyz"); err == nil {
			res.Body.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
}

// serveSecond starts a second server on a data folder, which must refuse, and returns its message.
func serveSecond(t *testing.T, data string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), "serve", "--addr", "127.0.0.1:0", "--data", data)
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitUsage {
		t.Fatalf("the second server ended with %v, want exit code %d: %s", err, exitUsage, out)
	}
	return string(out)
}

func TestServe_RefusesASecondServerOfTheSameDataFolder(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	first := startServe(t, nil, "--data", data)
	waitServing(t, first.addr)
	said := serveSecond(t, data)
	for _, want := range []string{
		"process " + strconv.Itoa(first.cmd.Process.Pid), "http://" + first.addr, data, "stop that server", "--data",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the second server says %q, without %q", said, want)
		}
	}
	// The lock holds for another name of the folder, too.
	if runtime.GOOS != "windows" {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(data, link); err != nil {
			t.Fatal(err)
		}
		serveSecond(t, link)
	}
	// Other commands work beside the server, and the server continues.
	document := filepath.Join(t.TempDir(), "pay.md")
	if err := os.WriteFile(document, []byte("# Pay\n\nWages are paid on the 25th of each month.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "ingest", "--data", data, document)
	if out := parley(t, "ask", "--data", data, "When are wages paid?"); !strings.Contains(out, "25th") {
		t.Errorf("parley ask beside a server says %q", out)
	}
	waitServing(t, first.addr)
}

func TestServe_StartsAfterTheLastServerWasKilled(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for range 3 {
		p := startServe(t, nil, "--data", data)
		waitServing(t, p.addr)
		if err := p.signal(t, os.Kill); err == nil {
			t.Fatal("a killed server ended with success")
		}
		if _, err := os.Stat(filepath.Join(data, "serve.lock")); err != nil {
			t.Fatal(err) // a leftover lock file must not matter
		}
	}
}

func TestServe_OfSeveralAtOnceOneServes(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	const many = 4
	all := make([]*process, many)
	for i := range all {
		all[i] = startServe(t, nil, "--data", data)
	}
	refused := 0
	deadline := time.After(time.Minute)
	for refused < many-1 {
		select {
		case err := <-all[0].ended:
			all[0].ended <- err
			refused++
			all = all[1:]
		case <-deadline:
			t.Fatalf("%d of %d servers were refused, want %d", refused, many, many-1)
		case <-time.After(20 * time.Millisecond):
			all = append(all[1:], all[0]) // try the next one
		}
	}
	waitServing(t, all[0].addr)
}
