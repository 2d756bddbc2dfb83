package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
)

// piece is a scripted embedder and reranker.
type piece func(ctx context.Context) (llm.Usage, error)

func (p piece) Embed(ctx context.Context, _ llm.EmbedRequest) (llm.Embeddings, error) {
	u, err := p(ctx)
	return llm.Embeddings{Vectors: [][]float32{{1}}, Usage: u}, err
}

func (p piece) Rerank(ctx context.Context, _ llm.RerankRequest) (llm.Ranking, error) {
	u, err := p(ctx)
	return llm.Ranking{Scores: []float64{1}, Usage: u}, err
}

// metered are the two kinds of calls without a stream, of 12 estimated tokens each.
var metered = map[string]struct {
	stage chat.Stage // outside of a turn
	call  func(ctx context.Context, l *ledger.Ledger, provider string, p piece) (llm.Usage, error)
}{
	"embedder": {chat.StageEmbed, func(ctx context.Context, l *ledger.Ledger, provider string, p piece) (llm.Usage, error) {
		out, err := llm.Guards{Meter: l.Of(provider)}.Embedder(p).Embed(ctx,
			llm.EmbedRequest{Model: "large", Texts: []string{"twenty-four bytes, all !", "and twenty-four more ..."}})
		return out.Usage, err
	}},
	"reranker": {"", func(ctx context.Context, l *ledger.Ledger, provider string, p piece) (llm.Usage, error) {
		out, err := llm.Guards{Meter: l.Of(provider)}.Reranker(p).Rerank(ctx,
			llm.RerankRequest{Model: "large", Query: "sixteen bytes ..", Documents: []string{"twelve bytes", "four"}})
		return out.Usage, err
	}},
}

func TestMeter_SettlesACallInOnePieceAsItEnded(t *testing.T) {
	boom := errors.New("boom")
	estimate := llm.Usage{Input: 12, Estimated: true}
	for name, c := range map[string]struct {
		usage  llm.Usage
		err    error
		status ledger.Status
		want   llm.Usage
	}{
		"completed":               {llm.Usage{Input: 50}, nil, ledger.Completed, llm.Usage{Input: 50}},
		"completed without usage": {llm.Usage{}, nil, ledger.Completed, estimate},
		"usage negative":          {llm.Usage{Input: -50}, nil, ledger.Completed, estimate},
		"usage absurd":            {llm.Usage{Input: 1e6}, nil, ledger.Completed, estimate},
		"usage of output":         {llm.Usage{Input: 50, Output: 1e9}, nil, ledger.Completed, llm.Usage{Input: 50}},
		"failed":                  {llm.Usage{}, boom, ledger.Failed, estimate},
		"not usable":              {llm.Usage{Input: 50}, &llm.Error{Err: boom}, ledger.Failed, estimate},
		"refused":                 {llm.Usage{}, &llm.Error{Status: 429, Err: boom}, ledger.Failed, llm.Usage{}},
	} {
		for kind, m := range metered {
			s := open(t).State()
			books := ledger.New(s, ledger.Options{Price: price})
			got, err := m.call(t.Context(), books, "openai", func(ctx context.Context) (llm.Usage, error) {
				open, err := s.Unsettled(ctx, 10)
				if err != nil || len(open) != 1 || open[0].EstimatedInput != 12 {
					t.Errorf("%s, %s: unsettled during the call: %+v, %v", kind, name, open, err)
				}
				return c.usage, c.err
			})
			if !errors.Is(err, c.err) || err == nil && got != c.want {
				t.Errorf("%s, %s: %+v, %v", kind, name, got, err)
			}
			want := ledger.Entry{Stage: m.stage, Provider: "openai", Model: "large", Status: c.status, EstimatedInput: 12,
				Usage: c.want, Cost: ledger.Cost{Micros: int64(2 * c.want.Input), Known: true}}
			if diff := cmp.Diff([]ledger.Entry{want}, entries(t, s, "")); diff != "" {
				t.Errorf("%s, %s: ledger (-want +got):\n%s", kind, name, diff)
			}
		}
	}
}

func TestMeter_SettlesACallInOnePieceThatItsContextOrAPanicCutOff(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, cancel func()) (llm.Usage, error){
		"context": func(ctx context.Context, cancel func()) (llm.Usage, error) { cancel(); return llm.Usage{}, ctx.Err() },
		"panic":   func(context.Context, func()) (llm.Usage, error) { panic("provider") },
	} {
		for kind, m := range metered {
			s := open(t).State()
			ctx, cancel := context.WithCancel(t.Context())
			func() {
				defer func() { recover() }()
				_, _ = m.call(ctx, ledger.New(s, ledger.Options{}), "openai", func(ctx context.Context) (llm.Usage, error) {
					return end(ctx, cancel)
				})
			}()
			cancel()
			want := ledger.Entry{Stage: m.stage, Provider: "openai", Model: "large", Status: ledger.Cancelled, EstimatedInput: 12,
				Usage: llm.Usage{Input: 12, Estimated: true}}
			if diff := cmp.Diff([]ledger.Entry{want}, entries(t, s, "")); diff != "" {
				t.Errorf("%s, %s: ledger (-want +got):\n%s", kind, name, diff)
			}
		}
	}
}

func TestMeter_MakesNoCallInOnePieceOffTheRecord(t *testing.T) {
	for kind, m := range metered {
		_, err := m.call(t.Context(), ledger.New(broken{}, ledger.Options{}), "openai", func(context.Context) (llm.Usage, error) {
			t.Errorf("%s: the call was made", kind)
			return llm.Usage{}, nil
		})
		if _, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", kind, err)
		}
		free := func(context.Context) (llm.Usage, error) { return llm.Usage{}, nil }
		if _, err := m.call(t.Context(), ledger.New(broken{}, ledger.Options{}), ledger.Builtin, free); err != nil {
			t.Errorf("%s of this program: %v", kind, err)
		}
	}
}

func TestLedger_KnowsTheTurnAndStageOfCallsInOnePiece(t *testing.T) {
	for kind, m := range metered {
		s := open(t).State()
		books := ledger.New(s, ledger.Options{Price: price})
		e := engine(func(ctx context.Context, _ chat.Request, emit func(chat.Event) bool) error {
			emit(chat.StageStarted{Stage: chat.StageRetrieve})
			used, err := m.call(ctx, books, "openai", func(context.Context) (llm.Usage, error) { return llm.Usage{Input: 9}, nil })
			if err != nil {
				return err
			}
			emit(chat.StageFinished{Stage: chat.StageRetrieve, Usage: used})
			emit(chat.TurnFinished{Usage: used})
			return nil
		})
		if err := run(t.Context(), turn.NewRunner(e, s, turn.Options{}), askTurn("c", "why?")); err != nil {
			t.Fatal(err)
		}
		want := ledger.Entry{TurnID: turnID, ConversationID: "c", Scope: alice, Stage: chat.StageRetrieve, Provider: "openai",
			Model: "large", Status: ledger.Completed, EstimatedInput: 12, Usage: llm.Usage{Input: 9}, Cost: ledger.Cost{Micros: 18, Known: true}}
		if diff := cmp.Diff([]ledger.Entry{want}, entries(t, s, turnID)); diff != "" {
			t.Errorf("%s: ledger (-want +got):\n%s", kind, diff)
		}
		if got := saved(t, s).Usage; got != want.Usage {
			t.Errorf("%s: usage of the turn %+v, want %+v", kind, got, want.Usage)
		}
	}
}
