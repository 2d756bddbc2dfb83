package compose

import (
	"strconv"
	"strings"
)

// raised maps characters to their superscripts in Unicode.
var raised = map[rune]rune{'0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹',
	'+': '⁺', '-': '⁻', '−': '⁻', '–': '⁻', '=': '⁼', '(': '⁽', ')': '⁾', ',': ',', ' ': ' ', 'n': 'ⁿ', 'i': 'ⁱ'}

// lowered maps characters to their subscripts in Unicode. Searches treat these like the plain ones: H2O finds H₂O.
var lowered = map[rune]rune{'0': '₀', '1': '₁', '2': '₂', '3': '₃', '4': '₄', '5': '₅', '6': '₆', '7': '₇', '8': '₈', '9': '₉',
	'+': '₊', '-': '₋', '−': '₋', '–': '₋', '=': '₌', '(': '₍', ')': '₎', ',': ',', ' ': ' ',
	'a': 'ₐ', 'e': 'ₑ', 'h': 'ₕ', 'i': 'ᵢ', 'j': 'ⱼ', 'k': 'ₖ', 'l': 'ₗ', 'm': 'ₘ', 'n': 'ₙ', 'o': 'ₒ', 'p': 'ₚ', 'r': 'ᵣ', 's': 'ₛ', 't': 'ₜ', 'u': 'ᵤ', 'v': 'ᵥ', 'x': 'ₓ'}

// Script says whether a text is above or below the line.
type Script int8

// The places of a Script.
const (
	OnLine Script = iota
	Raised
	Lowered
)

// Shift returns the Script of a text that is above the line by an amount, or below it if the amount is negative.
func Shift(up int) Script {
	switch {
	case up > 0:
		return Raised
	case up < 0:
		return Lowered
	}
	return OnLine
}

// Write returns a text as superscript or subscript.
func (s Script) Write(text string) string {
	switch s {
	case Raised:
		return Superscript(text)
	case Lowered:
		return Subscript(text)
	}
	return text
}

// Subscript writes lowered text: H₂O, x₁, xᵢ. Words ("max") stay as they are. Other text that Unicode cannot lower gets an underscore.
func Subscript(text string) string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > maxRaised {
		return text
	}
	if !strings.ContainsAny(trimmed, "0123456789") {
		if r := []rune(trimmed); len(r) == 1 && lowered[r[0]] != 0 && r[0] != ',' {
			return strings.Replace(text, trimmed, string(lowered[r[0]]), 1)
		}
		return text
	}
	return shifted(text, trimmed, lowered, "_")
}

// shifted replaces the characters of a part of a text according to a table. If the table lacks one, it puts mark before the part instead.
func shifted(text, part string, table map[rune]rune, mark string) string {
	var b strings.Builder
	for _, r := range part {
		to, ok := table[r]
		if !ok {
			return strings.Replace(text, part, mark+part, 1)
		}
		b.WriteRune(to)
	}
	return strings.Replace(text, part, b.String(), 1)
}

// maxRaised is the maximum length of a raised text. Pages that raise whole sentences mean something else.
const maxRaised = 20

// Superscript writes raised text so that it cannot be taken for a part of the number before it: 10⁶ is not
// 106, and a footnote's mark is not a digit. Raised letters ("1st") and marks in brackets ("[1]") stay as they are.
// A number that Unicode cannot raise gets a caret.
func Superscript(text string) string {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > maxRaised || !strings.ContainsAny(trimmed, "0123456789") {
		if r := []rune(trimmed); len(r) == 1 && strings.ContainsRune("ni+-−", r[0]) {
			return strings.Replace(text, trimmed, string(raised[r[0]]), 1)
		}
		return text
	}
	if strings.HasPrefix(trimmed, "[") {
		return text
	}
	return shifted(text, trimmed, raised, "^")
}

// ListNumber writes the number of an item in a format of Office: as letters ("aa" comes after "z"), as Roman numerals,
// or otherwise in figures.
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
