package main

import (
	"reflect"
	"testing"
)

func TestPage_FollowsSwipesOnPhones(t *testing.T) {
	pageTest(t)
	docs := folderOf(t, map[string]string{"skagen.md": "# Skagen\n\n## The lighthouse\n\nThe lighthouse of Skagen is 46 metres tall.\n"})
	p := serveIngested(t, nil, docs)
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
