package yourdata

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var labels = []string{"a.md", "b.pdf#page=1", "b.pdf#page=12", "c, d.txt", "a.md.txt", "e[1].md"}

// However an answer is cut, its citations are numbers, and everything else is as it was.
func TestMarker_NumbersCitationsHoweverTheTextIsCut(t *testing.T) {
	for text, want := range map[string]string{
		"Yes [a.md].":                       "Yes [doc1].",
		"[b.pdf#page=1][b.pdf#page=12]":     "[doc2][doc3]",
		"x [a.md, b.pdf#page=12] y":         "x [doc1][doc3] y",
		"x [a.md;b.pdf#page=1 ] y":          "x [doc1][doc2] y",
		"[c, d.txt]":                        "[doc4]",
		"[a.md.txt] [a.md]":                 "[doc5] [doc1]",
		"[e[1].md]":                         "[doc6]",
		"[b.pdf#page=2] [b.pdf]":            "[b.pdf#page=2] [b.pdf]",
		"[[a.md]] [x] [] [":                 "[[doc1]] [x] [] [",
		"[a.md, nothing] [a.md":             "[a.md, nothing] [a.md",
		"[doc1] [doc12] [doc] [doc1234] [d": "[doc 1] [doc 12] [doc] [doc1234] [d",
		"[link](http://x) [a.md](y)":        "[link](http://x) [doc1](y)",
		"é[a.md]é":                          "é[doc1]é",
	} {
		for size := 1; size <= len(text); size++ {
			m := marker{labels: labels}
			var got strings.Builder
			for at := 0; at < len(text); at += size {
				got.WriteString(m.add(text[at:min(at+size, len(text))]))
			}
			got.WriteString(m.end())
			if got.String() != want {
				t.Errorf("%q in pieces of %d is %q, want %q", text, size, got.String(), want)
			}
		}
	}
}

func FuzzMarker(f *testing.F) {
	f.Add("x [a.md, b.pdf#page=1] [doc3]", 3)
	f.Fuzz(func(t *testing.T, text string, size int) {
		whole, cut := marker{labels: labels}, marker{labels: labels}
		want := whole.add(text) + whole.end()
		size = max(1, size)
		var got strings.Builder
		for at := 0; at < len(text); at += min(size, len(text)-at) {
			got.WriteString(cut.add(text[at:min(at+min(size, len(text)), len(text))]))
		}
		got.WriteString(cut.end())
		if got.String() != want {
			t.Errorf("%q in pieces of %d is %q, whole %q", text, size, got.String(), want)
		}
	})
}

func TestUnmarked_TakesOutWhatCannotBeResolvedAnyMore(t *testing.T) {
	for text, want := range map[string]string{
		"Yes [doc1]. No [doc12][doc3].": "Yes. No.",
		"[doc] [docs1] [doc1234]":       "[doc] [docs1] [doc1234]",
		"[doc1":                         "[doc1",
	} {
		if got := unmarked(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzASCII(f *testing.F) {
	f.Add(`{"a":"é 😀 \\u"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return
		}
		var want, got any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			return
		}
		line := ascii([]byte(text))
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q became %q: %v", text, line, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("%q became %q", text, line)
		}
	})
}
