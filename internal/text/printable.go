package text

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable escapes the characters of a path that are not printable, for messages.
func Printable(p string) string {
	for _, r := range p {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			q := strconv.Quote(p)
			return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
		}
	}
	return p
}
