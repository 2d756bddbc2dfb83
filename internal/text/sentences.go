package text

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Span is a piece of a text from byte Start to byte End, exclusive.
type Span struct{ Start, End int }

// Sentences returns the sentences of s in order, without surrounding white space. It follows UAX
// #29, section 5, which handles decimals and the full stops of all scripts, with tailoring for
// abbreviations, initials and lines. A line break within a paragraph does not end a sentence; a
// blank line and the marker of a list item at the start of a line do. The marker belongs to the
// item.
func Sentences(s string) []Span {
	flat := unwrap(s)
	var out []Span
	open := -1 // start of a sentence that earlier segments began
	for start, end := range segments(flat) {
		if open < 0 {
			open = start
		}
		if end < len(flat) && runsOn(open == start, flat[start:end], flat[end:min(len(flat), end+maxGap+maxWord)]) {
			continue
		}
		if sp, ok := Trim(s, open, end); ok {
			out = append(out, sp)
		}
		open = -1
	}
	return out
}

// maxGap is the length in bytes from which text without a word ends a sentence.
const maxGap = 128

// segments yields the sentences of a text by UAX #29, and also ends one at each gap. At every
// bracket, and every space after a full stop, the segmenter looks ahead to the next word; gaps
// limit that.
func segments(flat string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for from := 0; from < len(flat); {
			to := gapEnd(flat, from)
			for it := sentences.FromString(flat[from:to]); it.Next(); {
				if !yield(from+it.Start(), from+it.End()) {
					return
				}
			}
			from = to
		}
	}
}

// gapEnd returns the end of the first gap after from, or the end of s.
func gapEnd(s string, from int) int {
	gap := 0
	for i := from; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if isWordRune(r) {
			if gap >= maxGap {
				return i
			}
			gap = 0
		} else if gap += size; gap >= 2*maxGap {
			return i + size
		}
		i += size
	}
	return len(s)
}

// Trim returns s[start:end] without leading and trailing white space, and whether anything is left.
func Trim(s string, start, end int) (Span, bool) {
	t := strings.TrimLeftFunc(s[start:end], unicode.IsSpace)
	start = end - len(t)
	t = strings.TrimRightFunc(t, unicode.IsSpace)
	return Span{start, start + len(t)}, t != ""
}

// unwrap replaces line breaks by spaces, byte for byte, because UAX #29 ends a sentence at each
// line break. It keeps those of empty lines and those before list items.
func unwrap(s string) string {
	if !strings.ContainsAny(s, "\n\r") {
		return s
	}
	b := []byte(s)
	blank := true // only white space since the last line break
	for i, c := range b {
		switch c {
		case '\r':
			b[i] = ' '
		case '\n':
			if !blank && !startsItem(s[i+1:]) {
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

// bullets are the characters that begin list items.
const bullets = "•◦▪‣·–—-*"

// startsItem reports whether s begins with the marker of a list item.
func startsItem(s string) bool {
	s = strings.TrimLeft(s, " \t")
	r, size := utf8.DecodeRuneInString(s)
	if strings.ContainsRune(bullets, r) {
		return size < len(s) && (s[size] == ' ' || s[size] == '\t')
	}
	digits := 0
	for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' {
		digits++
	}
	return 0 < digits && digits <= 3 &&
		(strings.HasPrefix(s[digits:], ". ") || strings.HasPrefix(s[digits:], ") "))
}

// runsOn reports whether a sentence continues beyond segment into rest. first says that segment
// begins the sentence. rest is long enough to hold a gap and a word.
func runsOn(first bool, segment, rest string) bool {
	if strings.HasSuffix(segment, "\n") {
		return false
	}
	s := strings.TrimRightFunc(segment, unicode.IsSpace)
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, unicode.IsSpace))
	if first && isMarker(s) || beginsWithStop(segment, next) || strings.HasSuffix(s, "/...") {
		return true
	}
	word := lastWord(s)
	switch {
	case !strings.HasSuffix(s, "."):
		// "Really?" he said. Without a space in between, it may be code or an address: a != b, /find?n=1.
		asks := strings.ContainsAny(s[max(0, len(s)-4):], "?!")
		glued := len(s) == len(segment) && strings.ContainsAny(s[len(s)-1:], "?!")
		return asks && unicode.IsLower(next) || glued && (unicode.IsDigit(next) || strings.ContainsRune("=<>&/#%+-_$@\\|", next))
	case abbreviations[strings.ToLower(word)]:
		return true
	case isDay(word):
		return months[fold(firstWord(rest))] || unicode.IsUpper(next) && beforeOrdinals[strings.ToLower(wordBefore(s, word))] && !starters[firstWord(rest)]
	case isLetter(word) && isLetter(firstField(rest)): // "e. V.", "z. B."
		return true
	case numberedWords[strings.ToLower(word)] && (unicode.IsDigit(next) || !isInitials(word)):
		return unicode.IsDigit(next) || unicode.IsUpper(next) && utf8.RuneCountInString(firstWord(rest)) == 1
	case isInitials(word), closingWords[strings.ToLower(word)]:
		return !starters[firstWord(rest)]
	}
	return false
}

// beginsWithStop reports whether the full stop at the end of a segment begins the next word: that of a file name, as in
// "all .log files", or of a suffix (".deb").
func beginsWithStop(segment string, next rune) bool {
	before, ok := strings.CutSuffix(segment, ".")
	last, _ := utf8.DecodeLastRuneInString(before)
	return ok && isWordRune(next) && (before == "" || unicode.IsSpace(last) || strings.ContainsRune("([{\"'“”„‘’«»`/", last))
}

// isMarker reports whether a segment is only the number or letter of a list item, or has neither
// letters nor digits.
func isMarker(s string) bool {
	core := strings.Trim(s, "()[]. \t"+bullets)
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

// lastWord returns the part of s after its last white space or opening bracket.
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

// firstWord returns the leading letters and digits of s after white space.
func firstWord(s string) string {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	if i := strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) }); i >= 0 {
		return s[:i]
	}
	return s
}

