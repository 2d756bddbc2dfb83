package text

import "testing"

func TestOneLine(t *testing.T) {
	for _, c := range [][2]string{
		{"invoice\u202efdp.exe", "invoicefdp.exe"}, {"a\u2066b\u2069c\u200ed\u061ce", "abcde"}, {"pay\u200broll\u2060\ufeff\u00ad", "payroll"},
		{"a\x00b\x1b[31mc\x7f\u0085d", "a b [31mc d"}, {"a\nb\r\n\tc\u2028d\u2029e", "a b c d e"}, {"x\U000e0041\U000e0101y\u3164z", "xyz"},
		{"می\u200cخواهم 👩\u200d👩 é 漢字", "می\u200cخواهم 👩\u200d👩 é 漢字"}, {"\u202e \u200b\u200d", ""}, {"", ""},
	} {
		if got := OneLine(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
