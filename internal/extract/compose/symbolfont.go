package compose

import "strings"

// symbolFont holds the signs of the font Symbol as ranges, each by its first code.
var symbolFont = map[int][]rune{
	0x20: []rune(" !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
	0xa0: []rune("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"),
	0xf1: []rune("〉∫"),
}

// wingdings holds the signs of the font Wingdings that people write among words. Its other signs are bullets.
var wingdings = map[int]rune{0x4a: '☺', 0x4b: '😐', 0x4c: '☹', 0xdf: '←', 0xe0: '→', 0xe1: '↑', 0xe2: '↓', 0xe7: '←', 0xe8: '→', 0xf0: '→', 0xfb: '✗', 0xfc: '✓',
	0xfd: '☒', 0xfe: '☑', 0xa8: '☐', 0x6f: '☐'}

// FontRune returns the character that a code shows in a sign font. Documents write such codes as they are, or as private
// ones: U+F000 plus the code. For other fonts and unknown signs of Symbol, it returns r unchanged; for unknown signs of
// Wingdings, it returns the private code.
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
		return 0xf000 + rune(code&0xff) // so that the sign does not become a letter
	}
	return r
}

// FontText returns text as a font, which may be a sign font, shows it.
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

// IsSignFont reports whether a font shows signs instead of letters and FontRune knows them.
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
