package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// SearchFunc finds passages, as retrieval.Corpus does.
type SearchFunc func(ctx context.Context, q retrieval.Query) (retrieval.Result, error)

// foundDocuments is the number of passages that a search returns.
const foundDocuments = 5

// SearchDocuments returns a tool that searches the corpus with the rights and the filter of the turn. The
// answer may cite the passages that it finds.
func SearchDocuments(search SearchFunc) Tool {
	return Tool{
		Tool: llm.Tool{
			Name:        "search_documents",
			Description: "Searches the documents again with another query, for what the sources that were given do not say. Returns further sources, which may be cited like the others.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"a question or a few keywords"}},"required":["query"],"additionalProperties":false}`),
		},
		Run: func(ctx context.Context, call Call) (Result, error) {
			args, err := arguments[struct {
				Query string `json:"query"`
			}](call)
			if err != nil {
				return Result{}, err
			}
			query := strings.TrimSpace(args.Query)
			if query == "" || len(query) > 2000 {
				return Result{}, failf("The query is empty or longer than 2000 bytes.")
			}
			found, err := search(ctx, retrieval.Query{Filter: call.Filter, Text: query, Mode: retrieval.Hybrid, Limit: foundDocuments})
			if err != nil {
				return Result{}, fmt.Errorf("search passages: %w", err)
			}
			if len(found.Passages) == 0 {
				return Result{Text: "Nothing was found."}, nil
			}
			return Result{Passages: found.Passages}, nil
		},
	}
}
