package store

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/store/pgsql"
	"parley/internal/store/pgtest"
)

// What an administrator or a failover does to a server is an error that clients may answer by trying again.
func TestPostgres_SaysThatARefusalOfTheServerMayPass(t *testing.T) {
	db := replica(t, pgtest.New(t)).state.db
	for name, statements := range map[string][]string{
		"a server that is read-only": {"UPDATE about SET value = value"}, // in a transaction that only reads
		"statement_timeout":          {"SET LOCAL statement_timeout = 50", "SELECT pg_sleep(60)"},
		"lock_timeout":               {"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '55P03'; END $$"},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.viewOnce(t.Context(), "try", func(tx *sql.Tx) error {
				for _, s := range statements {
					if _, err := tx.ExecContext(t.Context(), s); err != nil {
						return err
					}
				}
				return nil
			})
			if chat.KindOf(err) != chat.Unavailable {
				t.Errorf("error %v is of the kind %v, want Unavailable", err, chat.KindOf(err))
			}
		})
	}
	// The connections work afterwards.
	if err := db.read.PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// A session that the server ends for its idleness is replaced, and its transaction is repeated.
func TestPostgres_RepeatsATransactionThatTheServerEndedForItsTime(t *testing.T) {
	db := replica(t, pgtest.New(t)).state.db
	tries := 0
	err := db.update(t.Context(), "wait", func(tx *sql.Tx) error {
		if tries++; tries > 1 {
			_, err := tx.ExecContext(t.Context(), "UPDATE about SET value = value")
			return err
		}
		if _, err := tx.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 20"); err != nil {
			return err
		}
		for { // until the server has ended the session
			if _, err := tx.ExecContext(context.WithoutCancel(t.Context()), "SELECT pg_sleep(0)"); err != nil {
				if !pgsql.Lost(err) {
					t.Errorf("the server ends the session, which is %v", err)
				}
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries: %v", tries, err)
	}
}
