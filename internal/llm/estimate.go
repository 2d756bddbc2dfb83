package llm

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// TokenEstimate counts tokens roughly, without a vocabulary: one token for every four bytes, and one for
// every Han, kana or Hangul character. It serves for budgets, and for usage that an upstream did not
// report, which is then marked as estimated. The zero value is ready for use.
type TokenEstimate struct {
	quarters int
}

// Add counts a piece of text. The sum does not depend on where a text is cut.
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
		switch {
		case r < utf8.RuneSelf:
			n++
		case isWide(r):
			n += 4
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// isWide reports whether r is a character of a script that needs one token for each. None of these
// characters is below U+1100 or between U+1200 and U+2E7F, where dashes and quotes are.
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

// EstimateInput returns the estimated prompt tokens of a request.
func EstimateInput(req Request) int {
	var e TokenEstimate
	for text := range req.texts() {
		e.Add(text)
	}
	return e.Tokens() + req.overhead()
}

// CountInput returns the prompt tokens of a request, using count for its texts.
func CountInput(req Request, count func(text string) int) int {
	n := req.overhead()
	for text := range req.texts() {
		n += count(text)
	}
	return n
}

// texts ranges over all texts of a prompt.
func (r *Request) texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				if !yield(p.Text) {
					return
				}
			}
			for _, c := range m.ToolCalls {
				if !yield(c.Name) || !yield(c.Arguments) {
					return
				}
			}
		}
		for _, t := range r.Tools {
			if !yield(t.Name) || !yield(t.Description) || !yield(string(t.Parameters)) {
				return
			}
		}
		_ = yield(string(r.Schema))
	}
}

// Approximate costs, in tokens, of other things than text.
const (
	messageTokens = 4    // what chat templates add to a message
	imageTokens   = 1000 // providers count between some hundred and 1,600, depending on the size
)

func (r *Request) overhead() int {
	n := messageTokens * len(r.Messages)
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.Image != "" {
				n += imageTokens
			}
		}
	}
	return n
}
