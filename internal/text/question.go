package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/lazyregexp"
)

// AnalyzeQuestion is Analyze for a question. It also marks function words of the question's own
// language as Stop, where Analyze knows English only, and marks pairs of characters that touch a
// function word as Loose. An index needs neither, because common words weigh little there; in a
// question each word counts.
//
// forms maps a term to the terms of its possible inflections in the question's language; most of
// them are not words. English words are stemmed, so only verbs have other forms: "written" for "wrote", "backup" for "back up".
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
		if language.code == "de" {
			addJoined(forms, toks, words, s)
		}
		return toks, forms
	}
	return toks, englishForms(toks, words)
}

// particles make nouns with the verbs that they follow: "log in" and "login".
var particles = map[string]bool{"up": true, "down": true, "in": true, "out": true, "on": true, "off": true, "over": true}

// englishForms returns the other forms of English words by their terms: those of irregular verbs, the nouns that verbs form
// with the particles behind them, and British and American spellings.
func englishForms(toks []Token, words []string) map[string][]string {
	forms := make(map[string][]string)
	for i, t := range toks {
		if len(forms) == maxFormed {
			break
		}
		if t.Stop || forms[t.Term] != nil {
			continue
		}
		other := slices.Clone(formsOfVerbs()[t.Term])
		if i+1 < len(toks) && particles[words[i+1]] {
			other = append(other, Stem(t.Term+words[i+1]))
		}
		if i < maxFormed {
			for _, spelled := range Spellings(words[i]) {
				if form := Stem(spelled); form != t.Term && !slices.Contains(other, form) {
					other = append(other, form)
				}
			}
		}
		if len(other) > 0 {
			forms[t.Term] = other
		}
	}
	return forms
}

// LanguageOf returns the language of a question as an ISO 639-1 code, or "en" if it is unknown.
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

// Language returns the language of most of a text as an ISO 639-1 code, or "" if it is unknown, as for a table of figures. Of
// the languages in a script other than Latin and Cyrillic it knows Chinese, Japanese and Korean. One of their characters counts
// as much as several letters, because such texts have names in Latin letters. Only the beginning of a long text is read.
func Language(s string) string {
	if len(s) > maxLanguageText {
		s = strings.ToValidUTF8(s[:maxLanguageText], "")
	}
	han, kana, hangul, spelled, others := 0, 0, 0, 0, 0
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r):
		case unicode.Is(unicode.Han, r):
			han += syllable
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana += syllable
		case unicode.Is(unicode.Hangul, r):
			hangul += syllable
		case unicode.In(r, unicode.Latin, unicode.Cyrillic):
			spelled++
		default:
			others++
		}
	}
	switch syllables := han + kana + hangul; {
	case spelled > syllables+others:
		if l := wordLanguage(s); l != "" {
			return l
		}
	case others >= syllables:
		return ""
	}
	switch {
	case hangul > han+kana:
		return "ko"
	case kana*10 > han:
		return "ja"
	case han > 0:
		return "zh"
	}
	return ""
}

// wordLanguage returns the language of a text by its function words; "" if it has too few of them.
func wordLanguage(s string) string {
	toks := Analyze(s)
	folded := foldedWords(toks, s)
	if l := languageOf(toks, folded); l != nil {
		return l.code
	}
	stops := make(map[string]bool)
	for i, t := range toks {
		if t.Stop {
			stops[folded[i]] = true
		}
	}
	if len(stops) < 2 {
		return ""
	}
	return "en"
}

// syllable is the number of letters that correspond to one Chinese, Japanese or Korean character: an English text is about three
// times as long as its translation.
const syllable = 3

// maxLanguageText is the number of bytes at the start of a text from which its language is recognised.
const maxLanguageText = 2000

// foldedWords returns the folded word of each token.
func foldedWords(toks []Token, s string) []string {
	words := make([]string, len(toks))
	for i, t := range toks {
		if i > 0 && toks[i-1].Start == t.Start && toks[i-1].End == t.End {
			words[i] = words[i-1] // a part of an identifier, which may have many
		} else {
			words[i] = fold(s[t.Start:t.End])
		}
	}
	return words
}

// prepositions introduce the place of an answer ("according to the handbook"); documents use them
// as other words.
var prepositions = map[string]bool{"according": true, "regarding": true, "concerning": true, "considering": true}

// standsFor finds the verb of questions about an abbreviation: "What does SLA stand for?"
var standsFor = lazyregexp.New(`(?i)\bwhat (?:does|do|did) .*\b(stand) for\W*$`)

// minInflected is the minimum length in characters of a word without its ending.
const minInflected = 4

// maxFormed is the number of words above which a question gets no inflected forms: it is then a
// text, and its own words suffice.
const maxFormed = 100

// formsOfAll returns the inflected forms of the words of a question, by their terms.
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

// Forms returns the terms of a word and of its inflected forms in a language. English has no inflected
// forms, because its words are stemmed.
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

// englishEndings are the endings in which an English word may differ from its dictionary form.
var englishEndings = []string{"ing", "ies", "ied", "es", "ed", "s", "d", "e", "y", ""}

// Inflections returns a folded word and its possible forms with the endings of a language, shortest
// first. Most of the forms are not words.
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

// inflected returns a folded word with its ending replaced by each other one.
func inflected(word string, endings []string) []string {
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return nil
	}
	stem := word
	for _, e := range endings { // longest first
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

// languageOf returns the language with the most different function words in a text, or nil for
// English and unknown languages. A single match may be a word of another language; it counts only
// if it begins the text, as question words do, and is not too short.
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

// minQuestionWord is the minimum length in bytes of a single word that identifies a language.
const minQuestionWord = 4

// unspacedRuns returns the spans of s in scripts written without spaces between words.
func unspacedRuns(s string) []Span {
	var runs []Span
	for i, r := range s {
		if isUnspaced(r) && (len(runs) == 0 || i >= runs[len(runs)-1].End) {
			runs = append(runs, Span{Start: i, End: unspacedEnd(s, i)})
		}
	}
	return runs
}

// markLoose marks the pairs of characters that touch a function word. Japanese writes most content
// words in Han or Katakana, so all Hiragana counts as function words. Korean particles end a run.
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
