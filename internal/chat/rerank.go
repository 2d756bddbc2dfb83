package chat

import (
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
	rerankFactor = 4   // how many times more passages a reranker sees than are wanted
	clearWinner  = 0.6 // no other passage has more than this share of the first one's score
)

// ReaderFunc returns the built-in reranker that reads passages, nil for a query in a language that it does
// not know.
type ReaderFunc func(query string) rerank.Reranker

// builtinReader is the key of that reranker; any other key of the built-in provider is the one that knows words.
const builtinReader = builtinProvider + "reader"

// candidates is how many passages are looked for.
func (t *turn) candidates() int {
	o := &t.req.Options
	if !o.Rerank {
		return o.Top
	}
	return max(min(o.Top*rerankFactor, maxTop), o.Top)
}

// runRerank puts the passages that were found in a better order and keeps as many as were asked
// for. When no reranker can, the order of the search stands, which does not fail the turn.
func (t *turn) runRerank(ctx context.Context, out *output) (StageFinished, error) {
	done, ranking := t.rank(ctx)
	if err := ctx.Err(); err != nil {
		return done, err
	}
	t.found.Passages = t.choose(ranking)
	return done, out.emit(t.retrieved())
}

// rank returns what the first reranker says that can, and nil with the reason when none does.
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
	done.Note = fmt.Sprintf("in the order of the search, because %s failed", keys[0])
	return done, nil
}

// rerankKeys returns the model of the stage and those that stand in for it.
func (t *turn) rerankKeys() []string {
	key := t.req.Options.Models.Rerank
	if key == "" {
		key = t.cfg.Defaults.Models.Rerank
	}
	if key == "" {
		key = builtinReader
	}
	keys := []string{key}
	for _, next := range t.cfg.RerankFallback {
		if next != key {
			keys = append(keys, next)
		}
	}
	return keys
}

// needNoReranking says why nothing is gained by it, "" when something may be. A caller who sets a
// threshold wants the scores.
func (t *turn) needNoReranking(key string) string {
	passages := t.found.Passages
	threshold := t.req.Options.MinRerankScore > 0
	switch {
	case len(passages) == 0:
		return "nothing was found"
	case t.cfg.Grounded(key) && t.found.HasVector && t.reader(key) == nil:
		return "the built-in reranker knows words, not the vectors that the search used"
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

// reranker returns what a key names: the built-in one, a model that was made for reranking, or a
// model that answers, as a judge.
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

// reader returns the built-in reranker that reads passages if a key names it and it can.
func (t *turn) reader(key string) rerank.Reranker {
	if key != builtinReader || t.cfg.Reader == nil {
		return nil
	}
	return t.cfg.Reader(t.query.Query)
}

// choose returns the best passages in the order of a ranking, or of the search if it is nil.
func (t *turn) choose(ranking *rerank.Ranking) []retrieval.Passage {
	o := &t.req.Options
	if ranking == nil {
		return spreadPages(t.found.Passages, o.Top)
	}
	passages := make([]retrieval.Passage, 0, len(ranking.Order))
	for _, i := range ranking.Order {
		p, score := t.found.Passages[i], ranking.Scores[i]
		if score >= o.MinRerankScore {
			p.Score, p.Scores.Rerank = score, &score
			passages = append(passages, p)
		}
	}
	return spreadPages(passages, o.Top)
}

// spreadPages returns the best passages of distinct pages, filled up with further ones of the same
// pages, all in their order: a search does that too, since the second passage of a page says less
// than the best one of another.
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
