package pgsql

import (
	"strconv"
	"strings"
)

// lock is the comment that asks for row locks.
const lock = "/* lock */"

// Translate converts a statement for SQLite to PostgreSQL. It knows string literals, but no comments other
// than lock.
func Translate(query string) string {
	var b strings.Builder
	b.Grow(len(query) + 16)
	quoted, last := false, 0
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case quoted:
			b.WriteByte(c)
		case c == '?':
			digits := i + 1
			for digits < len(query) && query[digits] >= '0' && query[digits] <= '9' {
				digits++
			}
			number, err := strconv.Atoi(query[i+1 : digits])
			if err != nil { // a plain ? follows the highest number so far
				number = last + 1
			}
			last = max(last, number)
			b.WriteString("$" + strconv.Itoa(number))
			i = digits - 1
		case strings.HasPrefix(query[i:], lock):
			b.WriteString("FOR UPDATE")
			i += len(lock) - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
