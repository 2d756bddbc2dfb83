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

// Connections are counted for a user who may not see what others do, against all limits that hold for it.
func TestPostgres_SaysHowManyConnectionsAreLeft(t *testing.T) {
	url := pgtest.New(t)
	role, urlOfRole := pgtest.NewRole(t, url)
	db := openPostgresAt(t, urlOfRole)
	left := func() int {
		t.Helper()
		s, err := db.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Connections
	}
	if n := left(); n <= 100 {
		t.Errorf("%d connections are left without a limit, want more", n)
	}
	pgtest.Exec(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT 50")
	ofRole := left()
	if ofRole > 50 || ofRole < 40 {
		t.Errorf("%d connections are left of 50", ofRole)
	}
	other, err := openPostgresAt(t, url).Server(t.Context()) // another user's connections
	if err != nil || other.Connections <= 100 {
		t.Errorf("%d connections are left to a superuser, for whom no such limit holds (%v)", other.Connections, err)
	}
	if n := left(); n != ofRole {
		t.Errorf("%d connections are left of the role's, want %d", n, ofRole)
	}
	pgtest.Exec(t, url, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' CONNECTION LIMIT 30'; END $$")
	t.Cleanup(func() {
		pgtest.Exec(t, url, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' CONNECTION LIMIT -1'; END $$")
	})
	if n := left(); n >= ofRole-20 {
		t.Errorf("%d connections are left of the database's 30, although others have some, want fewer than %d", n, ofRole-20)
	}
}
