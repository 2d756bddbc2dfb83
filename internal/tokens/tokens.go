// Package tokens counts the tokens of texts with a real vocabulary, where the count is stored or
// billed. Budgets, which are asked for all the time, do with llm.EstimateTokens.
package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// codec is built once, when the first text is counted: it costs some 20 ms and 7 MB.
var codec = sync.OnceValues(func() (tokenizer.Codec, error) {
	return tokenizer.Get(tokenizer.O200kBase)
})

// Count counts the tokens of text in o200k_base, the encoding of OpenAI's current models and a fair
// estimate for others, at about 3 MB/s. A text that the encoding cannot take counts a token per
// byte, which is the most that it can be. It may be called concurrently.
func Count(text string) int {
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
