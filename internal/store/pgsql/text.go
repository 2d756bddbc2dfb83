package pgsql

import (
	"strings"
	"unicode/utf8"
)

// Documents and people send texts that PostgreSQL refuses, with NUL or with bytes that are not UTF-8. Such a byte is
// stored as an escape, the noncharacter U+FDD0, which no text should contain, followed by the rune 0x100 plus the byte.
// The escape itself is stored twice.
const (
	escape     = '\uFDD0'
	escapeText = string(escape)
	firstByte  = 0x100
)

// Encode returns a text that PostgreSQL stores and that Decode turns back into s. For almost all
// texts that is s.
func Encode(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.Contains(s, escapeText) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == escape:
			b.WriteString(escapeText + escapeText)
		case r == 0, r == utf8.RuneError && size == 1:
			b.WriteString(escapeText + string(firstByte+rune(s[0])))
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// Decode is the inverse of Encode. Text that Encode did not make is returned as it is.
func Decode(s string) string {
	before, rest, found := strings.Cut(s, escapeText)
	if !found {
		return s
	}
	var b strings.Builder
	for found {
		b.WriteString(before)
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == escape:
			b.WriteString(escapeText)
			rest = rest[size:]
		case r >= firstByte && r < firstByte+0x100:
			b.WriteByte(byte(r - firstByte))
			rest = rest[size:]
		default:
			b.WriteString(escapeText)
		}
		before, rest, found = strings.Cut(rest, escapeText)
	}
	b.WriteString(before)
	return b.String()
}
