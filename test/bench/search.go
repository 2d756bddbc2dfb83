package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"parley/internal/builtin"
	"parley/internal/chat"
	"parley/internal/eval"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
)

// passages is a corpus of short passages in a data folder, with its questions.
type passages struct {
	data    string
	stats   retrieval.Stats
	queries []eval.Query
}

const namespace = "default"

// passages indexes mtrag-fiqa as `parley eval` does, through the product's splitter, once per run.
func (b *bench) passages(ctx context.Context) (p *passages, err error) {
	if b.indexed != nil {
		return b.indexed, nil
	}
	dir, err := b.sharedPath("data", "mtrag-fiqa")
	if err != nil {
		return nil, err
	}
	d, err := eval.Load(dir, "")
	if err != nil {
		return nil, err
	}
	p = &passages{data: filepath.Join(b.work, "passages"), queries: d.Queries}
	err = p.with(ctx, func(corpus *retrieval.Corpus, stored *store.Corpus) error {
		if _, err := eval.Index(ctx, eval.Env{Corpus: corpus, Store: stored, Namespace: namespace}, d); err != nil {
			return err
		}
		p.stats, err = stored.Stats(ctx, namespace)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.indexed = p
	return p, nil
}

// with opens the corpus while f runs.
func (p *passages) with(ctx context.Context, f func(*retrieval.Corpus, *store.Corpus) error) error {
	db, err := store.Open(ctx, p.data, nil)
	if err != nil {
		return err
	}
	corpus, err := retrieval.Open(ctx, db.Corpus(), slog.New(slog.DiscardHandler))
	if err == nil {
		err = f(corpus, db.Corpus())
	}
	return errors.Join(err, db.Close())
}

const (
	searchRounds = 10
	searchLimit  = 10
)

// search measures searches with their passages read from the store: for the last turn as written,
// and rewritten from the history with weighted context terms.
func (b *bench) search(ctx context.Context) error {
	p, err := b.passages(ctx)
	if err != nil {
		return err
	}
	var asIs, rewritten, rewriting []time.Duration
	err = p.with(ctx, func(corpus *retrieval.Corpus, stored *store.Corpus) error {
		for round := range searchRounds + 1 {
			if round == 1 { // the first round is a warm-up
				asIs, rewritten, rewriting = nil, nil, nil
			}
			for _, q := range p.queries {
				took, err := timed(ctx, corpus, retrieval.Query{Text: q.Text})
				if err != nil {
					return err
				}
				asIs = append(asIs, took)
				history := historyOf(q)
				began := time.Now()
				r := builtin.Rewrite(ctx, history, q.Text)
				rewriting = append(rewriting, time.Since(began))
				if took, err = timed(ctx, corpus, retrieval.Query{Text: r.Query, Context: r.Context}); err != nil {
					return err
				}
				rewritten = append(rewritten, took)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("search, %d passages", p.stats.Documents)
	b.add(what+", last turn, p50 / p99", "p50 ≤ 1.5 ms", "%.2f / %.2f ms", ms(median(asIs)), ms(quantile(asIs, .99)))
	b.add(what+", rewritten with context, p50 / p99", "p50 ≤ 1.5 ms", "%.2f / %.2f ms", ms(median(rewritten)), ms(quantile(rewritten, .99)))
	b.add("rewriting from the history, p50 / p99", "", "%.2f / %.2f ms", ms(median(rewriting)), ms(quantile(rewriting, .99)))
	return nil
}

// timed runs a query and returns how long it took.
func timed(ctx context.Context, corpus *retrieval.Corpus, q retrieval.Query) (time.Duration, error) {
	q.Filter, q.Limit = retrieval.Filter{Namespace: namespace}, searchLimit
	began := time.Now()
	_, err := corpus.Search(ctx, q)
	return time.Since(began), err
}

func historyOf(q eval.Query) []chat.Message {
	var history []chat.Message
	for _, m := range q.Conversation {
		history = append(history, chat.TextMessage(llm.Role(m.Role), m.Content))
	}
	return history
}
