package codepage

import (
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

func TestWindows_NamesCharsetsThatAreKnown(t *testing.T) {
	for page, want := range map[int]string{0: "", 1251: "windows-1251", 936: "gbk", 28592: "iso-8859-2", 28605: "iso-8859-15", 10000: "macintosh"} {
		if got := Windows(page); got != want {
			t.Errorf("code page %d is %q, want %q", page, got, want)
		}
	}
	for page, name := range windows {
		if _, err := htmlindex.Get(Alias(name)); err != nil && page != 0 {
			t.Errorf("code page %d: %q: %v", page, name, err)
		}
	}
}

func TestUTF16_ComesBack(t *testing.T) {
	for _, s := range []string{"", "a", "Größe", "𝄞 费"} {
		if got := UTF16(EncodeUTF16(s)); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
	if got := UTF16([]byte("a\x00b")); got != "a" {
		t.Errorf("an odd byte gave %q", got)
	}
}
