package encoder

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Scorer is a network that reads a question together with a passage. It may be used by several
// goroutines at once.
type Scorer struct {
	m      *Model
	pooled linear    // of the first token's last state
	weight []float32 // of the pooled state
	bias   float32
}

// OpenScorer returns the scorer in a file of weights, which it keeps and which must not change.
func OpenScorer(file []byte) (*Scorer, error) {
	w, r, err := open(file, nil)
	if err != nil {
		return nil, err
	}
	return newScorer(w, r, newWordPiece(w.vocabulary))
}

// Scorer returns the scorer in a file of weights that shares m's vocabulary. It keeps the file, which must not change.
func (m *Model) Scorer(file []byte) (*Scorer, error) {
	w, r, err := open(file, m.weights)
	if err != nil {
		return nil, err
	}
	return newScorer(w, r, m.tokenizer)
}

func newScorer(w *weights, r *reader, t tokenizer) (*Scorer, error) {
	s := &Scorer{m: newModel(w, t), pooled: r.linear("pooled", w.Hidden, w.Hidden), weight: r.floats("score.weights", w.Hidden), bias: r.floats("score.bias", 1)[0]}
	r.bytes("kind", 2*w.Hidden)
	return s, r.err
}

// Tokens returns the tokens of a question and a passage as the model reads them, and where those of
// the passage begin. A question may take half the room; the passage is cut off where the room ends.
func (s *Scorer) Tokens(question, passage string) (tokens []int32, second int) {
	tokens = s.m.tokenizer.tokens(question, s.m.Limit()/2)
	second = len(tokens)
	return append(tokens, s.m.tokenizer.tokens(passage, s.m.Limit()-second+1)[1:]...), second
}

// Score returns how well a passage answers a question: about 10 if it does, -10 if it has nothing to do
// with it, and 0 where the chances are even. The only possible error is ctx.Err().
func (s *Scorer) Score(ctx context.Context, question, passage string) (float64, error) {
	p := s.m.passes.Get().(*pass)
	defer s.m.passes.Put(p)
	tokens, second := s.Tokens(question, passage)
	if err := p.run(ctx, tokens, second, 1); err != nil {
		return 0, err
	}
	p.multiply(&s.pooled, p.x, p.wide)
	sum := float64(s.bias)
	for i, v := range p.wide[:len(s.weight)] {
		sum += math.Tanh(float64(v)) * float64(s.weight[i])
	}
	return sum, nil
}

// Scores returns the score of each passage. It uses all processors.
func (s *Scorer) Scores(ctx context.Context, question string, passages []string) ([]float64, error) {
	scores := make([]float64, len(passages))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(len(passages), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(passages); i = int(next.Add(1)) - 1 {
				var err error
				if scores[i], err = s.Score(ctx, question, passages[i]); err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return scores, ctx.Err()
}
