package retrieval_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

// exec changes the database of documents behind the store's back.
func (w *world) exec(query string, args ...any) {
	w.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "corpus.db")+"?_pragma=foreign_keys(1)")
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	res, err := db.ExecContext(w.Context(), query, args...)
	if err != nil {
		w.Fatal(err)
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		w.Fatalf("%s changed %d rows: %v", query, n, err)
	}
	if _, err := db.ExecContext(w.Context(), "VACUUM"); err != nil { // else the change counts as damage to the file
		w.Fatal(err)
	}
}

var repairQueries = []string{"wall painted red", "w17x", "green door inside", "What is inside, and how is wall w3x painted?"}

func TestOpen_RepairsTheIndex(t *testing.T) {
	tests := []struct{ name, damage string }{
		{"no segments", "DELETE FROM segments"},
		{"one segment missing", "DELETE FROM segments WHERE id = (SELECT MAX(id) FROM segments)"},
		{"a byte changed", "UPDATE segment_parts SET body = CAST(substr(body, 1, 90) || x'A5' || substr(body, 92) AS BLOB)"},
		{"bytes missing", "UPDATE segment_parts SET body = substr(body, 1, 20)"},
		{"no bytes", "DELETE FROM segment_parts WHERE segment_id = (SELECT MIN(id) FROM segments)"},
		{"another generation", "UPDATE segments SET generation = 'lex0'"},
		{"one of another generation", "UPDATE segments SET generation = 'lex99' WHERE id = (SELECT MIN(id) FROM segments)"},
		{"a list of revisions that cannot be read", "UPDATE segments SET revisions = x'ff'"},
		{"documents covered twice", "INSERT INTO segments SELECT id + 1000, namespace, generation, chunks, size, revisions FROM segments"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			puts := colours(50)
			w.put(puts[:10]...)
			w.put(puts[10:40]...)
			w.put(puts[40:]...)
			var want []retrieval.Result
			for _, q := range repairQueries {
				want = append(want, w.ask(q))
			}
			w.exec(tt.damage)
			if tt.name == "documents covered twice" {
				w.exec("INSERT INTO segment_parts SELECT segment_id + 1000, position, body FROM segment_parts")
			}

			again := openWorld(t, w.dir)
			if !strings.Contains(again.log.String(), "repair the index") {
				t.Errorf("the log says %q", again.log)
			}
			for i, q := range repairQueries {
				if diff := cmp.Diff(want[i], again.ask(q)); diff != "" {
					t.Errorf("%q before and after the repair (-before +after):\n%s", q, diff)
				}
			}
			if third := openWorld(t, w.dir); third.log.Len() > 0 {
				t.Errorf("it was repaired again: %s", third.log)
			}
			again.put(document("zebra.txt", "The zebra is striped."))
			if got := names(again.ask("zebra")); !cmp.Equal(got, []string{"zebra.txt"}) {
				t.Errorf("found after the repair: %v", got)
			}
		})
	}
}

func TestOpen_IndexesDocumentsThatAnotherProgramPut(t *testing.T) {
	w := newWorld(t)
	w.put(colours(10)...)
	p := document("zebra.txt", "The zebra is striped.", "It lives in the savanna.")
	first, err := w.db.Corpus().NextRevisions(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Document.Revision = first
	for i := range p.Chunks {
		p.Chunks[i].Key = retrieval.ChunkKey{Revision: first, Ordinal: i}
	}
	if _, err := w.db.Corpus().Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}}); err != nil {
		t.Fatal(err)
	}
	again := openWorld(t, w.dir)
	if got := names(again.ask("savanna")); !cmp.Equal(got, []string{"zebra.txt"}) {
		t.Errorf("found: %v", got)
	}
	eventually(t, "see it in a corpus that was open", func() bool { return len(names(w.ask("savanna"))) == 1 })
}

func TestOpen_RepairsOnceWhenManyProcessesOpen(t *testing.T) {
	w := newWorld(t)
	w.put(colours(60)...)
	want := w.ask("wall painted red")
	w.exec("DELETE FROM segments")
	var wg sync.WaitGroup
	for range 6 {
		other := openFolder(t, w.dir).Corpus()
		wg.Go(func() {
			c, err := retrieval.Open(t.Context(), other, nil)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := search(t.Context(), c, retrieval.Query{Text: "wall painted red"})
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after a repair by several (-before +after):\n%s", diff)
			}
		})
	}
	wg.Wait()
	third := openWorld(t, w.dir)
	if diff := cmp.Diff(want, third.ask("wall painted red")); diff != "" {
		t.Errorf("at the next start (-before +after):\n%s", diff)
	}
	if got := third.segments(); got != 1 {
		t.Errorf("%d segments cover one batch", got)
	}
}

func TestOpen_SaysWhatItCouldNotDo(t *testing.T) {
	w := newWorld(t)
	w.put(colours(5)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := retrieval.Open(ctx, w.db.Corpus(), nil); err == nil {
		t.Error("opened with a context that had ended")
	}
	slow := &slowStore{Store: w.db.Corpus()}
	slow.fail(errDied)
	if _, err := retrieval.Open(t.Context(), slow, nil); err == nil || !strings.Contains(err.Error(), `namespace "ns"`) {
		t.Errorf("error %v does not say which namespace", err)
	}
}
