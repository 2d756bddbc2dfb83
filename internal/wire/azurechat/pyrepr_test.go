package azurechat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/llm"
)

func TestPyRepr_IsThatOfCPython(t *testing.T) {
	// Printed by CPython 3: print(repr(s)).
	cases := []struct{ s, want string }{
		{"", `''`},
		{"plain", `'plain'`},
		{"isn't", `"isn't"`},
		{`say "hi"`, `'say "hi"'`},
		{`isn't "it"`, `'isn\'t "it"'`},
		{"a\\b\n\r\t", `'a\\b\n\r\t'`},
		{"\x00\x1f\x7f", `'\x00\x1f\x7f'`},
		{"é ü ж 😀", `'é ü ж 😀'`},
		{"\u0085\u00a0\u00ad", `'\x85\xa0\xad'`},
		{"\u200b\u2028\u3000\ue000\ufeff", `'\u200b\u2028\u3000\ue000\ufeff'`},
		{"\U000e0001\U0010ffff", `'\U000e0001\U0010ffff'`},
		{"e\u0301", "'e\u0301'"},
	}
	for _, c := range cases {
		if got := pyRepr(c.s); got != c.want {
			t.Errorf("%q: got %s, want %s", c.s, got, c.want)
		}
	}
}

func TestMessageRepr_HasTheDocumentsForm(t *testing.T) {
	cases := []struct {
		m    llm.Message
		want string
	}{
		{llm.Text(llm.System, "There isn't\nmuch"), `{'role': 'system', 'content': "There isn't\nmuch"}`},
		{llm.Message{Role: llm.Assistant}, `{'role': 'assistant', 'content': ''}`},
		{llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "a"}, {Text: "b"}}},
			`{'role': 'user', 'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]}`},
		{llm.Message{Role: llm.User, Parts: []llm.Part{{Image: "data:x"}}},
			`{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'data:x', 'detail': 'auto'}}]}`},
		{llm.Message{Role: llm.User, Parts: []llm.Part{{Image: "data:image/png;base64," + strings.Repeat("A", 1000)}}},
			`{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,` + strings.Repeat("A", 42) + `…', 'detail': 'auto'}}]}`},
	}
	for _, c := range cases {
		if got := messageRepr(c.m); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// FuzzPyRepr undoes the escapes again: nothing may be lost, and the quotes must hold.
func FuzzPyRepr(f *testing.F) {
	f.Add(`isn't "it"`)
	f.Add("\\\n\x00\u2028\U000e0001")
	f.Fuzz(func(t *testing.T, s string) {
		got := pyRepr(s)
		quote := got[:1]
		inner := strings.TrimSuffix(strings.TrimPrefix(got, quote), quote)
		if quote != "'" && quote != `"` || len(inner) != len(got)-2 {
			t.Fatalf("%q became %s", s, got)
		}
		back, ok := unrepr(inner, quote)
		if !ok || back != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("%q became %s and came back as %q", s, got, back)
		}
	})
}

// unrepr decodes the inside of a repr; false when the quote stands in it without a backslash.
func unrepr(s, quote string) (string, bool) {
	var b strings.Builder
	for s != "" {
		if strings.HasPrefix(s, quote) {
			return "", false
		}
		if s[0] != '\\' {
			r, size := utf8.DecodeRuneInString(s)
			b.WriteRune(r)
			s = s[size:]
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
		r, ok := map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '\'': '\'', '"': '"'}[s[1]]
		if !ok && digits == 0 {
			return "", false
		}
		for _, d := range s[2 : 2+digits] {
			r = r<<4 | rune(strings.IndexRune("0123456789abcdef", d))
		}
		b.WriteRune(r)
		s = s[2+digits:]
	}
	return b.String(), true
}
