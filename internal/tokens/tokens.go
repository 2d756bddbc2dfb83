// Package tokens counts the tokens of texts with a real vocabulary, where the count is stored or
// billed. Budgets, which are asked for all the time, do with llm.EstimateTokens.
package tokens

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// codec is built once, when the first text is counted: it costs some 20 ms and 7 MB.
var codec = sync.OnceValues(func() (tokenizer.Codec, error) {
	return tokenizer.Get(tokenizer.O200kBase)
})

// Count counts the tokens of text in o200k_base, the encoding of OpenAI's current models and a fair
// estimate for others, at some 50 MB/s of prose. A text that the encoding cannot take counts a token
// per byte, which is the most that it can be. It may be called concurrently.
//
// The encoding cuts a text by a regular expression into pieces that it encodes one by one, which is
// slow. Count cuts it into words, at some of the places at which the expression cuts in any case, and
// remembers how many tokens a word has: a text repeats its words.
func Count(text string) int {
	n := 0
	for text != "" {
		end := wordEnd(text)
		n += countWord(text[:end])
		text = text[end:]
	}
	return n
}

// wordEnd returns where the first piece of text ends for certain: before white space that follows
// what is none. Only punctuation takes line breaks behind it into its piece. All that the expression
// looks at beyond a piece is whether white space comes after white space.
func wordEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t':
			if before := text[i-1]; before > ' ' && before < utf8.RuneSelf || wordBefore(text[:i]) {
				return i
			}
		case '\n', '\r':
			if wordBefore(text[:i]) {
				return i
			}
		}
	}
	return len(text)
}

// wordBefore reports whether text ends in a letter or a digit.
func wordBefore(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// counts remembers the tokens of recent words. Its size is bounded by dropping everything when it is
// full.
var counts = struct {
	sync.RWMutex
	m map[string]int
}{m: make(map[string]int)}

const (
	maxCounts = 1 << 15
	maxWord   = 32 // bytes of a word that is remembered
)

func countWord(word string) int {
	if len(word) > maxWord {
		return encode(word)
	}
	counts.RLock()
	n, ok := counts.m[word]
	counts.RUnlock()
	if ok {
		return n
	}
	n = encode(word)
	counts.Lock()
	defer counts.Unlock()
	if len(counts.m) >= maxCounts {
		clear(counts.m)
	}
	counts.m[strings.Clone(word)] = n
	return n
}

// encode counts the tokens of a text with the encoding itself.
func encode(text string) int {
	c, err := codec()
	if err != nil {
		return len(text)
	}
	n, err := c.Count(text)
	if err != nil {
		return len(text)
	}
	return n
}
