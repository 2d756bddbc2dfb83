package store_test

import (
	"testing"

	"parley/internal/documents/job"
	"parley/internal/documents/job/jobtest"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/internal/transcript"
)

// open opens a new data folder for a test.
func open(t testing.TB) *store.DB {
	t.Helper()
	return openAt(t, t.TempDir())
}

func openAt(t testing.TB, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestCorpus_Conforms(t *testing.T) {
	storetest.Corpus(t, func(t *testing.T) retrieval.Store { return open(t).Corpus() })
}

func TestState_Conforms(t *testing.T) {
	storetest.State(t, func(t *testing.T) storetest.StateStore { return open(t).State() })
}

func TestTranscripts_Conform(t *testing.T) {
	storetest.Transcripts(t, func(t *testing.T) transcript.Store { return open(t).Transcripts() })
}

func TestJobs_Conform(t *testing.T) {
	storetest.Jobs(t, func(t *testing.T) job.Store { return open(t).Jobs() })
}

func TestJobsInMemory_Conform(t *testing.T) {
	storetest.Jobs(t, func(*testing.T) job.Store { return &jobtest.Memory{} })
}
