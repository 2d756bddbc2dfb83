package compose

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
)

// Clean brings text of any source to the form that pages have: NFC, lines ended by "\n", no
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

// plain reports whether cleanRune would return r as it is, for the characters that texts mostly
// consist of.
func plain(r rune) bool {
	return r >= ' ' && r < 0x7f || r == '\n' || r == '\t' || r >= 0xae && r < 0x2000 || r >= 0x3040 && r < 0xe000
}

// CleanRune returns what stands for r in a page's text: nothing for control and invisible
// characters, a space for the odd ones, letters for a ligature.
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
		r >= 0x2e80 && r <= 0x2fd5: // Han radicals, which fonts give for the ideographs that look alike
		return []rune(norm.NFKC.String(string(r)))
	case unicode.Is(unicode.Co, r):
		return nil
	}
	return []rune{r}
}

// isInvisible holds for what has no shape and no meaning to a reader: zero-width spaces, byte
// order marks, and the marks of writing direction, which can also make a text show something
// else than it says. The zero-width joiners stay, because Persian, Indic scripts and emoji are
// spelled with them.
func isInvisible(r rune) bool {
	return r == 0x200b || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xfff0 && r <= 0xfffc || r >= 0xe0000 && r <= 0xe007f
}

// privateUse maps the bullets of the fonts Symbol and Wingdings, which documents refer to by
// private code points (U+F000 plus the font's own code). No other private code has a meaning.
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

// Glue is what joins two lines of one paragraph: nothing between characters of scripts that are
// written without spaces, else a space.
func Glue(last, first rune) string {
	if last == 0 || first == 0 || codepage.Unspaced(last) && codepage.Unspaced(first) {
		return ""
	}
	return " "
}

// DecodeText turns the bytes of a text file into clean text, in the charset that the file declares of
// itself ("" for none) unless the bytes contradict it. Bytes that are not text are Damaged.
func DecodeText(data []byte, declared string) (string, error) {
	text := codepage.Decode(data, declared)
	if !codepage.IsProse(text) {
		return "", extract.Damagedf("the file is not text in an encoding that is known here")
	}
	return Clean(text), nil
}

// AttachmentName makes a name one segment of a path.
func AttachmentName(name string) string {
	name = strings.NewReplacer("/", "_", `\`, "_").Replace(OneLine(Clean(name)))
	if name = strings.Trim(name, ". "); len(name) > 200 {
		name = strings.ToValidUTF8(name[len(name)-200:], "")
	}
	return name
}
