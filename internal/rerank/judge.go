package rerank

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// Judge ranks with a model that answers: it is shown all passages, numbered, and grades each.
type Judge struct {
	Model        llm.Model
	Name         string // by which its provider knows the model
	Instructions string // for the model; the reply is one object {"ranking":[{"id":1,"grade":3}]}
	// Quote makes a text stand on one line, without anything that could pass for a part of a prompt.
	Quote func(string) string
}

var _ Reranker = Judge{}

// The limits of a judge's reply.
const (
	replyTokens    = 1000 // a model that reasons uses most of them for reasoning
	tokensPerGrade = 20
	maxReplyBytes  = 64 << 10
)

var judgeSchema = json.RawMessage(`{"type":"object","properties":{"ranking":{"type":"array","items":{"type":"object",` +
	`"properties":{"id":{"type":"integer"},"grade":{"type":"integer"}},"required":["id","grade"],"additionalProperties":false}}},` +
	`"required":["ranking"],"additionalProperties":false}`)

// Rerank implements Reranker.
func (j Judge) Rerank(ctx context.Context, req Request) (Ranking, error) {
	n := len(req.Passages)
	reply, err := llm.Complete(ctx, j.Model, llm.Request{
		Model: j.Name,
		Messages: []llm.Message{
			llm.Text(llm.System, j.Instructions),
			llm.Text(llm.User, j.list(req)),
		},
		MaxOutputTokens: replyTokens + n*tokensPerGrade,
		Effort:          "low",
		Schema:          judgeSchema,
	}, maxReplyBytes)
	r := Ranking{Model: cmp.Or(reply.Model, j.Name), Usage: reply.Usage}
	if err == nil {
		r.Order, r.Scores, err = parseGrades(reply.Text, n)
	}
	if err != nil {
		return Ranking{Model: r.Model, Usage: r.Usage}, fmt.Errorf("judge %d passages: %w", n, err)
	}
	return r, nil
}

// numbered matches the marks with which a passage could pretend to be another one.
var numbered = lazyregexp.New(`\[(\d+)\]`)

// list returns the question and the passages, a line each.
func (j Judge) list(req Request) string {
	quote := func(s string) string { return numbered.ReplaceAllString(j.Quote(s), "($1)") }
	var b strings.Builder
	b.WriteString("Question:\n> " + quote(clip(req.Query, maxPassageRunes)) + "\n\nPassages:")
	for i := range req.Passages {
		b.WriteString("\n[" + strconv.Itoa(i+1) + "] " + quote(textOf(&req.Passages[i])))
	}
	return b.String()
}
