package chat_test

import (
	"context"
	"iter"

	"parley/internal/llm"
)

// repeat is a model that says the same word forever.
type repeat struct{}

func (repeat) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for yield(llm.Chunk{Text: "token "}, nil) {
		}
	}
}
