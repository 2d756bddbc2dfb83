// Package chattest provides a fake chat.Engine for tests of packages that run or render turns, and finds what
// a page would fetch when it renders an answer.
package chattest

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Engine plays the same events in every run. It is safe for concurrent use.
type Engine struct {
	Events []chat.Event
	Err    error        // ends the stream after the events; nil ends it without an error
	Chosen chat.Options // returned by Defaults, unless Top is 0
	// Before, if not nil, is called before event i, and with i = len(Events) before the end of the stream. It
	// may block until ctx is done. If ctx is done when it returns, the error of ctx ends the stream.
	Before func(ctx context.Context, i int)

	mu       sync.Mutex
	requests []chat.Request
}

// Run plays the events.
func (e *Engine) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		e.mu.Lock()
		e.requests = append(e.requests, *req)
		e.mu.Unlock()
		for i, event := range e.Events {
			if err := e.before(ctx, i); err != nil {
				yield(nil, err)
				return
			}
			if !yield(event, nil) {
				return
			}
		}
		err := e.before(ctx, len(e.Events))
		if err == nil {
			err = e.Err
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (e *Engine) before(ctx context.Context, i int) error {
	if e.Before != nil {
		e.Before(ctx, i)
	}
	return ctx.Err()
}

// Defaults returns Chosen, or chat.DefaultOptions if Chosen.Top is 0.
func (e *Engine) Defaults() chat.Options {
	if e.Chosen.Top == 0 {
		return chat.DefaultOptions()
	}
	return e.Chosen
}

// Requests returns the requests of all runs so far, in order.
func (e *Engine) Requests() []chat.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]chat.Request(nil), e.requests...)
}

// Turn returns the events of a complete turn in the order in which the engine emits them. The search finds
// one passage, from page 2 of "guide.pdf". The deltas are the answer.
func Turn(question string, deltas ...string) []chat.Event {
	const id, model = "01J00000000000000000000000", "scripted-1"
	passage := Passage("guide.pdf", 2, "Leave is 25 days.")
	source := "guide.pdf#page=2: Leave is 25 days."
	usage := llm.Usage{Input: 20, Output: len(deltas)}
	events := []chat.Event{
		chat.StageStarted{Stage: chat.StageHistory},
		done(chat.StageHistory),
		chat.StageStarted{Stage: chat.StageRewrite},
		chat.QueryRewritten{Original: question, Query: question, Reason: "no history"},
		done(chat.StageRewrite),
		chat.StageStarted{Stage: chat.StageRetrieve},
		chat.PassagesRetrieved{Mode: retrieval.Text, Matched: 1, Passages: []retrieval.Passage{passage}},
		done(chat.StageRetrieve),
		chat.StageStarted{Stage: chat.StagePrompt},
		chat.PromptBuilt{
			Model: "test:" + model, Sources: []string{source}, Labels: []string{"guide.pdf#page=2"},
			Messages: []llm.Message{
				llm.Text(llm.System, "Answer from the sources."),
				llm.Text(llm.User, question+"\n\nSources:\n"+source),
			},
		},
		done(chat.StagePrompt),
		chat.StageStarted{Stage: chat.StageGenerate},
		chat.MessageStarted{ID: id, Model: model},
		chat.CompletionStarted{ID: id, Model: model},
	}
	text := ""
	for _, d := range deltas {
		text += d
		events = append(events, chat.TextDelta{ID: id, Text: d})
	}
	generated := done(chat.StageGenerate)
	generated.Model, generated.Usage = model, usage
	return append(events,
		chat.MessageFinished{ID: id, Status: chat.StatusCompleted, Text: text, Citations: []chat.Citation{},
			FinishReason: "stop", Model: model, Usage: usage},
		generated,
		chat.TurnFinished{Duration: 6 * time.Millisecond, Usage: usage})
}

func done(s chat.Stage) chat.StageFinished {
	return chat.StageFinished{Stage: s, Duration: time.Millisecond}
}

// Passage returns a passage of one page. Page 0 means that the document has no pages.
func Passage(name string, page int, text string) retrieval.Passage {
	bm25 := 4.2
	return retrieval.Passage{
		Chunk: retrieval.Chunk{
			Key:   retrieval.ChunkKey{Revision: 1},
			Text:  text,
			Spans: []retrieval.Span{{Page: page, End: len(text)}},
		},
		Document: retrieval.Document{ID: "doc-" + name, Revision: 1, Namespace: "default", Name: name, Title: name},
		Score:    1,
		Rank:     1,
		Scores:   retrieval.Scores{BM25: &bm25},
	}
}

// Options returns the options that are set, on one line: "{Top:3 Models:{Inference:test:m}}". A new option
// therefore changes only the fixtures that set it.
func Options(o chat.Options) string { return set(reflect.ValueOf(o)) }

func set(v reflect.Value) string {
	var fields []string
	for f, value := range v.Fields() {
		switch {
		case value.IsZero():
		case value.Kind() == reflect.Struct:
			fields = append(fields, f.Name+":"+set(value))
		default:
			fields = append(fields, fmt.Sprintf("%s:%v", f.Name, value))
		}
	}
	return "{" + strings.Join(fields, " ") + "}"
}
