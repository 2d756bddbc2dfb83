package eval

import (
	"context"
	"fmt"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// RankStages measures the effect of the product's stages on each query, with the models that are configured for them: as asked,
// rewritten, reranked, and both. It looks at ten passages, so MAP is over those. The mode is the one that the searches really
// used.
func RankStages(ctx context.Context, env Env, d *Dataset) ([]Ranking, error) {
	var rankings []Ranking
	for _, c := range []struct {
		retriever, form string
		way             Way
	}{
		{"stages", "last_turn", Way{}},
		{"stages", "rewrite", Way{Rewrite: true}},
		{"stages+rerank", "last_turn", Way{Rerank: true}},
		{"stages+rerank", "rewrite", Way{Rewrite: true, Rerank: true}},
	} {
		c.way.Mode, c.way.Top = env.Options.Mode, 10
		r := Ranking{Retriever: c.retriever, Form: c.form}
		var latencies []time.Duration
		for _, q := range d.Queries {
			req := chat.Request{Namespace: env.Namespace, Options: env.Options}
			req.Messages = append(history(q.Conversation), chat.TextMessage(llm.User, q.Text))
			turn, took, err := c.way.Try(ctx, env.Find, req)
			if err != nil {
				return nil, fmt.Errorf("find passages for query %s: %w", q.ID, err)
			}
			latencies = append(latencies, took)
			r.Mode = string(turn.Retrieved.Mode)
			r.add(namesOf(turn.Retrieved.Passages), q.Relevant)
		}
		if r.Queries > 0 {
			r.finish(latencies)
			rankings = append(rankings, r)
		}
	}
	return rankings, nil
}

// namesOf returns the documents of passages in the order of their best one.
func namesOf(passages []retrieval.Passage) []string {
	seen := make(map[string]bool)
	var names []string
	for _, p := range passages {
		if !seen[p.Document.Name] {
			seen[p.Document.Name] = true
			names = append(names, p.Document.Name)
		}
	}
	return names
}
