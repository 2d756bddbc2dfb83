package retrieval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/retrieval"
)

// current returns the documents of a namespace.
func (w *world) current(namespace string) []retrieval.Document {
	w.Helper()
	all, err := w.db.Corpus().AllDocuments(w.Context(), namespace, "", 1000)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// aside makes documents of the namespace ns anew with other texts.
func (w *world) aside(texts map[string]string) {
	w.Helper()
	b := retrieval.Batch{Namespace: retrieval.Aside("ns")}
	for _, d := range w.current("ns") {
		if text, ok := texts[d.Name]; ok {
			p := document(d.Name, text)
			p.Document.ID = retrieval.AsideID(d)
			b.Put = append(b.Put, p)
		}
	}
	w.apply(b)
}

func TestSwitchAside_SearchesSeeTheOldOrTheNew(t *testing.T) {
	w := newWorld(t)
	w.put(document("a.txt", "old wall"), document("b.txt", "old door"), document("c.txt", "old roof"))
	w.aside(map[string]string{"a.txt": "new wall", "b.txt": "new door"})
	w.put(document("b.txt", "latest door")) // it has changed since

	check := func(w *world, want map[string][]string) {
		t.Helper()
		for question, wanted := range want {
			if got := names(w.ask(question)); !cmp.Equal(got, wanted) {
				t.Errorf("%q: found %v, want %v", question, got, wanted)
			}
		}
	}
	check(w, map[string][]string{"old wall": {"a.txt", "c.txt"}, "roof": {"c.txt"}})
	other := openWorld(t, w.dir) // another process
	check(other, map[string][]string{"wall": {"a.txt"}, "new": {}})

	n, err := w.corpus.SwitchAside(t.Context(), "ns", "g2")
	if n != 1 || err != nil {
		t.Fatalf("%d documents switched, %v", n, err)
	}
	for _, w := range []*world{w, openWorld(t, w.dir)} {
		check(w, map[string][]string{"new": {"a.txt"}, "latest": {"b.txt"}, "old": {"c.txt"}, "roof": {"c.txt"}})
	}
	if again := openWorld(t, w.dir); again.log.Len() > 0 {
		t.Errorf("the index was not whole: %s", again.log)
	}
}

func TestSwitchAside_NothingIsLostWhenItIsLeftHalfDone(t *testing.T) {
	w := newWorld(t)
	w.put(document("a.txt", "old wall"))
	w.aside(map[string]string{"a.txt": "new wall"})
	again := openWorld(t, w.dir) // the process was killed
	if got := names(again.ask("old")); !cmp.Equal(got, []string{"a.txt"}) {
		t.Errorf("found %v", got)
	}
	if got := again.current(retrieval.Aside("ns")); len(got) != 1 {
		t.Errorf("%d documents aside, want 1, with which to go on", len(got))
	}
	if _, err := again.corpus.SwitchAside(t.Context(), "ns", "g2"); err != nil {
		t.Fatal(err)
	}
	if got := names(again.ask("new")); !cmp.Equal(got, []string{"a.txt"}) {
		t.Errorf("found %v after the switch", got)
	}
}
