package store_test

import (
	"testing"

	"parley/internal/store"
	"parley/internal/store/pgtest"
	"parley/internal/store/storetest"
	"parley/internal/transcript"
)

// openPostgres opens a new PostgreSQL database for a test.
func openPostgres(t testing.TB) *store.DB {
	t.Helper()
	return openPostgresAt(t, pgtest.New(t))
}

func openPostgresAt(t testing.TB, url string) *store.DB {
	t.Helper()
	db, err := store.OpenPostgres(t.Context(), url, t.TempDir(), nil)
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

func TestPostgresCorpus_Conforms(t *testing.T) {
	storetest.Corpus(t, func(t *testing.T) storetest.CorpusParts { return partsOf(openPostgres(t)) })
}

func TestPostgresState_Conforms(t *testing.T) {
	storetest.State(t, func(t *testing.T) storetest.StateParts { return stateOf(openPostgres(t)) })
}

func TestPostgresTranscripts_Conform(t *testing.T) {
	storetest.Transcripts(t, func(t *testing.T) transcript.Store { return openPostgres(t).Transcripts() })
}

func TestPostgresShelf_Conforms(t *testing.T) {
	storetest.Shelf(t, func(t *testing.T) storetest.ItemStore { return openPostgres(t).Shelf() })
}

func TestPostgresJobs_Conform(t *testing.T) {
	storetest.Jobs(t, func(t *testing.T) storetest.JobStore { return openPostgres(t).Jobs() })
}

func TestPostgresKeys_Conform(t *testing.T) {
	storetest.Keys(t, func(t *testing.T) storetest.KeyStore { return openPostgres(t).APIKeys() })
}

func TestPostgresSessions_Conform(t *testing.T) {
	storetest.Sessions(t, func(t *testing.T) storetest.SessionStore { return openPostgres(t).Sessions() })
}

func TestPostgresAudit_Conforms(t *testing.T) {
	storetest.Audit(t, func(t *testing.T) storetest.AuditStore { return openPostgres(t).Audit() })
}

func TestPostgresTranscripts_FindWhatPeopleHaveRated(t *testing.T) {
	storetest.Ratings(t, openPostgres(t).Transcripts())
}
