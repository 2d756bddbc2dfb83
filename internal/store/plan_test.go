package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/ledger"
	"parley/internal/store/storetest"
	"parley/internal/transcript"
	"parley/test/needs"
)

// bounded are the tables, under their names in query plans, that a statement may scan: they do not
// grow with use. t and n are the few rows of a subquery, and json_each has those of a parameter.
var bounded = []string{"CONSTANT", "counters", "generations", "roots", "intents", "t", "n", "json_each"}

// readsAll are the statements that may scan a growing table, by a part of their text, each with the
// reason. None runs during a turn.
var readsAll = map[string]string{
	"FROM ledger WHERE TRUE":            "a report reads what it adds up",
	"FROM said ORDER BY turn_id LIMIT":  "takes the first rows",
	"SELECT id FROM jobs ORDER BY id":   "at the start, for folders of jobs that are gone",
	"FROM documents d WHERE d.chunks >": "an embedder asks what is left to do",
	"FROM vectors v WHERE NOT EXISTS":   "sweeps vectors that nothing links to",
}

// The conformance suite runs every statement of the store. None may scan a growing table.
func TestStatements_FindTheirRowsByAKey(t *testing.T) {
	needs.Long(t)
	asked := &recorder{args: map[string][]any{}}
	t.Run("run", func(t *testing.T) {
		storetest.Corpus(t, func(t *testing.T) storetest.CorpusParts {
			c := asked.open(t).Corpus()
			return storetest.CorpusParts{Writing: c, Searching: c, Catalogue: c, FileRows: c, Vectors: c}
		})
		storetest.State(t, func(t *testing.T) storetest.StateParts {
			s := asked.open(t).State()
			return storetest.StateParts{Turns: s, Accounts: s}
		})
		storetest.Transcripts(t, func(t *testing.T) transcript.Store { return asked.open(t).Transcripts() })
		storetest.Shelf(t, func(t *testing.T) storetest.ItemStore { return asked.open(t).Shelf() })
		storetest.Jobs(t, func(t *testing.T) storetest.JobStore { return asked.open(t).Jobs() })
	})
	db := mustOpen(t, t.TempDir())
	excused := map[string]bool{}
	for _, query := range slices.Sorted(maps.Keys(asked.args)) {
		for _, step := range plan(t, db, query, asked.args[query]) {
			scan := scanOf.FindStringSubmatch(step)
			if scan == nil || slices.Contains(bounded, scan[1]) {
				continue
			}
			excuse := ""
			for part := range readsAll {
				if strings.Contains(query, part) {
					excuse = part
				}
			}
			if excused[excuse] = true; excuse == "" {
				t.Errorf("%s goes over a whole table: %s", query, step)
			}
		}
	}
	for part := range readsAll {
		if !excused[part] {
			t.Errorf("no statement with %q goes over a whole table any more", part)
		}
	}
}

// scanOf finds the table that a step of a plan scans.
var scanOf = regexp.MustCompile(`^SCAN (\w+)`)

// Lists, and sweeps of the oldest rows, read rows in index order, and no more than they return.
func TestStatements_ReadNoMoreThanTheyReturn(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	chats, _ := listChats(transcript.Scope{}, transcript.List{})
	loose, _ := listChats(transcript.Scope{}, transcript.List{Part: transcript.Loose, Before: &transcript.Place{}, Limit: 1})
	list := []any{"k", "n", "o", "", ""}
	for query, want := range map[string]struct {
		args []any
		step string
	}{
		purgeTurns:              {[]any{0, 1}, "turns_stateless (finished_at<?)"},
		forgetSaid:              {[]any{0, 1}, "SCAN said"},
		chats:                   {list, "transcripts_recent (kind=? AND namespace=? AND owner=?)"},
		loose:                   {append(list, 0, "", 1), "transcripts_recent (kind=? AND namespace=? AND owner=? AND (updated_at,id)<(?,?))"},
		listConversations:       {[]any{"n", "o", "k", 1}, "conversations_recent (namespace=? AND owner=? AND kind=?)"},
		listConversationsBehind: {[]any{"n", "o", "k", 0, "", 1}, "conversations_recent (namespace=? AND owner=? AND kind=? AND (updated_at,id)<(?,?))"},
	} {
		steps := strings.Join(plan(t, db, query, want.args), "\n")
		if !strings.Contains(steps, want.step) || strings.Contains(steps, "TEMP B-TREE") {
			t.Errorf("%s reads by\n%s", query, steps)
		}
	}
}

// A report from some day on reads only entries since then, and entries of turns that had begun.
func TestUsage_ReadsFromItsFirstDay(t *testing.T) {
	asked := &recorder{args: map[string][]any{}}
	s := asked.open(t).State()
	if _, err := s.Usage(t.Context(), ledger.UsageQuery{By: []ledger.Dimension{ledger.ByUser}, From: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for query, args := range asked.args {
		steps := plan(t, mustOpen(t, t.TempDir()), query, args)
		if !slices.Contains(steps, "SEARCH ledger USING PRIMARY KEY (turn_id>?)") || slices.Contains(steps, "SCAN ledger") {
			t.Errorf("usage is read by %q", steps)
		}
	}
}

// plan returns the steps of SQLite's plan for a query.
func plan(t *testing.T, db *DB, query string, args []any) (steps []string) {
	t.Helper()
	var failed error
	for _, d := range []*database{db.state.db, db.corpus.db} {
		rows, err := d.write.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
		failed = scanAll(rows, err, func(r *sql.Rows) error {
			var id, parent, unused int
			var step string
			err := r.Scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
		if failed == nil {
			return steps
		}
	}
	t.Errorf("explain %s: %v", query, failed)
	return nil
}

// recorder collects the queries that databases receive.
type recorder struct {
	mu   sync.Mutex
	args map[string][]any // by query, its latest arguments
}

// open opens a new data folder whose databases are recorded.
func (r *recorder) open(t *testing.T) *DB {
	t.Helper()
	db := mustOpen(t, t.TempDir())
	for _, d := range []*database{db.state.db, db.corpus.db} {
		for pool, pragmas := range map[**sql.DB][]string{&d.write: pragmas, &d.read: slices.Concat(pragmas, readPragmas)} {
			recorded := sql.OpenDB(&recordedConnector{(*pool).Driver(), dsn(d.path, pragmas), r})
			recorded.SetMaxOpenConns((*pool).Stats().MaxOpenConnections)
			if err := (*pool).Close(); err != nil {
				t.Fatal(err)
			}
			*pool = recorded
		}
	}
	return db
}

func (r *recorder) add(query string, args []driver.NamedValue) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.args[query] = values
}

type recordedConnector struct {
	driver driver.Driver
	dsn    string
	to     *recorder
}

func (c *recordedConnector) Driver() driver.Driver { return c.driver }

func (c *recordedConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return recordedConn{conn.(sqliteConn), c.to}, nil
}

// sqliteConn has the methods of a connection that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type recordedConn struct {
	sqliteConn
	to *recorder
}

func (c recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.to.add(query, args)
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.to.add(query, args)
	return c.sqliteConn.QueryContext(ctx, query, args)
}

func (c recordedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return recordedStmt{stmt.(sqliteStmt), query, c.to}, nil
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type recordedStmt struct {
	sqliteStmt
	query string
	to    *recorder
}

func (s recordedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.to.add(s.query, args)
	return s.sqliteStmt.ExecContext(ctx, args)
}

func (s recordedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.to.add(s.query, args)
	return s.sqliteStmt.QueryContext(ctx, args)
}
