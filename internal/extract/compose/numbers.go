package compose

import (
	"strconv"
	"strings"
)

// raised has the characters that Unicode has as superscripts.
var raised = map[rune]rune{'0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹',
	'+': '⁺', '-': '⁻', '−': '⁻', '–': '⁻', '=': '⁼', '(': '⁽', ')': '⁾', ',': ',', ' ': ' ', 'n': 'ⁿ', 'i': 'ⁱ'}

// maxRaised is the maximum length of a raised text. Pages that raise whole sentences mean something else.
const maxRaised = 20

// Superscript writes raised text so that it cannot be taken for a part of the number before it: 10⁶ is not
// 106, and a footnote's mark is not a digit. Raised letters ("1st"), marks that stand in brackets ("[1]") and
// what Unicode cannot raise stay as they are, an exponent with a caret.
func Superscript(text string) string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > maxRaised || !strings.ContainsAny(trimmed, "0123456789") {
		if len(trimmed) == 1 && strings.ContainsAny(trimmed, "ni+-−") {
			return string(raised[[]rune(trimmed)[0]])
		}
		return text
	}
	if strings.HasPrefix(trimmed, "[") {
		return text
	}
	var b strings.Builder
	for _, r := range trimmed {
		up, ok := raised[r]
		if !ok {
			return "^" + trimmed
		}
		b.WriteRune(up)
	}
	return b.String()
}

// ListNumber writes the number of an item in a format of Office: decimal and others in figures, letters
// ("aa" comes after "z"), Roman numerals.
func ListNumber(n int, format string) string {
	switch format {
	case "lowerLetter", "a":
		return letters(n)
	case "upperLetter", "A":
		return strings.ToUpper(letters(n))
	case "lowerRoman", "i":
		return roman(n)
	case "upperRoman", "I":
		return strings.ToUpper(roman(n))
	case "decimalZero":
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
	}
	return strconv.Itoa(n)
}

// letters counts a … z, aa … zz, aaa ….
func letters(n int) string {
	const alphabet, longest = 26, 5
	if n < 1 || n > alphabet*longest {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('a'+(n-1)%alphabet)), (n-1)/alphabet+1)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, step := range []struct {
		value int
		sign  string
	}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
		for ; n >= step.value; n -= step.value {
			b.WriteString(step.sign)
		}
	}
	return b.String()
}
