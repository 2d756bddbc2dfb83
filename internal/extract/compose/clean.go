package compose

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
)

// Clean returns text in the form that pages have: NFC, lines ended by "\n", no
// control or invisible formatting characters, plain spaces, ligatures spelled out.
func Clean(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	afterCR := false
	for _, r := range s {
		if r == '\n' && afterCR {
			afterCR = false
			continue
		}
		afterCR = r == '\r'
		switch r {
		case '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
			r = '\n'
		}
		if plain(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range CleanRune(r) {
			b.WriteRune(c)
		}
	}
	return norm.NFC.String(b.String())
}

// plain reports whether r is one of the common characters that CleanRune returns unchanged.
func plain(r rune) bool {
	return r >= ' ' && r < 0x7f || r == '\n' || r == '\t' || r >= 0xae && r < 0x2000 || r >= 0x3040 && r < 0xe000
}

// CleanRune returns the characters that replace r in a page's text: none for control and invisible characters, a plain
// space for special spaces, letters for a ligature.
func CleanRune(r rune) []rune {
	switch {
	case r == '\n' || r == '\t':
		return []rune{r}
	case unicode.IsControl(r), r == 0xad, isInvisible(r), r == 0xfffe, r == 0xffff:
		return nil
	case unicode.Is(unicode.Zs, r):
		return []rune{' '}
	case r >= 0xe000 && r <= 0xf8ff:
		return privateUse(r)
	case r >= 0xfb00 && r <= 0xfb4f, // Latin, Armenian and Hebrew ligatures
		r >= 0xfb50 && r <= 0xfdff, r >= 0xfe70 && r <= 0xfefc, // Arabic presentation forms
		r >= 0x2e80 && r <= 0x2fd5: // Han radicals, which fonts use for ideographs that look the same
		return []rune(norm.NFKC.String(string(r)))
	case unicode.Is(unicode.Co, r):
		return nil
	}
	return []rune{r}
}

// isInvisible reports whether r is invisible: a zero-width space, a byte order mark, or a mark of writing direction,
// which can make text look different from its characters. Zero-width joiners do not count: Persian, Indic scripts and
// emoji need them.
func isInvisible(r rune) bool {
	return r == 0x200b || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xfff0 && r <= 0xfffc || r >= 0xe0000 && r <= 0xe007f
}

// privateUse maps the bullets of the fonts Symbol and Wingdings, which documents write as private code
// points (U+F000 plus the code in the font). It drops all other private codes.
func privateUse(r rune) []rune {
	switch r - 0xf000 {
	case 0x2d, 0x6c, 0x6e, 0x6f, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77,
		0x9e, 0x9f, 0xa0, 0xa7, 0xa8, 0xb7, 0xd8, 0xe0, 0xe8, 0xf0, 0xfc, 0xfe:
		return []rune{'•'}
	case 0x20:
		return []rune{' '}
	}
	return nil
}

// Glue returns the text that joins two lines of a paragraph: "" between characters of scripts without spaces, otherwise
// a space.
func Glue(last, first rune) string {
	if last == 0 || first == 0 || codepage.Unspaced(last) && codepage.Unspaced(first) {
		return ""
	}
	return " "
}

// DecodeText returns the bytes of a text file as clean text. It believes the declared charset ("" for
// none) unless the bytes contradict it. The error is Damaged if the bytes are not text.
func DecodeText(data []byte, declared string) (string, error) {
	text := codepage.Decode(data, declared)
	if !codepage.IsProse(text) {
		return "", extract.Damagedf("the file is not text in a known encoding")
	}
	return Clean(text), nil
}

// AttachmentName returns a name as one segment of a path, at most 200 bytes long.
func AttachmentName(name string) string {
	name = strings.NewReplacer("/", "_", `\`, "_").Replace(OneLine(Clean(name)))
	if name = strings.Trim(name, ". "); len(name) > 200 {
		name = strings.ToValidUTF8(name[len(name)-200:], "")
	}
	return name
}

// ReadText returns the whole of a text file, of at most limit bytes, as DecodeText does.
func ReadText(f *extract.File, limit int64) (string, error) {
	data, err := f.All(limit)
	if err != nil {
		return "", err
	}
	return DecodeText(data, "")
}
