package pdf

import (
	"strings"
	"unicode"

	"parley/internal/lazyregexp"
)

// glyphShifts are the distances between ASCII and the numbers of glyphs. Fonts with a wrong character map mostly give the number
// of the glyph instead of the character.
var glyphShifts = []rune{29, 31}

// shiftedWord matches a word in small letters, with the punctuation around it.
var shiftedWord = lazyregexp.New(`^["'(]*[A-Z]?[a-z]+(?:['-][A-Za-z]?[a-z]*)*[.,;:!?)"']*$`)

const (
	minShifted     = 20 // characters
	minKinds       = 8  // of characters
	commonLetters  = "etaoinsrld"
	simpleVowels   = "aeiou"
	fewOrdinary    = .5
	enoughVowels   = .28
	enoughOrdinary = .6
)

// isShifted reports whether lines consist of glyph numbers instead of characters: they have no small letter and few common letters,
// and become words when they are shifted. Unlike isGibberish, it also judges short pages.
func isShifted(lines []pdfLine) bool {
	var b strings.Builder
	for i := range lines {
		b.Write(lines[i].Text)
		b.WriteByte(' ')
	}
	raw := b.String()
	letters, _, common := countLetters(strings.ToLower(raw))
	small := strings.IndexFunc(raw, func(r rune) bool { return unicode.IsLower(r) }) >= 0
	if len(raw) < minShifted || small || float64(common) > fewOrdinary*float64(letters) {
		return false
	}
	for _, by := range glyphShifts {
		if readsShifted(raw, by) {
			return true
		}
	}
	return false
}

// readsShifted reports whether a text becomes words when it is shifted.
func readsShifted(raw string, by rune) bool {
	text := strings.Map(func(r rune) rune {
		if r == ' ' || r > '~'-by {
			return r
		}
		return r + by
	}, raw)
	words, good, chars, known := 0, 0, 0, map[rune]bool{}
	for word := range strings.FieldsSeq(text) {
		chars += len(word)
		for _, r := range word {
			known[r] = true
		}
		words++
		if shiftedWord.MatchString(word) {
			good++
		}
	}
	letters, vowels, common := countLetters(strings.ToLower(text))
	return chars >= minShifted && len(known) >= minKinds && good*5 >= words*4 && letters*4 >= chars*3 &&
		float64(vowels) >= enoughVowels*float64(letters) && float64(common) >= enoughOrdinary*float64(letters)
}

// countLetters counts the letters of ASCII in a text, the vowels and the most common ones among them.
func countLetters(text string) (letters, vowels, common int) {
	for _, r := range text {
		if r < 'a' || r > 'z' {
			continue
		}
		letters++
		if strings.ContainsRune(simpleVowels, r) {
			vowels++
		}
		if strings.ContainsRune(commonLetters, r) {
			common++
		}
	}
	return letters, vowels, common
}
