package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/chat"
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

// metered are the two kinds of calls in one piece, of 12 estimated tokens each.
var metered = map[string]struct {
	stage chat.Stage // outside of a turn
	call  func(ctx context.Context, l *turn.Ledger, provider string, p piece) (llm.Usage, error)
}{
	"embedder": {chat.StageEmbed, func(ctx context.Context, l *turn.Ledger, provider string, p piece) (llm.Usage, error) {
		out, err := l.MeterEmbedder(provider, p).Embed(ctx,
			llm.EmbedRequest{Model: "large", Texts: []string{"twenty-four bytes, all !", "and twenty-four more ..."}})
		return out.Usage, err
	}},
	"reranker": {"", func(ctx context.Context, l *turn.Ledger, provider string, p piece) (llm.Usage, error) {
		out, err := l.MeterReranker(provider, p).Rerank(ctx,
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
		status turn.EntryStatus
		want   llm.Usage
	}{
		"completed":               {llm.Usage{Input: 50}, nil, turn.EntryCompleted, llm.Usage{Input: 50}},
		"completed without usage": {llm.Usage{}, nil, turn.EntryCompleted, estimate},
		"usage negative":          {llm.Usage{Input: -50}, nil, turn.EntryCompleted, estimate},
		"usage absurd":            {llm.Usage{Input: 1e6}, nil, turn.EntryCompleted, estimate},
		"usage of output":         {llm.Usage{Input: 50, Output: 1e9}, nil, turn.EntryCompleted, llm.Usage{Input: 50}},
		"failed":                  {llm.Usage{}, boom, turn.EntryFailed, estimate},
		"not usable":              {llm.Usage{Input: 50}, &llm.Error{Err: boom}, turn.EntryFailed, estimate},
		"refused":                 {llm.Usage{}, &llm.Error{Status: 429, Err: boom}, turn.EntryFailed, llm.Usage{}},
	} {
		for kind, m := range metered {
			s := open(t).State()
			ledger := turn.NewLedger(s, turn.LedgerOptions{Price: price})
			got, err := m.call(t.Context(), ledger, "openai", func(ctx context.Context) (llm.Usage, error) {
				open, err := s.Unsettled(ctx, 10)
				if err != nil || len(open) != 1 || open[0].EstimatedInput != 12 {
					t.Errorf("%s, %s: unsettled during the call: %+v, %v", kind, name, open, err)
				}
				return c.usage, c.err
			})
			if !errors.Is(err, c.err) || err == nil && got != c.want {
				t.Errorf("%s, %s: %+v, %v", kind, name, got, err)
			}
			want := turn.Entry{Stage: m.stage, Provider: "openai", Model: "large", Status: c.status, EstimatedInput: 12,
				Usage: c.want, Cost: turn.Cost{Micros: int64(2 * c.want.Input), Known: true}}
			if diff := cmp.Diff([]turn.Entry{want}, entries(t, s, "")); diff != "" {
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
				_, _ = m.call(ctx, turn.NewLedger(s, turn.LedgerOptions{}), "openai", func(ctx context.Context) (llm.Usage, error) {
					return end(ctx, cancel)
				})
			}()
			cancel()
			want := turn.Entry{Stage: m.stage, Provider: "openai", Model: "large", Status: turn.EntryCancelled, EstimatedInput: 12,
				Usage: llm.Usage{Input: 12, Estimated: true}}
			if diff := cmp.Diff([]turn.Entry{want}, entries(t, s, "")); diff != "" {
				t.Errorf("%s, %s: ledger (-want +got):\n%s", kind, name, diff)
			}
		}
	}
}

func TestMeter_MakesNoCallInOnePieceOffTheRecord(t *testing.T) {
	for kind, m := range metered {
		_, err := m.call(t.Context(), turn.NewLedger(broken{}, turn.LedgerOptions{}), "openai", func(context.Context) (llm.Usage, error) {
			t.Errorf("%s: the call was made", kind)
			return llm.Usage{}, nil
		})
		if _, ok := errors.AsType[*llm.Error](err); !ok || !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", kind, err)
		}
		free := func(context.Context) (llm.Usage, error) { return llm.Usage{}, nil }
		if _, err := m.call(t.Context(), turn.NewLedger(broken{}, turn.LedgerOptions{}), turn.Builtin, free); err != nil {
			t.Errorf("%s of this program: %v", kind, err)
		}
	}
}

func TestLedger_KnowsTheTurnAndStageOfCallsInOnePiece(t *testing.T) {
	for kind, m := range metered {
		s := open(t).State()
		ledger := turn.NewLedger(s, turn.LedgerOptions{Price: price})
		e := engine(func(ctx context.Context, _ chat.Request, emit func(chat.Event) bool) error {
			emit(chat.StageStarted{Stage: chat.StageRetrieve})
			used, err := m.call(ctx, ledger, "openai", func(context.Context) (llm.Usage, error) { return llm.Usage{Input: 9}, nil })
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
		want := turn.Entry{TurnID: turnID, ConversationID: "c", Scope: alice, Stage: chat.StageRetrieve, Provider: "openai",
			Model: "large", Status: turn.EntryCompleted, EstimatedInput: 12, Usage: llm.Usage{Input: 9}, Cost: turn.Cost{Micros: 18, Known: true}}
		if diff := cmp.Diff([]turn.Entry{want}, entries(t, s, turnID)); diff != "" {
			t.Errorf("%s: ledger (-want +got):\n%s", kind, diff)
		}
		if got := saved(t, s).Usage; got != want.Usage {
			t.Errorf("%s: usage of the turn %+v, want %+v", kind, got, want.Usage)
		}
	}
}
