// Package text splits text into terms and sentences. Indexing, retrieval and the built-in answerer
// share this analysis, so that they agree on words.
//
// It works for every script and need not know the language of a text. Words of alphabetic scripts
// are folded (case, diacritics, width) and, if plain ASCII, stemmed as English. Han, Kana, Hangul
// and the scripts of South-East Asia, which do not separate words by spaces, become overlapping
// pairs of characters.
package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is one term of a text.
type Token struct {
	Term       string // folded and stemmed, as in the index
	Start, End int    // byte span of the word in the text, End exclusive
	Stop       bool   // a function word, which does not indicate the topic
	Loose      bool   // set by AnalyzeQuestion: a pair of characters that touches a function word
	Parts      int    // how many of the following tokens are parts of this one
}

// Analyze returns the tokens of s in order. A compound identifier yields its whole form first and
// then its parts, with the same span.
func Analyze(s string) []Token {
	toks := make([]Token, 0, len(s)/6+1)
	shouting := !hasLower(s)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case isUnspaced(r):
			end := unspacedEnd(s, i)
			toks = appendPairs(toks, s, i, end)
			i = end
		case isWordRune(r):
			end := hyphenated(s, i)
			toks = appendCompound(toks, s, i, end, shouting)
			i = end
		default:
			i += size
		}
	}
	return toks
}

// Terms returns the terms of s in order without function words, with repetitions.
func Terms(s string) []string {
	var terms []string
	for _, t := range Analyze(s) {
		if !t.Stop {
			terms = append(terms, t.Term)
		}
	}
	return terms
}

func hasLower(s string) bool {
	return strings.ContainsFunc(s, unicode.IsLower)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// isUnspaced reports whether r belongs to a script written without spaces between words.
func isUnspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー' || r == '々'
}

func unspacedEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isUnspaced(r) {
			break
		}
		i += size
	}
	return i
}

// maxWord is the length limit of a word in bytes. Longer runs are split into several words, so that
// work on the text of each token stays proportional to the text. Real words are shorter.
const maxWord = 256

// wordEnd returns the end of the word that begins at i. A word consists of letters, digits and
// marks, with single joiners inside: apostrophes between letters, "." and "," between digits, "_"
// anywhere.
func wordEnd(s string, i int) int {
	most := i + maxWord
	prev, _ := utf8.DecodeRuneInString(s[i:])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if i+size > most {
			break
		}
		if !isWordRune(r) || isUnspaced(r) {
			next, _ := utf8.DecodeRuneInString(s[i+size:])
			if i+size >= len(s) || isUnspaced(next) || !joins(prev, r, next) {
				break
			}
		}
		prev = r
		i += size
	}
	return i
}

// maxHyphens is the most hyphens in a compound.
const maxHyphens = 3

// hyphenated returns the end of the hyphenated words that begin at i, or the end of the first word
// if there is no hyphen.
func hyphenated(s string, i int) int {
	end := wordEnd(s, i)
	for range maxHyphens {
		n := hyphen(s[end:])
		r, _ := utf8.DecodeRuneInString(s[end+n:])
		if n == 0 || !isWordRune(r) || isUnspaced(r) {
			break
		}
		end = wordEnd(s, end+n)
	}
	return end
}

// hyphen returns the length of the hyphen at the start of s, or 0.
func hyphen(s string) int {
	for _, h := range []string{"-", "\u2010", "\u2011"} {
		if strings.HasPrefix(s, h) {
			return len(h)
		}
	}
	return 0
}

// appendCompound appends the hyphenated words s[start:end] after their joined form, because
// spellings vary: e-mail and email. It does not join numbers.
func appendCompound(toks []Token, s string, start, end int, shouting bool) []Token {
	if wordEnd(s, start) == end {
		return appendWord(toks, s, start, end, shouting)
	}
	whole, isWord := len(toks), false
	if strings.ContainsFunc(s[start:end], unicode.IsLetter) {
		joined := joiners.Replace(fold(s[start:end]))
		if isWord = joined != ""; isWord {
			toks = append(toks, Token{Term: Stem(joined), Start: start, End: end, Stop: true})
		}
	}
	parts := len(toks)
	for i := start; i < end; {
		to := wordEnd(s, i)
		toks = appendWord(toks, s, i, to, shouting)
		i = to + hyphen(s[to:])
	}
	if isWord {
		toks[whole].Parts = len(toks) - parts
		toks[whole].Stop = !slices.ContainsFunc(toks[parts:], func(t Token) bool { return !t.Stop })
	}
	return toks
}

