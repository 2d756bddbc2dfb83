package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/store/pgtest"
)

// What is ingested on one machine answers on another that shares only the database.
func TestPostgres_HoldsEverythingForCommandsAndServer(t *testing.T) {
	url := pgtest.New(t)
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "tea.md"), []byte("# Tea\n\nGreen tea is brewed at 80 degrees.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PARLEY_DATABASE="+url)
	parleyWith(t, env, "ingest", docs, "--data", t.TempDir())
	const question = "At how many degrees is green tea brewed?"
	if got := parleyWith(t, env, "ask", question, "--data", t.TempDir()); !strings.Contains(got, "80 degrees") {
		t.Errorf("the answer of another machine: %s", got)
	}
	waitServing(t, startServe(t, env, "--data", t.TempDir()).addr)
	got, code := refused(t, "serve", "--database", url, "--data", t.TempDir(), "--addr", "127.0.0.1:0")
	if code == 0 || !strings.Contains(got, "another server serves this PostgreSQL database already") {
		t.Errorf("a second server: exit %d, %s", code, got)
	}
	folder := filepath.Join(t.TempDir(), "moved")
	got, code = refused(t, "migrate", url, folder)
	if code == 0 || !strings.Contains(got, "another server") {
		t.Errorf("migrate beside a server: exit %d, %s", code, got)
	}
}

func TestMigrate_MovesAFolderToPostgres(t *testing.T) {
	url := pgtest.New(t)
	docs, folder, back := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "back")
	if err := os.WriteFile(filepath.Join(docs, "tea.md"), []byte("# Tea\n\nGreen tea is brewed at 80 degrees.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parley(t, "ingest", docs, "--data", folder)
	for _, step := range [][]string{{folder, url}, {url, back}} {
		if got := parley(t, "migrate", step[0], step[1], "--data", t.TempDir()); !strings.Contains(got, "Copied and compared") {
			t.Errorf("migrate: %s", got)
		}
	}
	for _, from := range [][]string{{"--database", url, "--data", t.TempDir()}, {"--data", back}} {
		args := append([]string{"ask", "At how many degrees is green tea brewed?"}, from...)
		if got := parley(t, args...); !strings.Contains(got, "80 degrees") {
			t.Errorf("the answer from %s: %s", from[1], got)
		}
	}
}

// refused runs a command of the binary that should fail, and returns its error output and code.
func refused(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stderr.String(), cmd.ProcessState.ExitCode()
}
