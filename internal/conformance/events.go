package conformance

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// phase says how an event changes the part of a stream that it belongs to.
type phase int

const (
	none phase = iota // it belongs to no part
	opens
	goesOn
	closes
)

// parts demands that each part of a stream is opened before it goes on, and closed before the stream ends. part
// returns the phase of an event and the key of its part. again reports whether a part may be opened again after it
// was closed.
func parts(part func(v any) (phase, string), again func(key string) bool) func([]any) error {
	return func(items []any) error {
		open, closed := map[string]bool{}, map[string]bool{}
		for i, v := range items {
			p, key := part(v)
			switch {
			case p == none:
			case p == opens && (open[key] || closed[key] && !again(key)):
				return fmt.Errorf("event %d: %s is begun twice", i+1, shorten(key, 60))
			case p == opens:
				open[key] = true
			case !open[key]:
				return fmt.Errorf("event %d: %s is not open", i+1, shorten(key, 60))
			case p == closes:
				delete(open, key)
				closed[key] = true
			}
		}
		if left := slices.Sorted(maps.Keys(open)); len(left) > 0 {
			return fmt.Errorf("%s is not closed", shorten(left[0], 60))
		}
		return nil
	}
}

// textAt returns the string at a path, or "".
func textAt(v any, path string) string {
	found, _ := at(v, path)
	s, _ := found.(string)
	return s
}

// when applies judgements to the events of a type.
func when(kind string, judgements ...judgement) func([]any) error {
	return every(func(v any) error {
		if textAt(v, "type") != kind {
			return nil
		}
		return allOf(judgements...)(v)
	})
}

// once demands that exactly one event has the type, and that this is the first event or, unless atStart, the last.
func once(kind string, atStart bool) func([]any) error {
	return func(items []any) error {
		n := 0
		for _, v := range items {
			if textAt(v, "type") == kind {
				n++
			}
		}
		edge := items[len(items)-1]
		if atStart {
			edge = items[0]
		}
		if got := textAt(edge, "type"); n != 1 || got != kind {
			return fmt.Errorf("%d events are %s; the one at the edge is %q", n, kind, shorten(got, 40))
		}
		return nil
	}
}

// sayIn demands that the deltas of the events of a type form a text that is not blank.
func sayIn(kind string) func([]any) error {
	return func(items []any) error {
		var b strings.Builder
		for _, v := range items {
			if textAt(v, "type") == kind {
				b.WriteString(textAt(v, "delta"))
			}
		}
		if strings.TrimSpace(b.String()) == "" {
			return fmt.Errorf("the deltas of %s are empty together", kind)
		}
		return nil
	}
}

// eventBasics are the rules of a successful stream of unnamed events with JSON.
func eventBasics(place string) []Rule {
	return []Rule{
		whole(place, http.StatusOK), typed(place, "text/event-stream"), unbuffered(place),
		framed(place, "Each event is data lines with one JSON object, and an empty line ends it."), unnamed(place),
		streamRule("types", place, "Each event is an object with a type.", every(self(object), filled("type"))),
	}
}

// refusedAnyhow are the rules of a refusal whose body no document describes.
func refusedAnyhow(place string) []Rule {
	all := refusal(place, "")
	return []Rule{all[0], all[len(all)-1]}
}

const kindText = text

func never(string) bool  { return false }
func always(string) bool { return true }

// isNot demands that a member does not have a value.
func isNot(path string, value any) judgement {
	return func(v any) error {
		if is(path, value)(v) == nil {
			return fmt.Errorf("%s is %v", path, value)
		}
		return nil
	}
}

// agUI has the rules of verifyEvents in @ag-ui/client.
func agUI() Protocol {
	const (
		events  = "AG-UI 1.0, Events"
		life    = events + ", Lifecycle events"
		texts   = events + ", Text message events"
		state   = events + ", State management events"
		path    = "/ag-ui"
		ask     = `{"threadId":"parley-check","runId":"r1","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[{"id":"m1","role":"user","content":{question}}]}`
		message = "TEXT_MESSAGE_"
	)
	phases := map[string]phase{
		message + "START": opens, message + "CONTENT": goesOn, message + "END": closes,
		"TOOL_CALL_START": opens, "TOOL_CALL_ARGS": goesOn, "TOOL_CALL_END": closes,
		"STEP_STARTED": opens, "STEP_FINISHED": closes,
	}
	return Protocol{
		Name: "ag-ui", Title: "AG-UI", marks: []string{"threadId", "runId"},
		Exchanges: []Exchange{
			{Name: "run", Method: http.MethodPost, Path: path, Accept: "text/event-stream", Body: ask, frame: sse, Rules: join(eventBasics(events), []Rule{
				streamRule("started", life, "The first event is RUN_STARTED, and there is no other.", once("RUN_STARTED", true)),
				streamRule("finished", life, "The last event is RUN_FINISHED, and there is no other.", once("RUN_FINISHED", false)),
				streamRule("run", life, "Both have the thread and the run of the request.", when("RUN_STARTED", is("threadId", "parley-check"), is("runId", "r1")),
					when("RUN_FINISHED", is("threadId", "parley-check"), is("runId", "r1"))),
				streamRule("no-error", life, "A run that succeeds has no RUN_ERROR.", every(isNot("type", "RUN_ERROR"))),
				streamRule("order", events, "Messages, calls of tools and steps are begun before they go on, and ended before the run is.", parts(func(v any) (phase, string) {
					kind := textAt(v, "type")
					family := kind[:strings.LastIndexByte(kind, '_')+1]
					return phases[kind], family + textAt(v, "messageId") + textAt(v, "toolCallId") + textAt(v, "stepName")
				}, func(key string) bool { return strings.HasPrefix(key, "STEP_") })),
				streamRule("message", texts, `A message begins with its id and the role "assistant".`, when(message+"START", filled("messageId"), is("role", "assistant"))),
				streamRule("delta", texts, "A piece of a message has its id and a text that is not empty.", when(message+"CONTENT", filled("messageId"), func(v any) error {
					if textAt(v, "delta") == "" {
						return errors.New("delta is empty")
					}
					return nil
				})),
				streamRule("answer", texts, "The messages together are the answer, which is not empty.", sayIn(message+"CONTENT")),
				streamRule("steps", life, "A step has a name.", when("STEP_STARTED", filled("stepName")), when("STEP_FINISHED", filled("stepName"))),
				streamRule("snapshot", state, "A STATE_SNAPSHOT has the state.", when("STATE_SNAPSHOT", has("snapshot", object|array|kindText|number|boolean|null))),
			})},
			{Name: "no question", Method: http.MethodPost, Path: path, Body: `{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"messages":[]}`, Rules: refusedAnyhow(life)},
			{Name: "no JSON", Method: http.MethodPost, Path: path, Body: `{"threadId":`, Rules: refusedAnyhow(life)},
		},
	}
}
