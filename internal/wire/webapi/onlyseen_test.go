package webapi

import (
	"strings"
	"testing"

	"parley/internal/text/texttest"
)

func TestOnlySeen_TakesTimeInProportion(t *testing.T) {
	labels := map[string]bool{"x#page=1": true}
	for _, shape := range []texttest.Shape{
		{Name: "spaces", Text: func(n int) string { return "a" + strings.Repeat(" ", n) + "b [x#page=1]" }},
		{Name: "words", Text: func(n int) string { return strings.Repeat("a ", n/2) + "[x#page=1]" }},
		{Name: "labels", Text: func(n int) string { return strings.Repeat("a (b [x#page=1] ", n/16) }},
		{Name: "brackets", Text: func(n int) string { return strings.Repeat("[x", n/2) }},
	} {
		texttest.Linear(t, shape, 64<<10, func(text string) { onlySeen(text, labels) })
	}
}
