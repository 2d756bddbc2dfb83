package cite

import (
	"strconv"
	"strings"
)

// jsonEscapes replaces escapes of printable ASCII characters in streamed JSON with the characters
// themselves, where JSON permits them. The value does not change, and a filter then sees the text that a
// reader of the value will see.
type jsonEscapes struct{ held string } // the beginning of an incomplete escape

// add takes a delta and returns the output that is certain now.
func (e *jsonEscapes) add(text string) string {
	if e.held == "" && !strings.Contains(text, `\`) {
		return text
	}
	in := e.held + text
	e.held = ""
	var b strings.Builder
	for {
		i := strings.IndexByte(in, '\\')
		if i < 0 {
			b.WriteString(in)
			return b.String()
		}
		b.WriteString(in[:i])
		in = in[i:]
		n := 2
		if strings.HasPrefix(in, `\u`) {
			n = len(`\u0000`)
		}
		if len(in) < n {
			e.held = in
			return b.String()
		}
		b.WriteString(plainEscape(in[:n]))
		in = in[n:]
	}
}

// end returns the rest of the output.
func (e *jsonEscapes) end() string {
	rest := e.held
	e.held = ""
	return rest
}

// plainEscape returns the printable character that an escape stands for, or else the escape itself.
func plainEscape(escape string) string {
	if escape == `\/` {
		return "/"
	}
	if n, err := strconv.ParseUint(escape[2:], 16, 16); err == nil && n >= ' ' && n < 0x7f && n != '"' && n != '\\' {
		return string(rune(n))
	}
	return escape
}
