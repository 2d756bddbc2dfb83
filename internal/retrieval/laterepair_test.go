package retrieval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

func TestRepair_SearchesGoOnMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.put(colours(30)...)
	w.put(document("zebra.txt", "The zebra is striped."))
	want := w.ask("wall painted red")
	w.exec("UPDATE segments SET generation = 'lex0' WHERE id = (SELECT MIN(id) FROM segments)")

	late := openWorld(t, w.dir, retrieval.WithLateRepair())
	if got := names(late.ask("zebra")); !cmp.Equal(got, []string{"zebra.txt"}) {
		t.Errorf("found before the repair: %v", got)
	}
	if got := names(late.ask("wall painted red")); len(got) > 0 {
		t.Errorf("found before the repair: %v", got)
	}
	late.put(document("yak.txt", "The yak is woolly."))
	if err := late.corpus.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(want), names(late.ask("wall painted red"))); diff != "" {
		t.Errorf("before and after the repair (-before +after):\n%s", diff)
	}
	for _, animal := range []string{"zebra", "yak"} {
		if got := names(late.ask(animal)); !cmp.Equal(got, []string{animal + ".txt"}) {
			t.Errorf("found after the repair: %v", got)
		}
	}
	if third := openWorld(t, w.dir); third.log.Len() > 0 {
		t.Errorf("it was repaired again: %s", third.log)
	}
}

func TestRepair_SaysNothingWhereNothingIsMissing(t *testing.T) {
	w := newWorld(t)
	w.put(colours(3)...)
	late := openWorld(t, w.dir, retrieval.WithLateRepair())
	if err := late.corpus.Repair(t.Context()); err != nil || late.log.Len() > 0 {
		t.Errorf("%v: %s", err, late.log)
	}
}
