package ingest

import (
	"errors"
	"testing"
)

func TestBusy_IsWhileAnotherIngestionIsAtWork(t *testing.T) {
	dir := t.TempDir()
	if err := Busy(dir); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockIngestion(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, locked := errors.AsType[*LockedError](Busy(dir)); !locked {
		t.Errorf("an ingestion is at work: %v", Busy(dir))
	}
	unlock()
	if err := Busy(dir); err != nil {
		t.Error(err)
	}
}
