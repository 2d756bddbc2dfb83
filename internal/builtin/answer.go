package builtin

import (
	"context"
	"iter"
	"strings"

	"parley/internal/llm"
)

// ModelName is the name under which the answerer reports its answers.
const ModelName = "extractive"

// Refusal is what the answerer says when the passages do not hold an answer.
const Refusal = "I don't know. The documents that I can search do not answer this question."

// Limits of an answer: short enough to be read at a glance.
const (
	maxSentences = 4
	maxAnswer    = 900 // bytes, citations not counted
	maxPages     = 3   // citations that differ
)

// Answerer is the model builtin:extractive. It answers with sentences of the evidence, each
// followed by the citation of the page on which it begins, or says that it does not know. It
// reads Request.Evidence only; without evidence it does not know.
type Answerer struct{}

var _ llm.Model = Answerer{}

// Stream implements llm.Model: a chunk for each sentence, then the finish reason and the usage.
func (Answerer) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		quotes := choose(req.Evidence)
		parts := make([]string, 0, len(quotes))
		for _, q := range quotes {
			parts = append(parts, q.String())
		}
		if len(parts) == 0 {
			parts = append(parts, Refusal)
		}
		var input, output llm.TokenEstimate
		for i, p := range parts {
			if err := ctx.Err(); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if i > 0 {
				p = " " + p
			}
			output.Add(p)
			if !yield(llm.Chunk{Text: p, Model: ModelName}, nil) {
				return
			}
		}
		for _, m := range req.Messages {
			input.Add(m.Text())
		}
		yield(llm.Chunk{Model: ModelName, FinishReason: "stop",
			Usage: &llm.Usage{Input: input.Tokens(), Output: output.Tokens(), Estimated: true}}, nil)
	}
}

// quote is a span of a passage with its citation.
type quote struct {
	text     string
	citation string
}

// String returns the quote as it stands in an answer.
func (q quote) String() string {
	s := onOneLine(q.text)
	if q.citation == "" {
		return s
	}
	return s + " [" + q.citation + "]"
}

// onOneLine returns a text with a space for each line break, as in the sources that protocols show.
func onOneLine(s string) string { return lineBreaks.Replace(s) }

var lineBreaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")
