package store

import (
	"database/sql"
	"strings"
	"testing"
)

// A purge runs at every start: it may not read all turns to find the old ones.
func TestPurge_FindsOldTurnsByTheirTime(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var plan strings.Builder
	rows, err := db.state.db.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+purgeTurns, 0, 1)
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
	if got := plan.String(); !strings.Contains(got, "turns_stateless (finished_at<?)") || strings.Contains(got, "TEMP B-TREE") {
		t.Errorf("old turns are found by\n%s", got)
	}
}
