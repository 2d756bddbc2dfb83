package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// fold lower-cases s and removes features that writers use inconsistently: diacritics, character
// width, typographic apostrophes, Arabic vowel signs and letter variants.
func fold(s string) string {
	ascii, lower := true, true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
		if 'A' <= s[i] && s[i] <= 'Z' {
			lower = false
		}
	}
	if ascii {
		if lower {
			return s
		}
		return strings.ToLower(s)
	}
	if isFolded(s) {
		return s
	}
	return foldEach(s)
}

// foldEach folds non-ASCII text character by character.
func foldEach(s string) string {
	var b strings.Builder
	var parts norm.Iter
	parts.InitString(norm.NFKD, s)
	for !parts.Done() && b.Len() < maxFolded {
		for _, r := range string(parts.Next()) {
			if unicode.Is(unicode.Mn, r) && foldsMark(r) {
				continue
			}
			if f, ok := variants[r]; ok {
				r = f
			}
			if r > 0 {
				b.WriteRune(unicode.ToLower(r))
			}
		}
	}
	return norm.NFC.String(arabicStem(b.String()))
}

// maxFolded is the approximate limit in bytes of a folded word: one character may expand to
// eighteen.
const maxFolded = 2 * maxWord

// isFolded reports whether s consists of Hangul syllables, which would be decomposed and composed
// again, or of Chinese characters, which have one form.
func isFolded(s string) bool {
	for _, r := range s {
		if (r < 0xAC00 || 0xD7A3 < r) && (r < 0x4E00 || 0x9FFF < r) {
			return false
		}
	}
	return true
}

// foldsMark reports whether a combining mark is optional in writing: Latin, Greek and Cyrillic
// accents, and Arabic and Hebrew vowel signs. The marks of Indic and South-East Asian scripts, and
// the voicing marks of Kana, distinguish letters.
func foldsMark(r rune) bool {
	return 0x0300 <= r && r <= 0x036F || 0x0591 <= r && r <= 0x05C7 || 0x0610 <= r && r <= 0x061A ||
		0x064B <= r && r <= 0x065F || r == 0x0670
}

// variants maps letters to the form in which they are indexed; 0 drops the letter.
var variants = map[rune]rune{
	'’': '\'', 'ʼ': '\'', 'ß': 's', 'ø': 'o', 'Ø': 'o', 'ł': 'l', 'Ł': 'l', 'đ': 'd', 'Đ': 'd', 'ı': 'i',
	'ـ': 0, 'أ': 'ا', 'إ': 'ا', 'آ': 'ا', 'ٱ': 'ا', 'ى': 'ي', 'ی': 'ي', 'ک': 'ك', 'ة': 'ه', '­': 0, '‌': 0, '‍': 0,
}

// arabicStem strips the article and a conjunction before it if at least three letters remain
// (light10 of Larkey et al. 2002, prefixes only).
func arabicStem(s string) string {
	r, _ := utf8.DecodeRuneInString(s)
	if !unicode.Is(unicode.Arabic, r) {
		return s
	}
	for _, p := range []string{"وال", "بال", "كال", "فال", "ال", "لل"} {
		if rest, ok := strings.CutPrefix(s, p); ok && utf8.RuneCountInString(rest) >= 3 {
			return rest
		}
	}
	return s
}

// stems caches the stems of recent words, because words repeat and stemming costs more than a
// look-up. It is emptied when it is full.
var stems = struct {
	sync.RWMutex
	m map[string]string
}{m: make(map[string]string)}

const maxStems = 1 << 15

// Stem returns the English stem (Porter2) of a folded word of ASCII letters, and any other word
// unchanged.
func Stem(word string) string {
	if len(word) < 3 || len(word) > 40 || !isASCIILetters(word) {
		return word
	}
	stems.RLock()
	s, ok := stems.m[word]
	stems.RUnlock()
	if ok {
		return s
	}
	s = english.Stem(word, true)
	stems.Lock()
	if len(stems.m) >= maxStems {
		clear(stems.m)
	}
	stems.m[strings.Clone(word)] = s
	stems.Unlock()
	return s
}

func isASCIILetters(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}
