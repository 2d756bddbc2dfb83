// Package codepage finds the encoding of a text and decodes it.
package codepage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	utf16 "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Decode turns bytes into text. In descending order of trust it follows a byte order mark, the declared
// charset ("" for none) unless the bytes contradict it, the shape of UTF-16 and ISO-2022, validity as
// UTF-8, and statistics of the bytes.
func Decode(data []byte, declared string) string {
	text, enc := decodeDeclared(data, declared)
	if mark, n := byteOrderMark(data); mark != nil && (enc == nil || n > 2 || bytes.IndexByte(bytes.TrimRight(data, "\x00"), 0) >= 0) {
		return As(mark, data[n:]) // two bytes alone may be letters of the declared charset
	}
	if enc != nil && !speaksAgainst(data, enc, text) {
		return text
	}
	if enc := bareUTF16(data); enc != nil {
		return As(enc, data)
	}
	if isISO2022JP(data) {
		if enc, err := htmlindex.Get("iso-2022-jp"); err == nil {
			return As(enc, data)
		}
	}
	if utf8.Valid(data) {
		return string(data)
	}
	if mostlyUTF8(data) {
		return strings.ToValidUTF8(string(data), "")
	}
	if enc != nil {
		return text
	}
	return As(Guess(data), data)
}

// decodeDeclared decodes data in a declared charset; enc is nil if it is not known or does not fit.
func decodeDeclared(data []byte, declared string) (text string, enc encoding.Encoding) {
	enc, err := htmlindex.Get(Alias(declared))
	if err != nil {
		return "", nil
	}
	if text = As(enc, data); brokenShare(text) >= .002 {
		return "", nil
	}
	return text, enc
}

// speaksAgainst reports whether the bytes contradict the declared charset enc, in which they read as text: they have
// zeros inside, have escape sequences of ISO-2022, or are UTF-8. Short texts in other charsets may be valid UTF-8 by
// chance, so UTF-8 must also have many non-ASCII characters, or read better as words.
func speaksAgainst(data []byte, enc encoding.Encoding, text string) bool {
	if strings.Contains(strings.TrimRight(text, "\x00"), "\x00") || isISO2022JP(data) {
		return true
	}
	const certain = 6 // about one in six Chinese characters in GBK is valid UTF-8
	characters, signs := wideUTF8(data)
	switch {
	case characters == 0 || !mostlyUTF8(data):
		return false
	case characters >= certain:
		return true
	case enc == charmap.Windows1252 && signs > 0:
		return true // "â€™" and "Â©" are not words
	}
	const clearly = .5
	return wordiness(string(data)) > wordiness(text)+clearly
}

// wideUTF8 counts the multi-byte characters of data as UTF-8, and those of them in which a byte after the first is
// not a letter in Windows-1252.
func wideUTF8(data []byte) (characters, signs int) {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if n > 1 && r != utf8.RuneError {
			characters++
			if !allLetters(data[1:n]) {
				signs++
			}
		}
		data = data[n:]
	}
	return characters, signs
}

func allLetters(western []byte) bool {
	for _, b := range western {
		if !unicode.IsLetter(charmap.Windows1252.DecodeByte(b)) {
			return false
		}
	}
	return true
}

// As decodes data, with replacement characters for invalid bytes. The decoders of x/text return no error for those.
func As(enc encoding.Encoding, data []byte) string {
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), "\ufffd")
	}
	return string(out)
}

func byteOrderMark(data []byte) (encoding.Encoding, int) {
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return utf16.UTF8, 3
	case bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}):
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), 4
	case bytes.HasPrefix(data, []byte{0, 0, 0xfe, 0xff}):
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), 4
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), 2
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM), 2
	}
	return nil, 0
}

// bareUTF16 recognises UTF-16 without a byte order mark. Every text has spaces, line ends or digits, which have zero
// bytes in UTF-16. Text in other encodings has zero bytes only as padding or between fields. The byte order is the one
// in which more code units are common characters.
func bareUTF16(data []byte) encoding.Encoding {
	sample := data[:min(len(data), 1<<16)&^1]
	if len(sample) < 4 || bytes.IndexByte(sample, 0) < 0 || isPaddedASCII(sample) {
		return nil
	}
	little, big := utf16Score(sample, binary.LittleEndian), utf16Score(sample, binary.BigEndian)
	const common = .8 // share of the code units; about .5 for random bytes
	switch {
	case little > big && little >= common:
		return utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)
	case big > little && big >= common:
		return utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)
	}
	return nil
}

// isPaddedASCII reports whether data are ASCII text with some zeros in it, whose pairs of bytes would be ideographs. In
// ASCII text written as UTF-16, half of the bytes are zeros.
func isPaddedASCII(data []byte) bool {
	zeros, text := 0, 0
	data = bytes.TrimRight(data, "\x00")
	for _, b := range data {
		switch {
		case b == 0:
			zeros++
		case b >= ' ' && b < 0x7f || b == '\n' || b == '\r' || b == '\t':
			text++
		}
	}
	return zeros*4 < len(data) && text*10 >= (len(data)-zeros)*9
}

