package wiretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/interrupt"
	"parley/internal/turn"
)

// Scripted is a Runner that plays the same steps for every request and records the requests in Asked.
type Scripted struct {
	Steps []Step
	Asked []chat.Request
}

// Step first waits. Then it panics, or emits an event or an error, if there is one.
type Step struct {
	Wait   time.Duration // if the context ends first, the context's error ends the run
	Panics string
	Event  chat.Event
	Err    error
}

// Run plays the steps.
func (r *Scripted) Run(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	r.Asked = append(r.Asked, *req)
	return func(yield func(chat.Event, error) bool) {
		turn.Named(ctx, req.TurnID)
		for _, s := range r.Steps {
			if err := s.wait(ctx); err != nil {
				yield(nil, err)
				return
			}
			if s.Panics != "" {
				panic(s.Panics)
			}
			if (s.Event != nil || s.Err != nil) && !yield(s.Event, s.Err) {
				return
			}
		}
	}
}

func (s Step) wait(ctx context.Context) error {
	if s.Wait == 0 {
		return nil
	}
	if err := interrupt.Sleep(ctx, s.Wait); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return nil
}

// Script reads steps from text. A line is an event's name and its JSON, or
//
//	error KIND SENTENCE     or KIND/DURATION, to set RetryAfter
//	wait DURATION
//	panic TEXT
//	include FILE            in testdata
//
// The cause of every error contains the word "secret", which no client may see.
func Script(tb testing.TB, text string) []Step {
	tb.Helper()
	var steps []Step
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "":
		case "include":
			included, err := os.ReadFile(filepath.Join("testdata", rest))
			if err != nil {
				tb.Fatal(err)
			}
			steps = append(steps, Script(tb, string(included))...)
		case "error":
			steps = append(steps, Step{Err: scriptedError(tb, rest)})
		case "panic":
			steps = append(steps, Step{Panics: rest})
		case "wait":
			steps = append(steps, Step{Wait: duration(tb, rest)})
		default:
			steps = append(steps, Step{Event: event(tb, name, rest)})
		}
	}
	return steps
}

func event(tb testing.TB, name, body string) chat.Event {
	tb.Helper()
	var n chat.Numbered
	envelope := fmt.Sprintf(`{"v":1,"turn":"","seq":1,"type":%q,"event":%s}`, name, body)
	if err := json.Unmarshal([]byte(envelope), &n); err != nil {
		tb.Fatalf("%s %s: %v", name, body, err)
	}
	return n.Event
}

var kinds = map[string]chat.Kind{
	"internal": chat.Internal, "invalid": chat.Invalid, "filtered": chat.Filtered, "forbidden": chat.Forbidden,
	"not_found": chat.NotFound, "conflict": chat.Conflict, "too_large": chat.TooLarge,
	"rate_limited": chat.RateLimited, "unavailable": chat.Unavailable, "full": chat.Full,
	"key_refused": chat.KeyRefused, "model_limited": chat.ModelLimited, "no_credit": chat.NoCredit,
	"prompt_too_long": chat.PromptTooLong, "model_missing": chat.ModelMissing,
	"model_unreachable": chat.ModelUnreachable, "model_slow": chat.ModelSlow, "unauthorized": chat.Unauthorized,
}

func scriptedError(tb testing.TB, text string) error {
	tb.Helper()
	name, msg, _ := strings.Cut(text, " ")
	name, after, later := strings.Cut(name, "/")
	kind, ok := kinds[name]
	if !ok {
		tb.Fatalf("no kind of error is called %q", name)
	}
	e := &chat.Error{Kind: kind, Msg: msg, Err: errors.New("secret cause")}
	if later {
		e.RetryAfter = duration(tb, after)
	}
	return e
}

func duration(tb testing.TB, text string) time.Duration {
	tb.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// Tokens is a Runner for benchmarks. Its value is the number of text deltas of the answer.
type Tokens int

// Run emits the answer.
func (n Tokens) Run(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		yield(chat.MessageStarted{ID: "m", Model: "gpt"}, nil)
		yield(chat.CompletionStarted{ID: "m", Model: "gpt-4"}, nil)
		var e chat.Event = chat.TextDelta{ID: "m", Text: " deductible"}
		for range n {
			if !yield(e, nil) {
				return
			}
		}
		yield(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted}, nil)
		yield(chat.TurnFinished{}, nil)
	}
}
