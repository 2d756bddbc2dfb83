package eval

import (
	"context"
	"fmt"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// RankStages measures what the stages of the product make of each query, with the models that are
// configured for them: as asked, rewritten, reranked, and both. Ten passages are looked at, and MAP
// is over those. The mode is what the searches really used.
func RankStages(ctx context.Context, env Env, d *Dataset) ([]Ranking, error) {
	var rankings []Ranking
	for _, c := range []struct {
		retriever, form string
		rewrite, rerank bool
	}{
		{"stages", "last_turn", false, false},
		{"stages", "rewrite", true, false},
		{"stages+rerank", "last_turn", false, true},
		{"stages+rerank", "rewrite", true, true},
	} {
		r := Ranking{Retriever: c.retriever, Form: c.form}
		var latencies []time.Duration
		for _, q := range d.Queries {
			req := chat.Request{Namespace: env.Namespace, Options: env.Options}
			req.Options.Top, req.Options.Rerank, req.Options.Rewrite.Off = 10, c.rerank, !c.rewrite
			req.Messages = append(history(q.Conversation), chat.TextMessage(llm.User, q.Text))
			began := time.Now()
			turn, err := env.Find(ctx, req)
			if err != nil {
				return nil, fmt.Errorf("find passages for query %s: %w", q.ID, err)
			}
			latencies = append(latencies, time.Since(began))
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