// utf16Score returns the share of code units that are ASCII text or letters of common scripts, or 0 if there is no
// ASCII text.
func utf16Score(data []byte, order binary.ByteOrder) float64 {
	ascii, letters, units := 0, 0, len(data)/2
	for i := 0; i+1 < len(data); i += 2 {
		u := rune(order.Uint16(data[i:]))
		switch {
		case u == '\n' || u == '\r' || u == '\t' || u >= ' ' && u < 0x7f:
			ascii++
		case u >= 0xa0 && u < 0x700, u >= 0x900 && u < 0xe80, u >= 0x2010 && u < 0x2040,
			u >= 0x3000 && u < 0x3100, u >= 0x4e00 && u < 0xa000, u >= 0xac00 && u < 0xd7a4, u >= 0xff00 && u < 0xffef:
			letters++
		}
	}
	if ascii == 0 {
		return 0
	}
	// ASCII counts a little more: the wrong byte order turns it into rare ideographs.
	return (float64(letters) + 1.05*float64(ascii)) / float64(units)
}

// isISO2022JP reports whether data have the escape sequences of RFC 1468.
func isISO2022JP(data []byte) bool {
	return bytes.Contains(data, []byte("\x1b$B")) || bytes.Contains(data, []byte("\x1b$@")) || bytes.Contains(data, []byte("\x1b(J"))
}

// mostlyUTF8 reports whether data are UTF-8 that was cut or patched in a few places at most: they have at least 8 times
// as many valid multi-byte sequences as invalid bytes.
func mostlyUTF8(data []byte) bool {
	valid, invalid := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			invalid++
		case n > 1:
			valid++
		}
		data = data[n:]
	}
	return valid >= 8*invalid
}

// Guess finds the encoding by statistics, or returns Windows-1252 if those find none. If the words read clearly better
// in another encoding, it returns that one.
func Guess(data []byte) encoding.Encoding {
	sample := foreignWords(data)
	if IsShiftJIS(sample) {
		return japanese.ShiftJIS // statistics mistake short texts in it for GBK
	}
	return moreWordy(likeliest(data, sample), sample)
}

// likeliest returns the likeliest encoding of a sample, by statistics, in which all of data can be read.
func likeliest(data, sample []byte) encoding.Encoding {
	candidates, err := chardet.NewTextDetector().DetectAll(sample)
	if err != nil {
		return charmap.Windows1252
	}
	// The detector runs its recognisers concurrently, so that the order of equal results is random.
	slices.SortStableFunc(candidates, func(a, b chardet.Result) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), strings.Compare(a.Charset, b.Charset))
	})
	for _, c := range candidates {
		enc, err := htmlindex.Get(strings.ToLower(c.Charset))
		if err != nil || c.Confidence < 10 {
			continue
		}
		if text := As(enc, data); brokenShare(text) < .002 {
			return enc
		}
	}
	return charmap.Windows1252
}

// IsShiftJIS reports whether all non-ASCII bytes are kana and common ideographs of Shift JIS, and there are at least
// two of these.
func IsShiftJIS(b []byte) bool {
	pairs := 0
	for i := 0; i < len(b); i++ {
		if b[i] < utf8.RuneSelf {
			continue
		}
		if i+1 == len(b) {
			return false
		}
		lead, trail := b[i], b[i+1]
		common := lead == 0x81 || lead == 0x82 || lead == 0x83 || lead >= 0x88 && lead <= 0x98
		if !common || trail < 0x40 || trail == 0x7f || trail > 0xfc {
			return false
		}
		pairs++
		i++
	}
	return pairs >= 2
}

// foreignWords returns a sample of the words that are not ASCII, since the markup of a page would outvote them. None of
// the separators occurs inside a character of a multi-byte encoding.
func foreignWords(data []byte) []byte {
	const enough = 1 << 16
	var sample []byte
	isSeparator := func(r rune) bool { return r == ' ' || r == '\n' || r == '\r' || r == '\t' || r == '<' || r == '>' }
	for len(data) > 0 && len(sample) < enough {
		end := bytes.IndexFunc(data, isSeparator)
		if end < 0 {
			end = len(data) - 1
		}
		word := data[:end+1]
		if bytes.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) {
			sample = append(sample, word...)
		}
		data = data[end+1:]
	}
	return sample
}

func brokenShare(text string) float64 {
	broken := strings.Count(text, "\ufffd")
	if broken == 0 {
		return 0
	}
	return float64(broken) / float64(utf8.RuneCountInString(text))
}

// IsProse reports whether decoded text can be read at all: control and replacement characters are at most about a
// fiftieth of its start.
func IsProse(text string) bool {
	bad, n := 0, 0
	for _, r := range text[:min(len(text), 1<<16)] {
		n++
		if r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\f\v\x1b", r) {
			bad++
		}
	}
	return bad*50 <= n+100
}
