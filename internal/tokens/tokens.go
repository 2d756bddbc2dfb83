// Package tokens counts tokens with a real vocabulary, for counts that are stored or billed, and decodes the tokens of
// clients that send them instead of text.
// Budgets are computed too often for that and use llm.EstimateTokens.
package tokens

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// wordCodec is created when the first text is counted; that takes about 20 ms and 7 MB.
// tokenizer.Get would link the vocabularies of all encodings, 2 MiB more, into the program.
var wordCodec = sync.OnceValue(codec.NewO200kBase)

// Count counts the tokens of text in o200k_base, the encoding of OpenAI's current models and a fair
// estimate for others, at about 50 MB/s of prose. If the encoding fails, Count returns the number of
// bytes, an upper bound. It is safe for concurrent use.
//
// The encoding splits text by a regular expression, which is slow. Count first splits it into
// words, at places where the expression always splits, and caches the count of each word, because
// words repeat.
func Count(text string) int {
	n := 0
	for text != "" {
		end := wordEnd(text)
		n += countWord(text[:end])
		text = text[end:]
	}
	return n
}

// wordEnd returns a position at which the expression always ends a piece: before white space that
// follows another character. Only punctuation takes following line breaks into its piece. Beyond a
// piece, the expression looks only at whether white space follows white space.
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

// counts caches the token counts of recent words. It is emptied when it is full.
var counts = struct {
	sync.RWMutex
	m map[string]int
}{m: make(map[string]int)}

const (
	maxCounts = 1 << 15
	maxWord   = 32 // bytes of the longest cached word
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

// encode counts the tokens of a text without the cache.
func encode(text string) int {
	n, err := wordCodec().Count(text)
	if err != nil {
		return len(text)
	}
	return n
}

// embeddingCodec is the encoding of OpenAI's embedding models, and the one that clients assume for models they don't know.
// Creating it takes about 20 ms and 10 MB.
var embeddingCodec = sync.OnceValue(func() *codec.Codec {
	c := codec.NewCl100kBase()
	c.SetErrorMode(codec.ErrorModeReplace)
	return c
})

// Decode returns the text of tokens in cl100k_base. Bytes that are not valid UTF-8 become U+FFFD: clients cut long texts between
// tokens, and so within characters. It returns false if a token is not in the vocabulary, which has no special tokens.
func Decode(ids []uint) (string, bool) {
	text, err := embeddingCodec().Decode(ids)
	return text, err == nil
}
