package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"parley/test/needs"
)

func TestPage_FollowsSwipesOnPhones(t *testing.T) {
	needs.Long(t)
	requirePage(t)
	t.Parallel()
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "skagen.md"), []byte("# Skagen\n\n## The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServe(t, nil, docs)
	if err := awaitIngested(p.addr); err != nil {
		t.Fatal(err)
	}
	type steps struct {
		Amid, Askew, Edge, Back int // whether the list of conversations is open
		Scrolled, Down          int // whether the source is open
		Side                    []int
		Errors                  []string
	}
	want := steps{Edge: 1, Scrolled: 1, Side: []int{0, 0}, Errors: []string{}}
	var got map[string]steps
	onPage(t, "gestures", p.addr, map[string]any{"question": "How tall is the lighthouse of Skagen?"}, &got)
	for _, language := range []string{"en", "ar"} {
		if !reflect.DeepEqual(got[language], want) {
			t.Errorf("%s: %+v, want %+v", language, got[language], want)
		}
	}
}
