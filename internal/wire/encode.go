package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s to dst as a JSON string. It escapes what RFC 8259 requires, and also U+0085,
// U+2028 and U+2029: JSON allows them in strings, but some clients treat them as line ends when they split
// a stream into lines (Python's splitlines, httpx). Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= ' ' && b != '"' && b != '\\' {
				i++
				continue
			}
			dst = appendEscape(append(dst, s[from:i]...), b)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if escaped := escapeOf(r, size); escaped != "" {
			dst = append(append(dst, s[from:i]...), escaped...)
			from = i + size
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
}

func escapeOf(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u0085':
		return `\u0085`
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	}
	return ""
}

// AppendJSON appends v to dst as compact JSON. It escapes the same characters as AppendString and no
// others: < and & stay unchanged.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	out := sink(dst)
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return dst, fmt.Errorf("encode %T: %w", v, err)
	}
	raw := out[len(dst) : len(out)-1] // without the newline
	return append(out[:len(dst)], escapeLineEnds(raw)...), nil
}

// sink is an io.Writer that appends to itself, which avoids a copy of the encoded value.
type sink []byte

func (s *sink) Write(b []byte) (int, error) {
	*s = append(*s, b...)
	return len(b), nil
}

// escapeLineEnds escapes the characters that AppendString escapes as line ends. In valid JSON they occur
// only in strings. It returns raw itself if there are none.
func escapeLineEnds(raw []byte) []byte {
	for _, r := range []rune{'\u0085', '\u2028', '\u2029'} {
		if bytes.ContainsRune(raw, r) {
			raw = bytes.ReplaceAll(raw, []byte(string(r)), []byte(escapeOf(r, utf8.RuneLen(r))))
		}
	}
	return raw
}

// ListOf returns all, or an empty list if it is nil, so that JSON has [] instead of null.
func ListOf[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
