package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/llm"
	"parley/internal/llm/llmtest"
)

func TestComplete_ReturnsTheWholeReply(t *testing.T) {
	m := llmtest.Says(`{"a":`, ` 1}`)
	c, err := llm.Complete(t.Context(), m, llmtest.Question("m1"), 100)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Completion{Text: `{"a": 1}`, Model: "scripted-1", FinishReason: "stop", Usage: llm.Usage{Input: 10, Output: 2}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestComplete_EndsACallThatIsOfNoUse(t *testing.T) {
	down := &llm.Error{Status: 500, Err: errors.New("down")}
	for name, c := range map[string]struct {
		model *llmtest.Model
		time  time.Duration
		err   error
		paid  bool // for something of the prompt
	}{
		"too long":      {llmtest.Says(strings.Repeat("x", 60), strings.Repeat("x", 60), "more"), time.Minute, llm.ErrReplyTooLong, true},
		"refused":       {llmtest.Fails(down), time.Minute, down, false},
		"cut off":       {llmtest.Fails(down, "half"), time.Minute, down, true},
		"no time":       {llmtest.Hangs(nil), 0, context.DeadlineExceeded, true},
		"no time later": {llmtest.Hangs(nil, "half"), 10 * time.Millisecond, context.DeadlineExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.time)
			defer cancel()
			got, err := llm.Complete(ctx, c.model, llmtest.Question("m1"), 100)
			if !errors.Is(err, c.err) {
				t.Errorf("error = %v, want %v", err, c.err)
			}
			if (got.Usage.Input > 0) != c.paid || c.paid && !got.Usage.Estimated {
				t.Errorf("usage = %+v", got.Usage)
			}
			if c.model.Active() != 0 {
				t.Error("the call goes on")
			}
		})
	}
}

func TestComplete_TakesAFilteredReplyForAnError(t *testing.T) {
	m := &llmtest.Model{Steps: []llmtest.Step{{Chunk: llm.Chunk{FinishReason: "content_filter"}}}}
	_, err := llm.Complete(t.Context(), m, llmtest.Question("m1"), 100)
	if e, ok := errors.AsType[*llm.Error](err); !ok || !e.Filtered {
		t.Errorf("error = %v", err)
	}
}

func TestObject_FindsTheObjectInAReply(t *testing.T) {
	for reply, want := range map[string]string{
		`{"a":{"b":1}}`:                    `{"a":{"b":1}}`,
		"```json\n{\"a\":1}\n```":          `{"a":1}`,
		"Here it is: {\"a\":1}. Good luck": `{"a":1}`,
	} {
		if got, ok := llm.Object(reply); !ok || got != want {
			t.Errorf("Object(%q) = %q, %v", reply, got, ok)
		}
	}
	for _, reply := range []string{"", "no object", "} {", "{"} {
		if got, ok := llm.Object(reply); ok {
			t.Errorf("Object(%q) = %q", reply, got)
		}
	}
}
