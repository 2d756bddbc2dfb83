package pgsql

import (
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/internal/store/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// A request that needs several connections does not wait for each.
func TestServer_IsWaitedForOnceInAnOutage(t *testing.T) {
	long := -patience - time.Second
	now := time.Now()
	for name, c := range map[string]struct {
		server *Server
		want   bool
	}{
		"one that was never reached":                             {&Server{}, false},
		"one that has just been lost":                            {&Server{reached: true}, true},
		"one that was lost a second ago":                         {&Server{reached: true, since: now.Add(-time.Second), last: now}, true},
		"one that was lost long ago":                             {&Server{reached: true, since: now.Add(long), last: now}, false},
		"one whose earlier outage nobody has noticed for a time": {&Server{reached: true, since: now.Add(2 * long), last: now.Add(long)}, true},
	} {
		if got := c.server.failed(); got != c.want {
			t.Errorf("%s: another attempt %v, want %v", name, got, c.want)
		}
	}
	s := &Server{reached: true, since: now.Add(long), last: now}
	s.answered()
	if !s.failed() {
		t.Error("an outage goes on after a connection")
	}
}

// A server that gives no more connections, but answers on one that it gave before, is not in an outage: others of the
// pool wait for that one, and what asks for another one goes on trying.
func TestServer_IsNotInAnOutageWhileAConnectionWorks(t *testing.T) {
	config, err := pgx.ParseConfig(pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{}
	db := sql.OpenDB(NewConnector(*config, s))
	defer db.Close()
	use := func() {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	use()
	s.since, s.last = time.Now().Add(-patience-time.Second), time.Now()
	if s.failed() {
		t.Error("the outage is not noticed")
	}
	use()
	if !s.failed() {
		t.Error("the outage goes on although a connection works")
	}
	if n := db.Stats().OpenConnections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
