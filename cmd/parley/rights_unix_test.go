//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/test/needs"
)

// nobody is a user without permissions on the tests' files.
const nobody = 65534

// runUnprivileged runs the binary as a user who is not root, and returns its exit code and
// standard error.
func runUnprivileged(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		// Only root can read the folder of the binary.
		if err := os.Chmod(filepath.Dir(binary(t)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), stderr.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, stderr.String()
}

// openTempDir returns a folder that other users can reach.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func makeDir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(path, 0o755) })
}

func TestIngest_SaysWhichFolderItMayNotRead(t *testing.T) {
	t.Parallel()
	dir := openTempDir(t)
	makeDir(t, filepath.Join(dir, "secret"), 0o000)
	makeDir(t, filepath.Join(dir, "data"), 0o777)
	code, stderr := runUnprivileged(t, "ingest", filepath.Join(dir, "secret"), "--data", filepath.Join(dir, "data"))
	want := "parley: cannot ingest " + filepath.Join(dir, "secret") + ": you are not allowed to read it\n"
	if code != exitUsage || stderr != want {
		t.Errorf("exit %d with %q, want %d with %q", code, stderr, exitUsage, want)
	}
}

func TestServe_SaysThatItMayNotWriteTheDataFolder(t *testing.T) {
	t.Parallel()
	dir := openTempDir(t)
	makeDir(t, filepath.Join(dir, "data"), 0o555)
	for _, data := range []string{filepath.Join(dir, "data"), filepath.Join(dir, "data", "below")} {
		code, stderr := runUnprivileged(t, "serve", "--addr", "127.0.0.1:0", "--data", data)
		if code != exitFailure || !strings.HasPrefix(stderr, "parley: no right to write in the data folder "+data) ||
			!strings.HasSuffix(stderr, "choose another folder with --data\n") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d with %q", data, code, stderr)
		}
	}
}

func TestAsk_SaysThatTheDatabaseIsSomebodyElses(t *testing.T) {
	needs.Long(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs two users")
	}
	dir := openTempDir(t)
	docs := filepath.Join(dir, "docs")
	makeDir(t, docs, 0o755)
	if err := os.WriteFile(filepath.Join(docs, "a.md"), []byte("# A\n\nThe cat sleeps."), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	makeDir(t, data, 0o777)
	parley(t, "ingest", docs, "--data", data)
	code, stderr := runUnprivileged(t, "ask", "Who sleeps?", "--data", data)
	if want := "parley: the data folder " + data + " cannot be used (this user cannot open corpus.db in it: "; code != exitFailure ||
		!strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d with %q, want %d with %q", code, stderr, exitFailure, want)
	}
}
