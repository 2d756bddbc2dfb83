package main

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/turn"
)

const (
	durableRounds   = 3
	durableSessions = 80
	durableLength   = 25 // turns in a session
	durableTurns    = durableSessions * durableLength
	durableAtOnce   = 8 // sessions answered concurrently

	sessionKind = "ragchat"
)

// turns measures the cost of storing a turn and of streaming its steps.
func (b *bench) turns(ctx context.Context) error {
	for _, k := range []durable{
		{name: "built-in answers"},
		{name: "answers of a paid model, whose call is committed before it is made", paid: true},
	} {
		if err := b.durable(ctx, k); err != nil {
			return err
		}
	}
	return b.steps(ctx)
}

// durable is a kind of turn.
type durable struct {
	name string
	paid bool // two commits for each turn
}

// durable runs turns through the turn runner and its store, and commits the same rows with SQLite
// alone, at the same synchronous=FULL, in alternating rounds.
func (b *bench) durable(ctx context.Context, k durable) error {
	var ratio, own, raw []float64
	for round := range durableRounds {
		dir := filepath.Join(b.work, fmt.Sprint("turns", k.paid, round))
		took, err := runTurns(ctx, k, dir)
		if err != nil {
			return err
		}
		plain, err := commitRaw(ctx, k, dir, dir+"raw")
		if err != nil {
			return err
		}
		own, raw = append(own, durableTurns/took.Seconds()), append(raw, durableTurns/plain.Seconds())
		ratio = append(ratio, 100*plain.Seconds()/took.Seconds())
	}
	b.add("durable turns, "+k.name, "≥ 70 % of raw SQLite FULL", "%.0f %% (%.0f turns/s, raw commits of the same rows %.0f/s)",
		median(ratio), median(own), median(raw))
	return nil
}

// runTurns answers questions in many sessions, some concurrently, and returns how long that took.
func runTurns(ctx context.Context, k durable, dir string) (took time.Duration, err error) {
	db, err := store.Open(ctx, dir, nil)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	price := func(string, string, llm.Usage) ledger.Cost { return ledger.Cost{Micros: 118, Known: true} }
	books, provider := ledger.New(db.State(), ledger.Options{Price: price}), ledger.Builtin
	if k.paid {
		provider = "openai"
	}
	runner := turn.NewRunner(scripted{books.Meter(provider, saying{})}, db.State(), turn.Options{})
	ids := make(chan string, durableSessions)
	for range durableSessions {
		c := turn.Conversation{ID: uuid.NewString(), Scope: turn.Scope{Namespace: "default"}, Kind: sessionKind, CreatedAt: time.Now()}
		if err := db.State().Begin(ctx, c); err != nil {
			return 0, err
		}
		ids <- c.ID
	}
	close(ids)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	var workers sync.WaitGroup
	for range durableAtOnce {
		workers.Go(func() {
			for id := range ids {
				for n := range durableLength {
					if err := runTurn(ctx, runner, id, n); err != nil {
						cancel(err)
						return
					}
				}
			}
		})
	}
	workers.Wait()
	return time.Since(began), context.Cause(ctx)
}

// runTurn runs one turn of a session.
func runTurn(ctx context.Context, runner *turn.Runner, session string, n int) error {
	_, err := chat.Collect(runner.Run(ctx, &chat.Request{
		Namespace: "default", ConversationID: session, Kind: sessionKind,
		Messages: []chat.Message{chat.TextMessage(llm.User, fmt.Sprintf("What does chapter %d say about trains and planes?", n))},
	}))
	return err
}

// scripted is an engine that only calls its model, and emits the events of a turn with passages, so
// that storing the turn dominates the time.
type scripted struct{ model llm.Model }

// scriptedPassages are the passages of every turn of scripted.
var scriptedPassages = func() (all []retrieval.Passage) {
	for i := range 3 {
		all = append(all, retrieval.Passage{
			Chunk:    retrieval.Chunk{Text: strings.Repeat("Trains are paid for in second class. ", 25), Spans: []retrieval.Span{{Page: i + 1, End: 900}}},
			Document: retrieval.Document{ID: fmt.Sprint("document", i), Name: fmt.Sprintf("policies/travel-%d.pdf", i), Title: "Travel"}, Score: .5,
		})
	}
	return all
}()

// Run emits the events of one turn.
func (s scripted) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		emit := func(e chat.Event) bool { return yield(e, nil) }
		stage := func(name chat.Stage, inside func() bool) bool {
			return emit(chat.StageStarted{Stage: name}) && inside() && emit(chat.StageFinished{Stage: name, Duration: time.Millisecond})
		}
		question := req.Messages[len(req.Messages)-1].Text()
		passed := stage(chat.StageRewrite, func() bool { return emit(chat.QueryRewritten{Query: question}) }) &&
			stage(chat.StageRetrieve, func() bool {
				return emit(chat.PassagesRetrieved{Mode: retrieval.Text, Passages: scriptedPassages, Matched: 3})
			}) &&
			stage(chat.StageGenerate, func() bool { return s.answer(ctx, question, yield) })
		_ = passed && emit(chat.TurnFinished{Duration: time.Millisecond})
	}
}

func (s scripted) answer(ctx context.Context, question string, yield func(chat.Event, error) bool) bool {
	const id = "m"
	if !yield(chat.MessageStarted{ID: id, Model: "model"}, nil) || !yield(chat.CompletionStarted{ID: id, Model: "model"}, nil) {
		return false
	}
	var said strings.Builder
	for chunk, err := range s.model.Stream(ctx, llm.Request{Model: "model", Messages: []llm.Message{llm.Text(llm.User, question)}}) {
		if err != nil {
			yield(nil, err)
			return false
		}
		said.WriteString(chunk.Text)
		if chunk.Text != "" && !yield(chat.TextDelta{ID: id, Text: chunk.Text}, nil) {
			return false
		}
	}
	return yield(chat.MessageFinished{
		ID: id, Status: chat.StatusCompleted, Text: said.String(), FinishReason: "stop",
		Citations: []chat.Citation{{Label: "policies/travel-0.pdf#page=1", DocumentID: "document0", Name: "policies/travel-0.pdf", Title: "Travel", Page: 1, Snippet: "Trains are paid for"}},
	}, nil)
}

// saying is a model that always gives the same answer, at full speed.
type saying struct{}

func (saying) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for range 60 {
			if !yield(llm.Chunk{Text: "Trains go in second class. "}, nil) {
				return
			}
		}
		yield(llm.Chunk{Text: "[policies/travel-0.pdf#page=1]", FinishReason: "stop", Usage: &llm.Usage{Input: 900, Output: 240}}, nil)
	}
}
