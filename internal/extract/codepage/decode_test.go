package codepage

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// declaredPages are code pages as Outlook declares them, and letters that names in them are made of.
var declaredPages = []struct {
	page    uint64
	label   string
	enc     encoding.Encoding
	letters string
}{
	{1252, "windows-1252", charmap.Windows1252, "abcdefghijklmnopqrstuvwxyzàâäåæçèéêëíñóôöøœšúûüýžß '-"},
	{1250, "windows-1250", charmap.Windows1250, "abcdefghijklmnoprstuwyząćęłńóśźżčďěňřšťůýžőű '-"},
	{1257, "windows-1257", charmap.Windows1257, "abcdefghijklmnoprstuvzāčēģīķļņšūžąęėįų "},
	{1254, "windows-1254", charmap.Windows1254, "abcçdefgğhıijklmnoöprsştuüvyz "},
	{1251, "windows-1251", charmap.Windows1251, "абвгдежзийклмнопрстуфхцчшщъыьэюяё -"},
	{20866, "koi8-r", charmap.KOI8R, "абвгдежзийклмнопрстуфхцчшщъыьэюяё -"},
	{28595, "iso-8859-5", charmap.ISO8859_5, "абвгдежзийклмнопрстуфхцчшщъыьэюя -"},
	{1253, "windows-1253", charmap.Windows1253, "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώς -"},
	{1255, "windows-1255", charmap.Windows1255, "אבגדהוזחטיכלמנסעפצקרשתםןץףך -"},
	{1256, "windows-1256", charmap.Windows1256, "ابتثجحخدذرزسشصضطظعغفقكلمنهوي "},
	{932, "shift_jis", japanese.ShiftJIS, "山田太郎佐藤花子鈴木一渡辺あいうえおカキクケコ東京都"},
	{936, "gbk", simplifiedchinese.GBK, "联通王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗"},
	{949, "euc-kr", korean.EUCKR, "김이박최정강조윤장임한오서신권황안송류전"},
	{950, "big5", traditionalchinese.Big5, "陳林黃張李王吳劉蔡楊許鄭謝洪郭邱曾廖賴徐"},
}

// A name is read in the code page that is declared for it, also where its bytes happen to be valid
// UTF-8 or, with the zero that ends it, look like UTF-16. Up to five characters nothing outweighs
// what is declared; names of one script mixed with ASCII stay what they are at any length.
func TestDecode_ReadsNamesInTheirDeclaredCodePage(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 25))
	for _, c := range declaredPages {
		letters := []rune(c.letters)
		for length := 1; length <= 64; length++ {
			for range 40 {
				name := make([]rune, length)
				for i := range name {
					name[i] = letters[rng.IntN(len(letters))]
				}
				want := string(name)
				data, err := c.enc.NewEncoder().Bytes([]byte(want))
				if err != nil {
					t.Fatalf("%s: %q: %v", c.label, want, err)
				}
				if got := Decode(data, c.label); got != want {
					t.Fatalf("%s, %d characters: %q is read as %q", c.label, length, want, got)
				}
				for _, padding := range []string{"\x00", "\x00\x00", "\x00\x00\x00"} {
					if got := Decode(append(data, padding...), c.label); strings.TrimRight(got, "\x00") != want {
						t.Fatalf("%s, %d characters and %d zeros: %q is read as %q", c.label, length, len(padding), want, got)
					}
				}
			}
		}
	}
}

// Without a declaration ASCII with a zero behind it or between its fields is no UTF-16, and UTF-16 of
// any script with spaces in it is.
func TestDecode_TellsUTF16FromPaddedText(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	const ascii = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789"
	for length := 3; length <= 64; length++ {
		for range 50 {
			b := make([]byte, length)
			for i := range b {
				b[i] = ascii[rng.IntN(len(ascii))]
			}
			if got := Decode([]byte(string(b)+"\x00"), ""); got != string(b)+"\x00" {
				t.Fatalf("%q is read as %q", b, got)
			}
			if fields := string(b) + "\x00" + string(b); Decode([]byte(fields), "") != fields {
				t.Fatalf("%q is read as %q", fields, Decode([]byte(fields), ""))
			}
		}
	}
	for _, text := range []string{"Travis", "Ab cd", "Ελένη 12", "山田 太郎 1", "Анна К."} {
		for _, order := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
			data, err := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().Bytes([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, declared := range []string{"", "windows-1252", "utf-8"} {
				if got := Decode(data, declared); got != text {
					t.Errorf("%q as UTF-16, declared %q, is read as %q", text, declared, got)
				}
			}
		}
	}
}

// UTF-8 that is declared to be something else is common on the web, and is recognised by what it
// would look like.
func TestDecode_RecognisesUTF8UnderAWrongName(t *testing.T) {
	for _, text := range []string{"don’t", "Café", "© 2024", "a\u00a0b", "Grüße aus Köln", "Привет", "Ελλάδα", "昨天我们去森林里采蘑菇"} {
		for _, declared := range []string{"iso-8859-1", "windows-1252"} {
			if got := Decode([]byte(text), declared); got != text {
				t.Errorf("%q declared %s is read as %q", text, declared, got)
			}
		}
	}
	for declared, text := range map[string]string{"gbk": "昨天我们去森林里采蘑菇", "windows-1251": "Привет из Москвы", "shift_jis": "昨日私たちは森へ", "windows-1250": "Wczoraj poszliśmy do lasu, żeby zbierać grzyby"} {
		if got := Decode([]byte(text), declared); got != text {
			t.Errorf("%q declared %s is read as %q", text, declared, got)
		}
	}
}
