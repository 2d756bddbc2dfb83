//go:build unix

package sandbox

import (
	"path/filepath"
	"syscall"
	"testing"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestPool_RefusesAPipeAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := newTestPool(t, Options{Workers: 1}).Extract(t.Context(), extract.Request{Name: "a.txt", Path: path})
	if reason := extracttest.ReasonOf(err); reason != extract.Unreadable {
		t.Errorf("got %v", err)
	}
}
