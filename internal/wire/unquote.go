package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote decodes a JSON string, including its quotation marks, that the checker has accepted.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	return string(appendUnquoted(make([]byte, 0, len(quoted)), quoted))
}

// appendUnquoted is like unquote, but appends the text to dst. A lone surrogate becomes U+FFFD.
func appendUnquoted(dst, quoted []byte) []byte {
	s := quoted[1 : len(quoted)-1]
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		if s = s[i+1:]; s[0] == 'u' {
			var r rune
			r, s = codePoint(s)
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, unescaped(s[0]))
		s = s[1:]
	}
}

func unescaped(b byte) byte {
	switch b {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return b // a quotation mark, a backslash or a slash
}

// codePoint decodes a \u escape; s begins with its "u". If it and the next escape are a surrogate pair, it decodes
// both. It returns the rest of s too.
func codePoint(s []byte) (rune, []byte) {
	r, rest := hex4(s[1:]), s[5:]
	if !utf16.IsSurrogate(r) {
		return r, rest
	}
	if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(rest[2:])); pair != utf8.RuneError {
			return pair, rest[6:]
		}
	}
	return utf8.RuneError, rest
}

func hex4(s []byte) rune {
	n, err := strconv.ParseUint(string(s[:4]), 16, 32)
	if err != nil {
		panic("wire: an escape was not checked: " + err.Error())
	}
	return rune(n)
}
