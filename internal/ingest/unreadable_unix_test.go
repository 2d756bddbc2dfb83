//go:build unix

package ingest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"parley/internal/extract"
)

// nobody is a user without any rights of its own.
const nobody = 65534

// ranUnprivileged runs the test again in a process of nobody's where this one is root's, who may
// read everything, and reports whether it did.
func ranUnprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("", "unprivileged") // not t.TempDir, into which only root may look
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	copyProgram(t, program)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return true
}

// copyProgram copies this program to where others may run it.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, from); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRun_KeepsDocumentsOfAFolderThatCannotBeRead(t *testing.T) {
	if ranUnprivileged(t) {
		return
	}
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("sub/b.md", "Beta.")
	b.run()
	if err := os.Chmod(filepath.Join(b.dir, "sub"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(b.dir, "sub"), 0o755)
	b.want(b.run(), counts{Unchanged: 1, Failed: 1})
	b.wantNames("a.md", "sub/b.md")
}

func TestRun_TriesAnUnreadableFileAgain(t *testing.T) {
	if ranUnprivileged(t) {
		return
	}
	b := newBench(t)
	b.write("a.md", "Alpha.")
	path := filepath.Join(b.dir, "a.md")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	r := b.run()
	b.want(r, counts{Failed: 1})
	if r.Failed[0].Reason != extract.Unreadable {
		t.Errorf("%+v", r.Failed)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(b.run(), counts{Indexed: 1})
}
