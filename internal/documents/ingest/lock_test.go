package ingest

import (
	"errors"
	"testing"
)

func TestBusy_IsWhileAnotherIngestionIsAtWork(t *testing.T) {
	dir := t.TempDir()
	if err := (Locks{Dir: dir}).Busy(); err != nil {
		t.Fatal(err)
	}
	unlock, err := Locks{Dir: dir}.ingestion()
	if err != nil {
		t.Fatal(err)
	}
	if _, locked := errors.AsType[*LockedError]((Locks{Dir: dir}).Busy()); !locked {
		t.Errorf("an ingestion is at work: %v", (Locks{Dir: dir}).Busy())
	}
	unlock()
	if err := (Locks{Dir: dir}).Busy(); err != nil {
		t.Error(err)
	}
}