// isInitials reports whether a word consists of capital letters, each with a full stop, as in J. or
// U.S.
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

// wordBefore returns the word before the last one of s.
func wordBefore(s, last string) string {
	return lastWord(strings.TrimRightFunc(s[:len(s)-len(last)], unicode.IsSpace))
}

// firstField returns what stands before the first space of s after white space.
func firstField(s string) string {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i]
	}
	return s
}

// isLetter reports whether a word is one letter with a full stop.
func isLetter(word string) bool {
	r, n := utf8.DecodeRuneInString(word)
	return unicode.IsLetter(r) && strings.TrimRight(word[n:], "\"”“»,;)") == "."
}

// isDay reports whether a word is an ordinal number with a full stop, as in "31. Mai".
func isDay(word string) bool {
	n := len(word) - 1
	return 1 <= n && n <= 2 && word[n] == '.' && strings.Trim(word[:n], "0123456789") == ""
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
		esp. z.b. bzw. d.h. u.a. hr. sra. dra. p.ej. ej. mt. ft. dept. univ. assn. bros. ph.d. a.k.a.`)
	// numberedWords stand before a number or a letter.
	numberedWords = wordSet(`no. nos. nr. p. pp. fig. figs. sec. secs. ch. vol. vols. eq. eqs. art. arts.
		abs. para. paras. ex. exs. ed. par. tab. app. ver. v. n. ref. refs. max. min. est.
		tel. ext. fax.
		jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec.`)
	// closingWords end a sentence as often as not.
	closingWords = wordSet(`etc. inc. ltd. corp. co. usw. a.m. p.m.`)
	// months follow the day in languages that write it with a full stop.
	months = wordSet(`januar janner februar feber marz april mai juni juli august september oktober november
		dezember marts maj desember januari mars tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesakuuta
		heinakuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta ledna unora brezna dubna kvetna cervna
		cervence srpna zari rijna listopadu prosince`)
	// starters begin a sentence even after initials.
	starters = wordSet(`The This That These Those It In On At He She We They You A An But And Or If
		When Where What Who How Why As For From By To Its His Her Their Our There Here However
		After Before Since While Although
		Der Die Das Den Dem Ein Eine Er Sie Es Wir Ihr Ich Man Wer Was Wenn Wann Wie Wo Bei Beim Für Mit Nach Vor Ab Bis
		Danach Dann Dies Diese Dieser Dieses Dort Hier Im Am Zum Zur Auch Außerdem Jede Jeder Jedes Alle Nur Falls Sofern Zu
		Kein Keine Bitte Anschließend Dabei Dafür Davor`)
	// beforeOrdinals stand before a number that counts the noun behind it, in German: "das 16. Lebensjahr".
	beforeOrdinals = wordSet(`das des dem der den die im jedes jeder jeden jedem vom zum am ein eine einem einen einer`)
)
