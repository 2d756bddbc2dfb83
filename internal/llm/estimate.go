package llm

import (
	"unicode"
	"unicode/utf8"
)

// TokenEstimate counts tokens roughly, without a vocabulary: four bytes a token, and a token for
// every Han, kana or Hangul character. It is for budgets, and for usage that an upstream did not
// report, which is then marked as estimated. The zero value has seen nothing.
type TokenEstimate struct {
	quarters int
}

// Add counts a piece of text. The sum does not depend on how a text is cut into pieces.
func (e *TokenEstimate) Add(s string) {
	n := len(s)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			n = i + quarters(s[i:])
			break
		}
	}
	e.quarters += n
}

func quarters(s string) int {
	n := 0
	for _, r := range s {
		if isWide(r) {
			n += 4
		} else {
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// isWide reports whether r is a character of one of the scripts that take a token for each. None
// of theirs is below U+1100 or between U+1200 and U+2E7F, where dashes and quotes are.
func isWide(r rune) bool {
	if r < 0x1100 || r >= 0x1200 && r < 0x2E80 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// Tokens returns the estimate, rounded up.
func (e *TokenEstimate) Tokens() int { return (e.quarters + 3) / 4 }

// EstimateTokens returns the estimate for one text.
func EstimateTokens(s string) int {
	var e TokenEstimate
	e.Add(s)
	return e.Tokens()
}

// EstimateInput returns the estimated prompt tokens of a request, with four more for each
// message, which is what chat templates cost.
func EstimateInput(req Request) int {
	var e TokenEstimate
	for _, m := range req.Messages {
		e.quarters += 16
		for _, p := range m.Parts {
			e.Add(p.Text)
		}
	}
	return e.Tokens()
}
