package text

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AnalyzeQuestion is Analyze for what somebody asks. Function words of the question's own language
// are Stop, where Analyze knows those of English only, and Loose marks the pairs of characters that
// touch one. An index needs neither: what everybody writes weighs little there, but in a question
// each word counts as something that was asked for.
//
// Forms are those that a word may have by the inflection of the question's language, as terms of an index, by
// its own; most of them are no words. There are none for English, whose words are stemmed.
func AnalyzeQuestion(s string) (toks []Token, forms map[string][]string) {
	toks = Analyze(s)
	words := foldedWords(toks, s)
	language := languageOf(toks, words)
	if language != nil {
		for i := range toks {
			toks[i].Stop = language.function[words[i]]
		}
	} else {
		for i := range toks {
			toks[i].Stop = toks[i].Stop || prepositions[words[i]]
		}
		if at := standsFor.FindStringSubmatchIndex(s); at != nil {
			for i := range toks {
				toks[i].Stop = toks[i].Stop || toks[i].Start == at[2]
			}
		}
	}
	markLoose(toks, s)
	if language != nil {
		forms = language.formsOfAll(toks, words)
	}
	return toks, forms
}

// LanguageOf returns the language that a question is put in, as an ISO 639-1 code: "en" also where that is
// not known.
func LanguageOf(question string) string {
	for _, r := range question {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return "ja"
		case unicode.Is(unicode.Hangul, r):
			return "ko"
		}
	}
	if strings.ContainsFunc(question, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return "zh"
	}
	toks := Analyze(question)
	if l := languageOf(toks, foldedWords(toks, question)); l != nil {
		return l.code
	}
	return "en"
}

// foldedWords returns the word of each token as it stands in a text, folded.
func foldedWords(toks []Token, s string) []string {
	words := make([]string, len(toks))
	for i, t := range toks {
		if i > 0 && toks[i-1].Start == t.Start && toks[i-1].End == t.End {
			words[i] = words[i-1] // a part, of which there may be many
		} else {
			words[i] = fold(s[t.Start:t.End])
		}
	}
	return words
}

// prepositions lead to where an answer is to be looked for, "according to the handbook", but are found in
// documents as other words.
var prepositions = map[string]bool{"according": true, "regarding": true, "concerning": true, "considering": true}

// standsFor finds the verb of questions for what an abbreviation means: "What does SLA stand for?"
var standsFor = regexp.MustCompile(`(?i)\bwhat (?:does|do|did) .*\b(stand) for\W*$`)

// minInflected is the length in characters of what is left of a word without its ending.
const minInflected = 4

// maxFormed is of how many words of a question the other forms are looked for: one with more is a text,
// which is found by its words.
const maxFormed = 100

// formsOfAll returns the other forms of the words of a question by their terms.
func (l *language) formsOfAll(toks []Token, words []string) map[string][]string {
	forms := make(map[string][]string)
	for i, t := range toks {
		if len(forms) == maxFormed {
			break
		}
		if !t.Stop && !t.Loose && Stem(words[i]) == t.Term && forms[t.Term] == nil {
			forms[t.Term] = l.formsOf(words[i])
		}
	}
	return forms
}

// Forms returns the term of a word, and those of its other forms by the inflection of a language. There are
// none for English, whose words are stemmed.
func Forms(code, word string) []string {
	own := fold(word)
	forms := []string{Stem(own)}
	for _, l := range languages() {
		if l.code == code {
			forms = append(forms, l.formsOf(own)...)
		}
	}
	return forms
}

// englishEndings are those with which an English word may differ from the one in a dictionary.
var englishEndings = []string{"ing", "ies", "ied", "es", "ed", "s", "d", "e", "y", ""}

// Inflections returns a word, folded, and the forms that it may have with the endings of a language, the
// shortest first; most of them are no words.
func Inflections(code, word string) []string {
	word = fold(word)
	endings := englishEndings
	for _, l := range languages() {
		if l.code == code {
			endings = l.endings
		}
	}
	forms := inflected(word, endings)
	slices.Reverse(forms)
	return append([]string{word}, forms...)
}

// inflected returns a folded word with other endings in the place of its own.
func inflected(word string, endings []string) []string {
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return nil
	}
	stem := word
	for _, e := range endings { // the longest first
		if rest, ok := strings.CutSuffix(word, e); ok && utf8.RuneCountInString(rest) >= minInflected {
			stem = rest
			break
		}
	}
	if utf8.RuneCountInString(stem) < minInflected {
		return nil
	}
	var words []string
	for _, e := range endings {
		if w := stem + e; w != word {
			words = append(words, w)
		}
	}
	return words
}

// formsOf returns the terms of a folded word with other endings in the place of its own.
func (l *language) formsOf(word string) []string {
	own := Stem(word)
	var forms []string
	for _, w := range inflected(word, l.endings) {
		if form := Stem(w); form != own && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// languageOf returns the language that a text has the most different function words
// of, nil for English, and where that is not known. One alone may be a word of another language, so
// it must begin the text, as the words do with which questions are put, and not be too short.
func languageOf(toks []Token, words []string) *language {
	distinct := make(map[string]bool)
	english := make(map[string]bool)
	for i, w := range words {
		distinct[w] = true
		if toks[i].Stop {
			english[w] = true
		}
	}
	var best *language
	most := len(english)
	for _, l := range languages() {
		n := 0
		for w := range distinct {
			if l.function[w] {
				n++
			}
		}
		if n > most && (n > 1 || l.function[words[0]] && len(words[0]) >= minQuestionWord) {
			best, most = l, n
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

// markLoose marks the pairs of characters that touch a function word. In Japanese, words with a meaning
// of their own are mostly written in Han or Katakana, so that all Hiragana counts as function words; in
// Korean, particles stand at the end of a run.
func markLoose(toks []Token, s string) {
	runs := unspacedRuns(s)
	if len(runs) == 0 {
		return
	}
	function := make([]bool, len(s)) // by byte
	for _, run := range runs {
		markFunction(function[run.Start:run.End], s[run.Start:run.End])
	}
	for i := range toks {
		t := &toks[i]
		if r, _ := utf8.DecodeRuneInString(s[t.Start:]); isUnspaced(r) {
			t.Loose = slices.Contains(function[t.Start:t.End], true)
		}
	}
}

// markFunction marks the bytes of a run that belong to function words.
func markFunction(function []bool, run string) {
	for _, word := range unspacedWords() {
		for at := 0; ; {
			i := strings.Index(run[at:], word)
			if i < 0 {
				break
			}
			for j := range len(word) {
				function[at+i+j] = true
			}
			at += i + len(word)
		}
	}
	for i, r := range run {
		last := i+utf8.RuneLen(r) == len(run)
		if unicode.Is(unicode.Hiragana, r) || last && i > 0 && strings.ContainsRune(koreanParticles, r) {
			function[i] = true
		}
	}
}
