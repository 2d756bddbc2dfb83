package azurechat

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/llm"
)

// promptStrings renders a prompt as the documents show it: one string per message, the repr of a Python
// dict, because the front ends display it verbatim.
func promptStrings(messages []llm.Message) []string {
	list := make([]string, 0, len(messages))
	for _, m := range messages {
		list = append(list, messageRepr(m))
	}
	return list
}

func messageRepr(m llm.Message) string {
	dst := append([]byte("{'role': "), pyRepr(string(m.Role))...)
	dst = append(dst, ", 'content': "...)
	if len(m.Parts) == 1 && m.Parts[0].Image == "" {
		return string(append(appendPyRepr(dst, m.Parts[0].Text), '}'))
	}
	if len(m.Parts) == 0 {
		return string(append(dst, "''}"...))
	}
	separator := "["
	for _, p := range m.Parts {
		dst = appendPart(append(dst, separator...), p)
		separator = ", "
	}
	return string(append(dst, "]}"...))
}

func appendPart(dst []byte, p llm.Part) []byte {
	if p.Image == "" {
		dst = append(dst, "{'type': 'text', 'text': "...)
		return append(appendPyRepr(dst, p.Text), '}')
	}
	dst = append(dst, "{'type': 'image_url', 'image_url': {'url': "...)
	dst = appendPyRepr(dst, shortened(p.Image))
	return append(dst, ", 'detail': 'auto'}}"...)
}

// shortened returns the beginning of a long data: URL. Images of sources are in the data points in full;
// repeating them here would double the reply.
func shortened(url string) string {
	const shown = 64
	if len(url) <= 2*shown || !strings.HasPrefix(url, "data:") {
		return url
	}
	return url[:shown] + "…"
}

// pyRepr returns repr(s) of CPython 3: in single quotes, unless s contains one and no double quote. Characters
// for which str.isprintable is false are escaped.
func pyRepr(s string) string { return string(appendPyRepr(nil, s)) }

func appendPyRepr(dst []byte, s string) []byte {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	dst = append(slices.Grow(dst, len(s)+len(s)/16+8), byte(quote))
	for i, r := range s {
		switch {
		case r >= ' ' && r < 0x7f && r != quote && r != '\\':
			dst = append(dst, s[i])
		case r == quote || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		// unicode.IsPrint has the same definition as str.isprintable: letters, marks, numbers, punctuation,
		// symbols and the ASCII space.
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r <= 0xff:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r <= 0xffff:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, byte(quote))
}
