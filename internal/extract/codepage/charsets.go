package codepage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// aliases are names of encodings that programs write but the web does not know.
var aliases = map[string]string{
	"cp932": "shift_jis", "ms932": "shift_jis", "sjis": "shift_jis", "shiftjis": "shift_jis", "eucjp": "euc-jp",
	"cp936": "gbk", "ms936": "gbk", "cp949": "euc-kr", "ms949": "euc-kr", "uhc": "euc-kr", "euckr": "euc-kr", "cp950": "big5",
	"iso2022jp": "iso-2022-jp", "cp866": "ibm866", "koi8r": "koi8-r", "koi8u": "koi8-u",
	"ansi": "windows-1252", "latin1": "iso-8859-1", "latin2": "iso-8859-2", "utf8": "utf-8",
	"macroman": "macintosh", "xmacroman": "macintosh", "maccyrillic": "x-mac-cyrillic",
}

// Alias returns the name by which the web knows the encoding of a label. It returns "" for UTF-16 and UTF-32: a text
// whose declaration could be read as ASCII is in neither.
func Alias(label string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, label)
	if name, ok := aliases[plain]; ok {
		return name
	}
	for _, wide := range []string{"utf16", "utf32", "ucs2", "ucs4", "iso10646", "unicode"} {
		if strings.HasPrefix(plain, wide) {
			return ""
		}
	}
	if number, ok := strings.CutPrefix(plain, "cp125"); ok {
		return "windows-125" + number
	}
	if number, ok := strings.CutPrefix(plain, "iso8859"); ok {
		return "iso-8859-" + number
	}
	return label
}

// Incomplete returns the number of bytes at the end of b that begin a character but do not complete it.
func Incomplete(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// singleByte are the single-byte encodings to try if the text does not read like words in the encoding that
// statistics suggest: those of Windows, Unix, DOS and the Macintosh, more usual ones first.
var singleByte = []encoding.Encoding{
	charmap.Windows1252, charmap.Windows1251, charmap.Windows1250, charmap.ISO8859_2, charmap.KOI8R,
	charmap.CodePage850, charmap.Macintosh, charmap.CodePage866, charmap.MacintoshCyrillic, charmap.CodePage852,
	charmap.Windows1253, charmap.Windows1254, charmap.Windows1257,
}

// wordy is the least wordiness with which an encoding is believed.
const wordy = .6

// moreWordy returns the encoding in which a sample of words reads best: enc unless another is clearly
// better. Statistics do not know the code pages of DOS and the Macintosh, and mistake short texts in them for
// Chinese.
func moreWordy(enc encoding.Encoding, sample []byte) encoding.Encoding {
	best := wordiness(As(enc, sample))
	switch {
	case best < wordy:
	case enc == charmap.Windows1252 && isTurkish(sample):
		return charmap.Windows1254
	default:
		return enc
	}
	const clearly = .2
	best += clearly
	for _, other := range singleByte {
		if score := wordiness(As(other, sample)); score > best {
			enc, best = other, score
		}
	}
	return enc
}

// isTurkish tells Turkish in Windows-1254 from Western languages in Windows-1252. The two differ in six letters. The
// only Western language that uses them is Icelandic, which also uses á, æ and é.
func isTurkish(sample []byte) bool {
	turkish := 0
	for _, b := range sample {
		switch b {
		case 0xd0, 0xdd, 0xde, 0xf0, 0xfd, 0xfe:
			turkish++
		case 0xe1, 0xe6, 0xe9:
			return false
		}
	}
	return turkish >= 3
}

// wordiness says how well the non-ASCII characters fit their neighbours: from 1 if each is a letter of its word, to
// less than -1 if it cannot be text.
func wordiness(text string) float64 {
	total, n := 0.0, 0
	before := ' '
	for i, r := range text {
		if r >= utf8.RuneSelf {
			after, _ := utf8.DecodeRuneInString(text[min(len(text), i+utf8.RuneLen(r)):])
			total += fits(before, r, after)
			n++
		}
		before = r
	}
	if n == 0 {
		return 1
	}
	return total / float64(n)
}

// fits judges how well a non-ASCII character fits between its neighbours.
func fits(before, r, after rune) float64 {
	inWord := unicode.IsLetter(before) && unicode.IsLetter(after)
	switch {
	case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Co, r):
		return -3
	case Unspaced(r) || unicode.Is(unicode.Hangul, r):
		if isASCIILetter(before) && !Unspaced(after) || isASCIILetter(after) && !Unspaced(before) {
			return -1 // an ideograph in a Latin word
		}
		return 1
	case unicode.IsLetter(r) || unicode.IsMark(r):
		if strange(before, r) || strange(r, after) || unicode.IsLower(before) && unicode.IsUpper(r) {
			return -1
		}
		return 1
	case r >= 0x2500 && r < 0x25a0: // the characters with which DOS drew boxes
		return -.5
	case inWord && r != '’' && r != '·':
		return -1
	case strings.ContainsRune("“”„‘’«»–—…€", r):
		return 1
	case unicode.IsLetter(before) && unicode.IsSymbol(r):
		return -.5
	}
	return .5
}

// strange reports whether two neighbours are letters of two alphabets.
func strange(a, b rune) bool {
	for _, alphabet := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek} {
		if unicode.Is(alphabet, a) && unicode.IsLetter(b) && !unicode.Is(alphabet, b) {
			return true
		}
	}
	return false
}

func isASCIILetter(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }

// Unspaced reports whether a character belongs to a script that puts no space between words, or to its
// punctuation.
func Unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef && !unicode.Is(unicode.Hangul, r)
}
