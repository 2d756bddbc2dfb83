// Package texttest holds hostile texts and checks that work on them grows linearly. Test every
// function that reads text written by others with it:
//
//	for _, s := range texttest.Shapes {
//		t.Run(s.Name, func(t *testing.T) {
//			texttest.Linear(t, s, func(text string) { text.Analyze(text) })
//		})
//	}
package texttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shape is a family of texts of any length.
type Shape struct {
	Name string
	Text func(bytes int) string // returns valid UTF-8 of that length, or a few bytes less
}

// repeated are the pieces that shapes repeat: a word, a token, a number, a run of punctuation, nesting, and opening marks whose
// ends parsers look for.
var repeated = map[string]string{
	"one letter": "a", "one word": "qwertzuiopasdfghjklyxcvbnm", "one known word": "deductible", "one compound": "urlaubstage",
	"one word in capitals": "ABCDEFGH", "one word of many parts": "DeDuCt", "one digit": "7", "one number": "1234567890",
	"decimals": "1.", "thousands": "123,", "a number of numbers": "1 ", "distinct numbers in brackets": "(12) ", "apostrophes": "l'",
	"underscores": "ab_", "hyphens": "ab-", "hyphens that are no hyphens": "ab\u2010", "Han": "费用", "Han between words": "费a", "Hiragana": "こと",
	"Hangul": "은는", "Hangul between spaces": "비용은 ", "Thai": "ไทย", "Arabic": "ال", "Cyrillic": "документ", "marks": "a\u0301", "marks alone": "\u0301",
	"marks of Hebrew": "\u05b0", "what decomposes": "\ufdfa", "what is joined": "\u200d", "emoji": "😀", "spaces": " ", "words of a letter": "a ",
	"tabs": "\t", "line ends": "\n", "carriage returns": "\r", "short lines": "a\n", "blank lines": "a\n\n", "items": "- a\n", "numbered items": "1. a\n",
	"full stops": "a. ", "full stops alone": ".", "full stops and spaces": ". ", "abbreviations": "e.g. ", "initials": "A. ", "ellipses": "... ",
	"question marks": "? ", "closing brackets": ".)", "semicolons": "; ", "colons": "a: ", "clauses": " and what", "questions": "What is it? ",
	"what does": "what does ", "how many": "how many ", "stands for": "what does x stand for ", "pronouns": "it they its ", "names": "Abc Def ",
	"acronyms": "(AB) ", "an acronym after words": "Key Performance (KP) ", "round brackets": "(", "square brackets": "[", "curly brackets": "{",
	"angle brackets": "<", "double angle brackets": "<<", "closing angle brackets": ">>", "lenticular brackets": "【", "square brackets that close": "]",
	"brackets and words": "[a", "pairs of brackets": "[]", "images": "![a](http://a/b) ", "image openings": "![", "links": "[a](b)", "link openings": "[a](",
	"reference definitions": "[a]: b\n", "citations": "[a.pdf#page=1]", "citations apart": "It is so [a.pdf#page=1]. ", "citations of many pages": "[a.pdf#page=1, 2, 3]",
	"numbers in brackets": "[1]", "exclamation marks": "!", "bars": "a | ", "bars alone": "|", "rows": "a | b\n", "named rows": "a: b; c: d\n",
	"stars": "*", "pairs of stars": "**a", "backticks": "`", "fences": "```\n", "quotation marks": `"`, "typographic quotation marks": "“", "backslashes": `\`, "equals signs": "=",
	"percent signs": "%41", "ampersands": "&amp;", "addresses": "a@b.c ", "address beginnings": "http://", "at signs": "@", "tags": "<a>", "tag beginnings": "<a ",
	"tags that close": "</a>", "comments": "<!--", "entities": "&#", "role tags": "<|im_start|>", "instructions": "[INST]", "dollars": "$1,000 ", "dashes": "— ",
	"rules": "---\n", "JSON": `{"a":`, "arrays": "[1,", "plain words": "the cost of a plan ", "words of content": "deductible plan cost employee ",
	"a question in German": "wie hoch ist der urlaub und ", "slashes": "a/", "thai and spaces": "ไ ", "half widths": "ｱ", "private use": "\ue000", "bidirectional": "\u202e",
}

// Shapes are the shapes, in a fixed order.
var Shapes = shapes()

func shapes() []Shape {
	all := []Shape{
		{"two words and a hyphen", func(n int) string { return strings.Repeat("x", n/2) + "-" + strings.Repeat("y", n/2-1) }},
		{"a word after a question", func(n int) string { return "what is " + strings.Repeat("x", max(0, n-8)) }},
		{"distinct words", func(n int) string { return numbered(n, func(i int) string { return "word" + letters(i) + " " }) }},
		{"distinct capitals", func(n int) string {
			return numbered(n, func(i int) string { return strings.ToUpper(letters(i)) + " Word " })
		}},
		{"distinct numbers", func(n int) string { return numbered(n, func(i int) string { return fmt.Sprint(i, ".5 ") }) }},
		{"distinct citations", func(n int) string {
			return numbered(n, func(i int) string { return fmt.Sprintf("So [a%d.pdf#page=%d]. ", i, i) })
		}},
		{"distinct sentences", func(n int) string {
			return numbered(n, func(i int) string { return "The " + letters(i) + " is so. " })
		}},
		{"brackets that nest", func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) }},
		{"arrays that nest", func(n int) string { return strings.Repeat("[1,", n/4) + strings.Repeat("]", n/4) }},
		{"an open bracket", func(n int) string { return "[" + strings.Repeat("a", n-1) }},
		{"an open angle", func(n int) string { return "<" + strings.Repeat("a ", n/2-1) }},
		{"an open quotation", func(n int) string { return `"` + strings.Repeat("a ", n/2-1) }},
		{"an open fence", func(n int) string { return "```\n" + strings.Repeat("a\n", n/2-4) }},
		{"a full stop before brackets", func(n int) string { return "a." + strings.Repeat(")", n-2) }},
		{"a full stop before spaces", func(n int) string { return "a." + strings.Repeat(" ", n-2) }},
		{"a full stop before numbers", func(n int) string { return "a." + strings.Repeat(" 1", n/2-2) }},
		{"a heading of it", func(n int) string { return "# " + strings.Repeat("a ", n/2-2) }},
	}
	for _, name := range sorted(repeated) {
		piece := repeated[name]
		all = append(all, Shape{name, func(n int) string { return strings.Repeat(piece, n/len(piece)) }})
	}
	return all
}

// numbered concatenates the results of piece for 0, 1, 2 and so on.
func numbered(n int, piece func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(piece(i))
	}
	s := b.String()[:n]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// letters writes a number in letters, as a meaningless word.
func letters(i int) string {
	b := []byte("aaaa")
	for k := range b {
		b[k] = 'a' + byte(i%26)
		i /= 26
	}
	return string(b)
}

func sorted(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}
