package text

import (
	"strings"
	"unicode"
)

// IsUnseen reports whether a character has no shape of its own, so that a text with it shows something
// else than it says, or hides something: controls, marks of writing direction, zero-width and tag
// characters, fillers, and the separators that end a line for some readers only. The joiners with
// which Persian, Indic scripts and emoji are spelled are no such characters, nor are tab and line ends.
func IsUnseen(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == '\u200c', r == '\u200d':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
		return true
	case r == '\u034f', r == '\u115f', r == '\u1160', r == '\u17b4', r == '\u17b5', r == '\u3164', r == '\uffa0':
		return true
	}
	return 0xe0100 <= r && r <= 0xe01ef // selectors of variants
}

// Seen returns a text without what is not seen; controls leave a space.
func Seen(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !IsUnseen(r):
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// OneLine returns a title or a name as it may be shown beside others: Seen, on one line and with single
// spaces. Where that leaves nothing, it is "".
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.Trim(Seen(s), " \u200c\u200d")), " ")
}