// joiners removes the characters between and within the words of a compound.
var joiners = strings.NewReplacer("-", "", "\u2010", "", "\u2011", "", "'", "", "’", "", ",", "")

func joins(prev, r, next rune) bool {
	switch r {
	case '\'', '’':
		return unicode.IsLetter(prev) && unicode.IsLetter(next)
	case '.', ',':
		return unicode.IsDigit(prev) && unicode.IsDigit(next)
	case '_':
		return isWordRune(prev) && isWordRune(next)
	}
	return false
}

// appendPairs appends the overlapping pairs of characters of s[start:end], or a single character
// that stands alone.
func appendPairs(toks []Token, s string, start, end int) []Token {
	prev := -1
	for i := start; i < end; {
		_, size := utf8.DecodeRuneInString(s[i:])
		if prev >= 0 {
			toks = append(toks, Token{Term: fold(s[prev : i+size]), Start: prev, End: i + size})
		}
		prev = i
		i += size
	}
	if len(toks) == 0 || toks[len(toks)-1].End != end || toks[len(toks)-1].Start < start {
		toks = append(toks, Token{Term: fold(s[start:end]), Start: start, End: end})
	}
	return toks
}

func appendWord(toks []Token, s string, start, end int, shouting bool) []Token {
	word := s[start:end]
	folded := fold(word)
	if folded == "" {
		return toks
	}
	stop, noun := isStop(folded) && (shouting || !isAcronym(word)), elided(folded)
	folded = strings.TrimSuffix(strings.TrimSuffix(folded, "'s"), "'")
	folded = strings.ReplaceAll(folded, "'", "")
	if folded == "" { // the apostrophe is a letter
		return toks
	}
	whole := len(toks)
	toks = append(toks, Token{Term: Stem(strings.ReplaceAll(folded, ",", "")), Start: start, End: end, Stop: stop})
	toks = appendParts(toks, s, start, end)
	if noun != "" {
		toks = append(toks, Token{Term: Stem(noun), Start: start, End: end, Stop: isStop(noun)})
	}
	toks[whole].Parts = len(toks) - whole - 1
	return toks
}

// elided returns the word after an elided article or preposition, as in l'avance or dell'azienda,
// and "" for other words.
func elided(folded string) string {
	before, rest, ok := strings.Cut(folded, "'")
	if !ok || utf8.RuneCountInString(rest) < 3 {
		return ""
	}
	switch before {
	case "l", "d", "j", "m", "n", "s", "t", "c", "qu", "un", "all", "dall", "dell", "nell", "sull", "quell":
		return rest
	}
	return ""
}

// isAcronym reports whether word is written in capitals, as in "IT" or "WHO".
func isAcronym(word string) bool {
	if len(word) < 2 {
		return false
	}
	for _, r := range word {
		if !unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// appendParts appends the parts of an identifier such as max_output_tokens or TurnFinished.
func appendParts(toks []Token, s string, start, end int) []Token {
	part := start
	var prev rune
	parts := 0
	flush := func(to int) {
		if to-part >= 2 && (part != start || to != end) {
			if f := fold(s[part:to]); f != "" { // "" if it has marks only
				toks = append(toks, Token{Term: Stem(f), Start: start, End: end, Stop: isStop(f)})
				parts++
			}
		}
	}
	for i := start; i < end; {
		r, size := utf8.DecodeRuneInString(s[i:end])
		switch {
		case r == '_':
			flush(i)
			part = i + size
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			flush(i)
			part = i
		}
		prev = r
		i += size
	}
	if parts > 0 {
		flush(end)
	}
	return toks
}
