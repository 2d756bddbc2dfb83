package compose

import "testing"

func TestSuperscript_IsNoDigitOfTheNumberBefore(t *testing.T) {
	for text, want := range map[string]string{
		"6": "⁶", "-6": "⁻⁶", "−12": "⁻¹²", "1,2": "¹,²", "2n": "²ⁿ", "st": "st", "TM": "TM", "[1]": "[1]", "*": "*", "2x": "^2x", "n": "ⁿ", "": "", "†": "†", "6 ": "⁶ ", " 1": " ¹",
		"this is the 1st sentence of many": "this is the 1st sentence of many",
	} {
		if got := Superscript(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSubscript_SaysWhatStandsBelowTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"2": "₂", "12": "₁₂", "1,2": "₁,₂", "i": "ᵢ", "n+1": "ₙ₊₁", "n": "ₙ", "max": "max", "b": "b", "CE": "CE", "1,end": "_1,end", "1,max": "₁,ₘₐₓ", "2 ": "₂ ", "": "", ",": ",", "-": "₋",
		"printed by the 2nd press of the town": "printed by the 2nd press of the town",
	} {
		if got := Subscript(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestListNumber_CountsAsOfficeDoes(t *testing.T) {
	for _, c := range []struct {
		n            int
		format, want string
	}{
		{4, "lowerRoman", "iv"}, {1999, "upperRoman", "MCMXCIX"}, {0, "lowerRoman", "0"}, {3, "lowerLetter", "c"}, {27, "upperLetter", "AA"},
		{1_000_000, "a", "1000000"}, {7, "decimalZero", "07"}, {12, "decimal", "12"}, {5, "chineseCounting", "5"},
	} {
		if got := ListNumber(c.n, c.format); got != c.want {
			t.Errorf("%d as %s: %q, want %q", c.n, c.format, got, c.want)
		}
	}
}
