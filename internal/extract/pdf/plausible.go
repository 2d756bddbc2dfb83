package pdf

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley/internal/lazyregexp"
)

// Some fonts do not say which characters they show, and some are wrong about it. Text with wrong characters must not be
// indexed, so text is checked for properties that all languages of a script share.

// script describes a script: its letters, its vowels, and the least share of its letters that are vowels.
type script struct {
	letters *unicode.RangeTable
	vowels  string
	least   float64
}

var scripts = []script{
	{unicode.Latin, "aeiouyæœøıəɛɔ", .18},
	{unicode.Cyrillic, "аеёиоуыэюяіїєѣ", .22},
	{unicode.Greek, "αεηιουωϊϋ", .28},
}

// readsLikeText reports whether lines read like text, although their fonts do not say which characters they show: the
// fonts then use the usual codes. Text has letters of one script with enough vowels, or only figures.
func readsLikeText(lines []pdfLine) bool {
	letters, vowels, others := make([]int, len(scripts)), make([]int, len(scripts)), 0
	for _, line := range lines {
	chars:
		for _, r := range norm.NFD.String(string(line.Text)) {
			switch {
			case r == ' ' || unicode.IsDigit(r) || unicode.IsMark(r) || r < 0x7f && unicode.IsPunct(r):
			case unicode.IsLetter(r):
				for i, s := range scripts {
					if unicode.Is(s.letters, r) {
						letters[i]++
						if strings.ContainsRune(s.vowels, unicode.ToLower(r)) {
							vowels[i]++
						}
						continue chars
					}
				}
				others++
			default:
				others++
			}
		}
	}
	most, all := 0, others
	for i, n := range letters {
		all += n
		if n > letters[most] {
			most = i
		}
	}
	if all == 0 {
		return areNumbers(lines)
	}
	return letters[most]*10 >= all*7 && float64(vowels[most]) >= scripts[most].least*float64(letters[most])
}

var number = lazyregexp.New(`^[-+−(]?\d[\d.,]*[)%]?$`)

// areNumbers reports whether most words of lines are numbers.
func areNumbers(lines []pdfLine) bool {
	numbers, words := 0, 0
	for _, line := range lines {
		for word := range strings.FieldsSeq(string(line.Text)) {
			words++
			if number.MatchString(word) {
				numbers++
			}
		}
	}
	return numbers*5 >= words*4 && numbers > 0
}

// The shortest text that is judged, so that a formula or a list of part numbers is not taken for gibberish.
const (
	minJudgedChars = 60
	minJudgedWords = 40
)

// isGibberish reports whether lines cannot be text, whatever their fonts say: they have characters without a meaning, or
// Latin words that mostly lack vowels.
func isGibberish(lines []pdfLine) bool {
	chars, without, words, voiced := 0, 0, 0, 0
	letters, vowels := 0, 0
	for _, line := range lines {
		for word := range strings.FieldsSeq(norm.NFD.String(string(line.Text))) {
			length, sounds := 0, 0
			for _, r := range word {
				chars++
				switch {
				case unicode.Is(unicode.Co, r) || !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
					without++
				case unicode.Is(unicode.Latin, r):
					length++
					if strings.ContainsRune(scripts[0].vowels, unicode.ToLower(r)) {
						sounds++
					}
				}
			}
			letters, vowels = letters+length, vowels+sounds
			if length >= 5 {
				words++
				if sounds > 0 {
					voiced++
				}
			}
		}
	}
	if chars >= minJudgedChars && without*2 > chars {
		return true
	}
	return words >= minJudgedWords && voiced*10 < words*7 && float64(vowels) < .2*float64(letters)
}
