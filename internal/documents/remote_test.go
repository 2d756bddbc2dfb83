package documents

import (
	"context"
	"testing"
	"time"

	"parley/internal/documents/ingest"
	"parley/internal/documents/source"
	"parley/test/needs"
)

// The time after which the documents of a lost source are deleted runs for sources that cannot be read.
func TestSourceRun_OfASourceAboveItsQuotaIsNoLoss(t *testing.T) {
	since := time.Now().Add(-time.Hour).UTC()
	for _, full := range []bool{false, true} {
		r := SourceRun{FailingSince: since}
		err := &ingest.RemoteError{Reason: "why", Full: full}
		r.end(ingest.Report{}, err, err)
		if r.Error != "why" || r.FailingSince.IsZero() != full {
			t.Errorf("full %t: %+v", full, r)
		}
	}
}

// A source whose first run waits for people is read by the schedule once somebody has asked for it.
func TestIngest_AFirstRunThatWaitsForPeopleIsThenScheduled(t *testing.T) {
	t.Parallel()
	s, opened := newScanShelf(t), 0
	service := New(Config{
		Data: s.data, Cache: needs.ParserCache(), Namespace: "default", Workers: 1,
		Store: s.db.Corpus(), Corpus: s.corpus, Blobs: s.db.Blobs(), Disk: s.db, Jobs: s.db.Jobs(), Vectors: s.db.Corpus(),
		BegunByPeople: func(source.Address) bool { return true },
		Open: func(context.Context, source.Address, source.Options) (source.Source, error) {
			opened++
			return source.Nothing{}, nil
		},
	})
	a, err := source.Parse("webdav://127.0.0.1:9/handbook")
	if err != nil {
		t.Fatal(err)
	}
	state := func() RemoteSource {
		all, err := service.RemoteSources(t.Context(), "default", time.Hour)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d sources, %v", len(all), err)
		}
		return all[0]
	}
	ingest := func(paused bool) {
		if _, err := service.Ingest(t.Context(), Sources{Remotes: []source.Address{a}, Paused: paused}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ingest(false)
	ingest(false)
	if r := state(); opened != 0 || !r.Paused || !r.Next.IsZero() {
		t.Fatalf("before it was asked for, it was opened %d times: %+v", opened, r)
	}
	if err := service.WantSource(t.Context(), "default", a.String(), false); err != nil {
		t.Fatal(err)
	}
	if r := state(); r.Paused || !r.Wanted {
		t.Errorf("asked for: %+v", r)
	}
	ingest(false)
	if r := state(); opened != 1 || r.Paused || r.Next.IsZero() {
		t.Errorf("after the first run, it was opened %d times: %+v", opened, r)
	}
	if err := service.PauseSource(t.Context(), "default", a.String(), true); err != nil {
		t.Fatal(err)
	}
	ingest(false)
	ingest(true) // by name
	if r := state(); opened != 2 || !r.Paused {
		t.Errorf("paused by somebody, it was opened %d times: %+v", opened, r)
	}
}
