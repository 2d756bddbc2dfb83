package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// interval is a half-open range of bytes.
type interval struct{ start, end int }

// sentenceIntervals cuts text into sentences without the white space around them. It follows
// Unicode TR 29, which knows the full stops of all scripts and decimals, and repairs what
// that cannot know: abbreviations, initials, list markers, and lines that are only wrapped.
func sentenceIntervals(text string) []interval {
	flat := unwrap(text)
	var out []interval
	open := -1 // where the sentence starts that previous segments began
	it := sentences.FromString(flat)
	for it.Next() {
		start, end := it.Start(), it.End()
		if open < 0 {
			open = start
		}
		if end < len(flat) && runsOn(open == start, flat[start:end], flat[end:]) {
			continue
		}
		if iv, ok := trim(text, interval{open, end}); ok {
			out = append(out, iv)
		}
		open = -1
	}
	return out
}

// unwrap replaces single line breaks by spaces, byte for byte, because TR 29 ends a sentence at
// each of them. An empty line stays.
func unwrap(text string) string {
	if !strings.ContainsAny(text, "\n\r") {
		return text
	}
	b := []byte(text)
	blank := true // nothing but white space since the last line break
	for i, c := range b {
		switch c {
		case '\r':
			b[i] = ' '
		case '\n':
			if !blank {
				b[i] = ' '
			}
			blank = true
		case ' ', '\t':
		default:
			blank = false
		}
	}
	return string(b)
}

// trim moves the ends of iv inwards over white space; false when nothing is left.
func trim(text string, iv interval) (interval, bool) {
	s := text[iv.start:iv.end]
	left := strings.TrimLeftFunc(s, unicode.IsSpace)
	iv.start = iv.end - len(left)
	iv.end = iv.start + len(strings.TrimRightFunc(left, unicode.IsSpace))
	return iv, iv.start < iv.end
}

// runsOn reports whether the boundary after segment is none: the sentence goes on in rest.
// First says that segment begins its sentence.
func runsOn(first bool, segment, rest string) bool {
	if strings.HasSuffix(segment, "\n") {
		return false
	}
	s := strings.TrimRightFunc(segment, unicode.IsSpace)
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, unicode.IsSpace))
	if first && isMarker(s) {
		return true
	}
	word := lastWord(s)
	switch {
	case !strings.HasSuffix(s, "."):
		// "Really?" he said.
		return unicode.IsLower(next) && strings.ContainsAny(s[max(0, len(s)-4):], "?!")
	case abbreviations[strings.ToLower(word)]:
		return true
	case numberedWords[strings.ToLower(word)]:
		return unicode.IsDigit(next) || unicode.IsUpper(next) && utf8.RuneCountInString(firstWord(rest)) == 1
	case isInitials(word):
		return !starters[firstWord(rest)]
	}
	return false
}

// isMarker reports whether a segment is no sentence but the number or letter of a list item, or
// has neither letters nor digits.
func isMarker(s string) bool {
	core := strings.Trim(s, "()[]. \t")
	if core == "" || strings.IndexFunc(core, isWordRune) < 0 {
		return true
	}
	if len(s) > 12 || !strings.ContainsAny(s[len(s)-1:], ".)]") {
		return false
	}
	letters := 0
	for _, r := range core {
		switch {
		case unicode.IsDigit(r) || r == '.':
		case strings.ContainsRune("ivxlcIVXLC", r) || utf8.RuneCountInString(core) == 1:
			letters++
		default:
			return false
		}
	}
	return letters <= 5
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lastWord returns what follows the last white space or opening bracket of s.
func lastWord(s string) string {
	i := strings.LastIndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("([{\"“‘'", r)
	})
	if i < 0 {
		return s
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return s[i+n:]
}

// firstWord returns the letters and digits with which s starts after white space.
func firstWord(s string) string {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	if i := strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) }); i >= 0 {
		return s[:i]
	}
	return s
}

// isInitials reports whether a word is capital letters with a full stop each, as in J. or U.S.
func isInitials(word string) bool {
	if word == "" || len(word) > 12 {
		return false
	}
	for word != "" {
		r, n := utf8.DecodeRuneInString(word)
		if !unicode.IsUpper(r) || !strings.HasPrefix(word[n:], ".") {
			return false
		}
		word = word[n+1:]
	}
	return true
}

// wordSet makes a set of the words in s.
func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

var (
	// abbreviations never end a sentence.
	abbreviations = wordSet(`mr. mrs. ms. dr. prof. st. sr. jr. gen. sen. rep. gov. capt. lt. col.
		sgt. rev. hon. messrs. mme. mlle. vs. e.g. i.e. eg. ie. cf. viz. approx. al. ca. resp. incl.
		esp. z.b. bzw. d.h. u.a. hr. sra. dra. p.ej. ej. mt. ft. dept. univ. assn. bros.`)
	// numberedWords is what stands before a number or a letter.
	numberedWords = wordSet(`no. nos. nr. p. pp. fig. figs. sec. secs. ch. vol. vols. eq. eqs. art. arts.
		abs. para. paras. ex. exs. ed. par. tab. app. ver. v. n.`)
	// starters begin a sentence even after initials.
	starters = wordSet(`The This That These Those It In On At He She We They You A An But And Or If
		When Where What Who How Why As For From By To Its His Her Their Our There Here However
		After Before Since While Although`)
)
