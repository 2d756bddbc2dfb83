//go:build unix

package ingest

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRun_PassesOverPipes(t *testing.T) {
	b := newBench(t)
	if err := unix.Mkfifo(filepath.Join(b.dir, "pipe.md"), 0o644); err != nil {
		t.Skip(err)
	}
	b.want(b.run(), counts{Skipped: 1})
}

func TestRun_DoesNotWaitForASidecarThatIsAPipe(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	if err := unix.Mkfifo(filepath.Join(b.dir, "a.md.parley.yaml"), 0o644); err != nil {
		t.Skip(err)
	}
	b.want(b.run(), counts{Failed: 1})
}
