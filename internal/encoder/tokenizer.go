package encoder

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tokenizer cuts texts into the tokens that a network reads.
type tokenizer interface {
	// tokens returns the tokens of a text between the marks of its beginning and end, at most limit.
	// It reads no further than it needs to.
	tokens(text string, limit int) []int32
}

// newTokenizer returns the tokenizer that goes with weights.
func newTokenizer(w *weights, r *reader) (tokenizer, error) {
	switch w.Tokenizer {
	case "":
		return newWordPiece(w.vocabulary), nil
	case "unigram":
		scores, table := r.floats("vocabulary.scores", len(w.vocabulary)), r.bytes("characters", -1)
		if r.err != nil {
			return nil, r.err
		}
		return newUnigram(w.vocabulary, scores, table)
	}
	return nil, fmt.Errorf("there is no tokenizer %q", w.Tokenizer)
}

// maxWordRunes is the length above which WordPiece treats a word as unknown, as in BERT.
const maxWordRunes = 100

// wordPiece is BERT's tokenizer for text without case: it cleans the text, removes accents, splits it at
// white space and punctuation, and cuts words into the longest pieces that the vocabulary has.
// Names of special tokens in a text, such as "[SEP]", are text like any other.
type wordPiece struct {
	first         map[string]int32 // pieces that begin a word
	more          map[string]int32 // pieces that continue one, without their "##"
	longest       int              // bytes of the longest piece
	unknown       int32
	begin, finish int32
}

func newWordPiece(vocabulary []string) *wordPiece {
	t := &wordPiece{first: make(map[string]int32, len(vocabulary)), more: make(map[string]int32)}
	for i, piece := range vocabulary {
		if rest, ok := strings.CutPrefix(piece, "##"); ok && rest != "" {
			t.more[rest] = int32(i)
		} else {
			t.first[piece] = int32(i)
		}
		t.longest = max(t.longest, len(piece))
	}
	t.unknown, t.begin, t.finish = t.first["[UNK]"], t.first["[CLS]"], t.first["[SEP]"]
	return t
}

func (t *wordPiece) tokens(text string, limit int) []int32 {
	all := []int32{t.begin}
	var word []byte
	runes := 0
	flush := func() {
		if len(word) > 0 {
			all = t.pieces(all, word, runes)
		}
		word, runes = word[:0], 0
	}
	for text != "" && len(all) < limit {
		n := segment(text)
		for _, r := range fold(text[:n]) {
			switch {
			case unicode.IsSpace(r):
				flush()
			case alone(r):
				flush()
				word, runes = utf8.AppendRune(word, r), 1
				flush()
			case runes <= maxWordRunes:
				word, runes = utf8.AppendRune(word, r), runes+1
			}
		}
		text = text[n:]
	}
	flush()
	return append(all[:min(len(all), limit-1)], t.finish)
}

// segment returns the length of a prefix of the text that can be folded by itself: it ends before white space or, within a very
// long word, before an ASCII character.
func segment(text string) int {
	const word = 4096
	for i := 1; i < len(text); i++ {
		if c := text[i]; c == ' ' || c == '\n' || i >= word && c < utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}

// fold removes control characters and accents, and makes letters small.
func fold(text string) string {
	ascii := true
	for i := range len(text) {
		ascii = ascii && text[i] < utf8.RuneSelf
	}
	if !ascii {
		text = norm.NFD.String(strings.Map(clean, text))
	}
	return strings.Map(func(r rune) rune {
		if r = clean(r); r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// clean drops characters that are not text.
func clean(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == 0 || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

// alone reports whether a character is a word by itself.
func alone(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3400 && r <= 0x4DBF, r >= 0x20000 && r <= 0x2A6DF,
		r >= 0x2A700 && r <= 0x2B73F, r >= 0x2B740 && r <= 0x2B81F, r >= 0x2B920 && r <= 0x2CEAF,
		r >= 0xF900 && r <= 0xFAFF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return unicode.IsPunct(r)
}

// pieces appends the tokens of one word.
func (t *wordPiece) pieces(all []int32, word []byte, runes int) []int32 {
	if runes > maxWordRunes {
		return append(all, t.unknown)
	}
	start, known := len(all), t.first
	for len(word) > 0 {
		n, token := t.longestPiece(known, word)
		if n == 0 {
			return append(all[:start], t.unknown)
		}
		all, word, known = append(all, token), word[n:], t.more
	}
	return all
}

// longestPiece returns the longest piece with which a word begins; n is 0 when there is none.
func (t *wordPiece) longestPiece(known map[string]int32, word []byte) (n int, token int32) {
	for n = min(len(word), t.longest); n > 0; n-- {
		if n < len(word) && !utf8.RuneStart(word[n]) {
			continue
		}
		if token, ok := known[string(word[:n])]; ok {
			return n, token
		}
	}
	return 0, 0
}
