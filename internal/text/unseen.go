package text

import (
	"strings"
	"unicode"
)

// IsUnseen reports whether a character is invisible, so that a text with it could mislead or hide
// something: controls, direction marks, zero-width and tag characters, fillers, and separators that
// only some readers treat as line ends. Tabs, line ends, and the joiners that Persian, Indic
// scripts and emoji need are not unseen.
func IsUnseen(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == '\u200c', r == '\u200d':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
		return true
	case r == '\u034f', r == '\u115f', r == '\u1160', r == '\u17b4', r == '\u17b5', r == '\u3164', r == '\uffa0':
		return true
	}
	return 0xe0100 <= r && r <= 0xe01ef // variation selectors
}

// Seen returns a text without invisible characters. Controls become a space.
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

// OneLine returns a title or a name for display beside others: Seen, on one line and with single
// spaces. The result may be "".
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.Trim(Seen(s), " \u200c\u200d")), " ")
}
