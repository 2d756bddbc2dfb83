package store

import (
	"database/sql"
	"strings"
	"testing"
)

// A purge runs at every start: it may not read all turns to find the old ones.
func TestPurge_FindsOldTurnsByTheirTime(t *testing.T) {
	got := plan(t, purgeTurns, 0, 1)
	if !strings.Contains(got, "turns_stateless (finished_at<?)") || strings.Contains(got, "TEMP B-TREE") {
		t.Errorf("old turns are found by\n%s", got)
	}
}

// A list of chats comes in the order of its index, so that a page of it reads no more than it shows.
func TestChats_AreReadInTheirOrder(t *testing.T) {
	first := []any{"k", "n", "o", "", ""}
	for query, args := range map[string][]any{listChats: first, listChatsBehind: append(first, 0, 0, "")} {
		got := plan(t, query, args...)
		if !strings.Contains(got, "transcripts_recent") || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("chats are listed by\n%s", got)
		}
	}
}

// What turns said is forgotten from the oldest on, and a report from some day on reads what came since.
func TestForgetSaidAndUsage_ReadInTheOrderOfIDs(t *testing.T) {
	if got := plan(t, forgetSaid, 0, 1); strings.Contains(got, "TEMP B-TREE") {
		t.Errorf("what turns said is forgotten by\n%s", got)
	}
	got := plan(t, "SELECT COUNT(*) FROM ledger WHERE TRUE AND id >= ? AND created_at >= ?", "01", 0)
	if !strings.Contains(got, "SEARCH ledger USING PRIMARY KEY (id>?)") {
		t.Errorf("usage is read by\n%s", got)
	}
}

func plan(t *testing.T, query string, args ...any) string {
	t.Helper()
	db, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var plan strings.Builder
	rows, err := db.state.db.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := r.Scan(&id, &parent, &unused, &detail)
		plan.WriteString(detail + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
