package compose

import "strings"

// symbolFont has the signs of the font Symbol by the code of the first of each range.
var symbolFont = map[int][]rune{
	0x20: []rune(" !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
	0xa0: []rune("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"),
	0xf1: []rune("〉∫"),
}

// wingdings has the signs of the font Wingdings that people write among words. Its others are bullets.
var wingdings = map[int]rune{0x4a: '☺', 0x4b: '😐', 0x4c: '☹', 0xdf: '←', 0xe0: '→', 0xe1: '↑', 0xe2: '↓', 0xe7: '←', 0xe8: '→', 0xf0: '→', 0xfb: '✗', 0xfc: '✓',
	0xfd: '☒', 0xfe: '☑', 0xa8: '☐', 0x6f: '☐'}

// FontRune returns the character that a code in a font of signs shows. Documents write such codes as they are or among
// the private ones, U+F000 plus the code. For other fonts, and for signs that are not known, it returns the character unchanged.
func FontRune(font string, r rune) rune {
	code := int(r)
	if r >= 0xf000 && r <= 0xf0ff {
		code -= 0xf000
	}
	switch strings.ToLower(font) {
	case "symbol":
		for from, signs := range symbolFont {
			if code >= from && code < from+len(signs) {
				return signs[code-from]
			}
		}
	case "wingdings":
		if sign, known := wingdings[code]; known {
			return sign
		}
		return 0xf000 + rune(code&0xff) // so that no letter is read where a sign is shown
	}
	return r
}

// FontText returns text as a font shows it that may be one of signs.
func FontText(font, text string) string {
	if !IsSignFont(font) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return r
		}
		return FontRune(font, r)
	}, text)
}

// IsSignFont reports whether a font has signs for letters, and they are known here.
func IsSignFont(font string) bool {
	return strings.EqualFold(font, "symbol") || strings.EqualFold(font, "wingdings")
}

// SignText is like FontText, for text in which only the private-use characters belong to the font.
func SignText(font, text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0xf020 || r > 0xf0ff {
			return r
		}
		return FontRune(font, r)
	}, text)
}
