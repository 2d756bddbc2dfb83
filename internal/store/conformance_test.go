package store_test

import (
	"testing"

	"parley/internal/documents/job/jobtest"
	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/internal/transcript"
	"parley/test/needs"
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

// partsOf returns all parts of the corpus.
func partsOf(db *store.DB) storetest.CorpusParts {
	c := db.Corpus()
	return storetest.CorpusParts{Writing: c, Searching: c, Catalogue: c, FileRows: c, Vectors: c}
}

func stateOf(db *store.DB) storetest.StateParts {
	s := db.State()
	return storetest.StateParts{Turns: s, Accounts: s}
}

// spare opens folders for tests, and hands one that a skipped test has not touched to the next test.
func spare(parent *testing.T) func(t *testing.T) *store.DB {
	var idle *store.DB
	return func(t *testing.T) *store.DB {
		db := idle
		if idle = nil; db == nil {
			db = open(parent)
		}
		t.Cleanup(func() {
			if t.Skipped() {
				idle = db
			}
		})
		return db
	}
}

// A second database is written part by part, so the tests of a part must not call other parts.
func TestSuites_NeedOnlyThePartsThatTheyName(t *testing.T) {
	if needs.Race {
		t.Skip("the whole suites run under the race detector too")
	}
	for name, parts := range map[string]func(c storetest.CorpusParts) storetest.CorpusParts{
		"writing": func(c storetest.CorpusParts) storetest.CorpusParts { return storetest.CorpusParts{Writing: c.Writing} },
		"searching": func(c storetest.CorpusParts) storetest.CorpusParts {
			return storetest.CorpusParts{Writing: c.Writing, Searching: c.Searching}
		},
		"catalogue": func(c storetest.CorpusParts) storetest.CorpusParts {
			return storetest.CorpusParts{Writing: c.Writing, Catalogue: c.Catalogue}
		},
		"files": func(c storetest.CorpusParts) storetest.CorpusParts {
			return storetest.CorpusParts{Writing: c.Writing, FileRows: c.FileRows}
		},
		"vectors": func(c storetest.CorpusParts) storetest.CorpusParts {
			return storetest.CorpusParts{Writing: c.Writing, Vectors: c.Vectors}
		},
	} {
		t.Run(name, func(t *testing.T) {
			open := spare(t)
			storetest.Corpus(t, func(t *testing.T) storetest.CorpusParts { return parts(partsOf(open(t))) })
		})
	}
	t.Run("turns", func(t *testing.T) {
		open := spare(t)
		storetest.State(t, func(t *testing.T) storetest.StateParts { return storetest.StateParts{Turns: open(t).State()} })
	})
	t.Run("accounts", func(t *testing.T) {
		open := spare(t)
		storetest.State(t, func(t *testing.T) storetest.StateParts { return storetest.StateParts{Accounts: open(t).State()} })
	})
}

func TestCorpus_Conforms(t *testing.T) {
	storetest.Corpus(t, func(t *testing.T) storetest.CorpusParts { return partsOf(open(t)) })
}

func TestState_Conforms(t *testing.T) {
	storetest.State(t, func(t *testing.T) storetest.StateParts { return stateOf(open(t)) })
}

func TestTranscripts_Conform(t *testing.T) {
	storetest.Transcripts(t, func(t *testing.T) transcript.Store { return open(t).Transcripts() })
}

func TestShelf_Conforms(t *testing.T) {
	storetest.Shelf(t, func(t *testing.T) storetest.ItemStore { return open(t).Shelf() })
}

func TestJobs_Conform(t *testing.T) {
	storetest.Jobs(t, func(t *testing.T) storetest.JobStore { return open(t).Jobs() })
}

func TestJobsInMemory_Conform(t *testing.T) {
	storetest.Jobs(t, func(*testing.T) storetest.JobStore { return &jobtest.Memory{} })
}

func TestKeys_Conform(t *testing.T) {
	storetest.Keys(t, func(t *testing.T) storetest.KeyStore { return open(t).APIKeys() })
}

func TestSessions_Conform(t *testing.T) {
	storetest.Sessions(t, func(t *testing.T) storetest.SessionStore { return open(t).Sessions() })
}

func TestAudit_Conforms(t *testing.T) {
	storetest.Audit(t, func(t *testing.T) storetest.AuditStore { return open(t).Audit() })
}

func TestTranscripts_FindWhatPeopleHaveRated(t *testing.T) {
	storetest.Ratings(t, open(t).Transcripts())
}
