package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestClose_ReportsAFailedWriteAndClosesAllTheSame(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	if err := Close(f, full); !errors.Is(err, full) {
		t.Errorf("closed with %v", err)
	}
	if err := Close(f, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed again with %v", err)
	}
}

func TestFolder_TakesTheResultsOfOpen(t *testing.T) {
	dir := t.TempDir()
	if err := Folder(os.Open(dir)); err != nil {
		t.Error(err)
	}
	if err := Folder(os.Open(filepath.Join(dir, "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestIgnoreMissing_IgnoresNothingElse(t *testing.T) {
	_, err := os.Stat(filepath.Join(t.TempDir(), "none"))
	if err := IgnoreMissing(err); err != nil {
		t.Error(err)
	}
	if IgnoreMissing(os.ErrPermission) == nil {
		t.Error("another error was ignored")
	}
}
