//go:build unix

package extract

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestPool_RefusesAPipeAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := newTestPool(t, Options{Workers: 1}).Extract(t.Context(), Request{Name: "a.txt", Path: path})
	if reason := reasonOf(err); reason != Unreadable {
		t.Errorf("got %v", err)
	}
}
