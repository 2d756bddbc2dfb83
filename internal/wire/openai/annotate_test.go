package openai

import (
	"testing"
	"unicode/utf8"

	"parley/internal/chat"
)

// FuzzAnnotations puts any text before and between marks: every annotation lies within the text,
// in order, without overlap, and its marks are those of the text.
func FuzzAnnotations(f *testing.F) {
	f.Add("It is [a.md], [a.md, b.pdf#page=2] and 𝔘 [c]1].", "c]1")
	f.Add("[[a.md]][,a.md;][ a.md ]", "x")
	f.Add("[a.md", "a.md]")
	h := handlerOf(nil, nil)
	f.Fuzz(func(t *testing.T, answer, label string) {
		if label == "" {
			return // no document has such a name
		}
		m := chat.MessageFinished{Text: answer, Citations: []chat.Citation{
			{Label: "a.md", Name: "a.md"}, {Label: "b.pdf#page=2", Name: "b.pdf", Page: 2}, {Label: label, Name: label},
		}}
		behind, length := 0, utf8.RuneCountInString(answer)
		for _, a := range h.annotationsOf(&exchange{base: "http://x"}, m) {
			if a.Start < behind || a.End <= a.Start || a.End > length {
				t.Fatalf("%q has the annotation %+v behind %d", answer, a, behind)
			}
			behind = a.End
			mark := string([]rune(answer)[a.Start:a.End])
			if utf8.ValidString(answer) && mark != a.Title && mark != "["+a.Title+"]" && a.Title != "b.pdf" {
				t.Fatalf("%q has the annotation %+v on %q", answer, a, mark)
			}
		}
	})
}
