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
	for i := 0; i < len(s); i++ {
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
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n += 4
		} else {
			n += utf8.RuneLen(r)
		}
	}
	return n
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
