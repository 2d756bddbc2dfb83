package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/internal/chat/prompt"
	"parley/internal/llm"
	"parley/internal/rerank"
	"parley/internal/retrieval"
)

// The free parameters of reranking; docs/decisions.md says how they were set.
const (
	rerankFactor = 4   // a reranker sees up to this many times the number of passages that the request wants
	clearWinner  = 0.6 // a winner is clear if no other passage has more than this share of its score
)

// ReaderFunc returns the built-in reranker that reads passages, or nil if it does not support the query's
// language.
type ReaderFunc func(query string) rerank.Reranker

// builtinReader is the key of the built-in reranker that reads passages. Any other key of the built-in
// provider means the reranker that compares words.
const builtinReader = builtinProvider + "reader"

// candidates returns how many passages to retrieve.
func (t *turn) candidates() int {
	o := &t.req.Options
	if !o.Rerank {
		return o.Top
	}
	return max(min(o.Top*rerankFactor, MaxTop), o.Top)
}

// runRerank reorders the passages and keeps as many as the request wants. If no reranker works, it keeps
// the order of the search; that does not fail the turn.
func (t *turn) runRerank(ctx context.Context, out *output) (StageFinished, error) {
	done, ranking := t.rank(ctx)
	if err := ctx.Err(); err != nil {
		return done, err
	}
	t.found.Passages = t.choose(ranking)
	return done, out.emit(t.retrieved())
}

// rank returns the ranking of the first reranker that works, or nil and a note with the reason.
func (t *turn) rank(ctx context.Context) (done StageFinished, ranking *rerank.Ranking) {
	keys := t.rerankKeys()
	if why := t.needNoReranking(keys[0]); why != "" {
		return StageFinished{Note: "skipped: " + why}, nil
	}
	for i, key := range keys {
		r, err := t.rankBy(ctx, key)
		done.Usage = done.Usage.Add(r.Usage)
		if err == nil {
			done.Model = r.Model
			if i > 0 {
				done.Note = fmt.Sprintf("reranked by %s, because %s failed", key, keys[0])
			}
			return done, &r
		}
		if ctx.Err() != nil {
			return done, nil
		}
		t.cfg.Logger.Warn("reranking failed", "turn_id", t.req.TurnID, "model", key, "error", err)
	}
	done.Note = fmt.Sprintf("kept the order of the search, because %s failed", keys[0])
	return done, nil
}

// rerankKeys returns the model of the stage, followed by its fallbacks.
func (t *turn) rerankKeys() []string {
	key := cmp.Or(t.req.Options.Models.Rerank, t.cfg.Defaults.Models.Rerank, builtinReader)
	keys := []string{key}
	for _, next := range t.cfg.RerankFallback {
		if next != key {
			keys = append(keys, next)
		}
	}
	return keys
}

// needNoReranking returns why reranking would gain nothing, or "" if it may. A request with a threshold
// needs the scores.
func (t *turn) needNoReranking(key string) string {
	passages := t.found.Passages
	threshold := t.req.Options.MinRerankScore > 0
	switch {
	case len(passages) == 0:
		return "nothing was found"
	case t.cfg.Grounded(key) && t.found.HasVector && t.reader(key) == nil:
		return "the built-in reranker compares words, but the search used vectors"
	case len(passages) == 1 && !threshold:
		return "only one passage was found"
	case threshold:
		return ""
	}
	limit := clearWinner * passages[0].Score
	if !slices.ContainsFunc(passages[1:], func(p retrieval.Passage) bool { return p.Score > limit }) {
		return "the first passage is far ahead"
	}
	return ""
}

func (t *turn) rankBy(ctx context.Context, key string) (rerank.Ranking, error) {
	r, err := t.reranker(key)
	if err != nil {
		return rerank.Ranking{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.RerankTimeout)
	defer cancel()
	ranking, err := r.Rerank(ctx, rerank.Request{Query: t.query.Query, Terms: t.found.Terms, Passages: t.found.Passages})
	if err == nil && len(ranking.Order) != len(t.found.Passages) {
		err = errors.New("the ranking is not complete")
	}
	return ranking, err
}

// reranker returns the reranker that a key names: a built-in one, a model made for reranking, or an
// answering model as a judge.
func (t *turn) reranker(key string) (rerank.Reranker, error) {
	if r := t.reader(key); r != nil {
		return r, nil
	}
	if t.cfg.Grounded(key) {
		return rerank.Lexical{}, nil
	}
	if t.cfg.Rerankers != nil {
		api, name, err := t.cfg.Rerankers.ResolveReranker(key)
		if err == nil {
			return rerank.API{Reranker: api, Model: name}, nil
		}
		if _, unknown := errors.AsType[*llm.UnknownModelError](err); !unknown {
			return nil, err
		}
	}
	m, name, err := t.cfg.Models.ResolveFor(string(StageRerank), key)
	if err != nil {
		return nil, err
	}
	return rerank.Judge{
		Model: m, Name: name, Quote: prompt.Neutral,
		Instructions: t.cfg.Prompts.Text(t.req.Options.PromptDomain, prompt.Rerank),
	}, nil
}

// reader returns the built-in reranker that reads passages, or nil if the key does not name it or it does not
// support the query's language.
func (t *turn) reader(key string) rerank.Reranker {
	if key != builtinReader || t.cfg.Reader == nil {
		return nil
	}
	return t.cfg.Reader(t.query.Query)
}

// choose returns the best passages in the order of the ranking, or in the order of the search if it is nil.
func (t *turn) choose(ranking *rerank.Ranking) []retrieval.Passage {
	o := &t.req.Options
	if ranking == nil {
		return spreadPages(t.found.Passages, o.Top)
	}
	passages := make([]retrieval.Passage, 0, len(ranking.Order))
	for _, i := range ranking.Order {
		p, score := t.found.Passages[i], ranking.Scores[i]
		if score >= o.MinRerankScore {
			p.Score, p.Rank, p.Scores.Rerank = score, score, &score
			passages = append(passages, p)
		}
	}
	return spreadPages(passages, o.Top)
}

// spreadPages returns top passages in their order: the best passage of each page, and further passages of
// the same pages only if there are not enough pages. Where a format has no pages, each passage counts as a
// page. A search does the same, since the second passage of a page adds less than the best passage of
// another page.
func spreadPages(passages []retrieval.Passage, top int) []retrieval.Passage {
	type page struct {
		revision int64
		number   int
	}
	seen := map[page]bool{}
	kept := make([]bool, len(passages))
	left := top
	for i := range passages {
		p := page{passages[i].Document.Revision, passages[i].Chunk.PageAt(0)}
		if left > 0 && (p.number == 0 || !seen[p]) {
			seen[p], kept[i] = true, true
			left--
		}
	}
	best := make([]retrieval.Passage, 0, min(top, len(passages)))
	for i := range passages {
		if !kept[i] && left > 0 {
			kept[i] = true
			left--
		}
		if kept[i] {
			best = append(best, passages[i])
		}
	}
	return best
}
