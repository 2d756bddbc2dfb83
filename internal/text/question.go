package text

import (
	"slices"
	"strings"
	"unicode"
)

// AnalyzeQuestion is Analyze for what somebody asks. Function words of the question's own language
// are Stop, where Analyze knows those of English only, and Loose marks the pairs of characters that
// touch one. An index needs neither: what everybody writes weighs little there, but in a question
// each word counts as something that was asked for.
func AnalyzeQuestion(s string) []Token {
	toks := Analyze(s)
	if words := functionWords(toks, s); words != nil {
		for i := range toks {
			toks[i].Stop = words[fold(s[toks[i].Start:toks[i].End])]
		}
	}
	for _, run := range unspacedRuns(s) {
		markLoose(toks, s, run)
	}
	return toks
}

// functionWords returns the function words of the language that a text has the most different ones
// of, nil for English, and where that is not known. One alone may be a word of another language, so
// it must begin the text, as the words do with which questions are put, and not be too short.
func functionWords(toks []Token, s string) map[string]bool {
	words := make(map[string]bool)
	english := make(map[string]bool)
	first := ""
	for _, t := range toks {
		w := fold(s[t.Start:t.End])
		if words[w] = true; len(words) == 1 {
			first = w
		}
		if t.Stop {
			english[w] = true
		}
	}
	var best map[string]bool
	most := len(english)
	for _, language := range languages() {
		n := 0
		for w := range words {
			if language[w] {
				n++
			}
		}
		if n > most && (n > 1 || language[first] && len(first) >= minQuestionWord) {
			best, most = language, n
		}
	}
	return best
}

// minQuestionWord is the length of a word, in bytes, that alone tells a language.
const minQuestionWord = 4

// unspacedRuns returns the spans of s in scripts that are written without spaces between words.
func unspacedRuns(s string) []Span {
	var runs []Span
	for i, r := range s {
		if isUnspaced(r) && (len(runs) == 0 || i >= runs[len(runs)-1].End) {
			runs = append(runs, Span{Start: i, End: unspacedEnd(s, i)})
		}
	}
	return runs
}

// markLoose marks the pairs within a run that touch one of its function words. In Japanese, words
// with a meaning of their own are mostly written in Han or Katakana, so that all Hiragana counts as
// function words; in Korean, particles stand at the end of a run.
func markLoose(toks []Token, s string, run Span) {
	function := make([]bool, len(s)) // by byte of s; only those of run are looked at
	body := s[run.Start:run.End]
	for _, word := range unspacedWords() {
		for at := 0; ; {
			i := strings.Index(body[at:], word)
			if i < 0 {
				break
			}
			for j := range len(word) {
				function[run.Start+at+i+j] = true
			}
			at += i + len(word)
		}
	}
	for i, r := range body {
		last := run.Start+i+len(string(r)) == run.End
		if unicode.Is(unicode.Hiragana, r) || last && i > 0 && strings.ContainsRune(koreanParticles, r) {
			function[run.Start+i] = true
		}
	}
	for i := range toks {
		t := &toks[i]
		if t.Start >= run.Start && t.End <= run.End {
			t.Loose = slices.Contains(function[t.Start:t.End], true)
		}
	}
}
