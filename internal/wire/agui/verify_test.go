package agui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire/wiretest"
)

// verify checks a stream against the rules of the protocol (verifyEvents of @ag-ui/client 1.0): RUN_STARTED comes
// first, RUN_FINISHED or RUN_ERROR last; messages, calls and steps are opened once before they go on and end,
// and none is open when the run has finished.
func verify(body string) error {
	open, used := map[string]bool{}, map[string]bool{}
	last := ""
	for i, frame := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		var e struct{ Type, MessageID, ToolCallID, StepName string }
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || strings.Contains(data, "\n") {
			return fmt.Errorf("event %d is %q", i, frame)
		}
		if (i == 0) != (e.Type == "RUN_STARTED") || last == "RUN_FINISHED" || last == "RUN_ERROR" {
			return fmt.Errorf("%s is event %d, behind %q", e.Type, i, last)
		}
		last = e.Type
		cut := strings.LastIndexByte(e.Type, '_')
		key := e.Type[:cut] + e.MessageID + e.ToolCallID + e.StepName
		switch kind := e.Type[cut+1:]; {
		case e.Type == "RUN_STARTED", e.Type == "RUN_ERROR":
		case e.Type == "RUN_FINISHED":
			for key, is := range open {
				if is {
					return fmt.Errorf("the run has finished, but not %s", key)
				}
			}
		case kind == "START" || kind == "STARTED":
			if open[key] || used[key] && !strings.HasPrefix(key, "STEP") {
				return fmt.Errorf("%s is begun twice", key)
			}
			open[key], used[key] = true, true
		case kind == "CONTENT", kind == "ARGS", kind == "END", kind == "FINISHED":
			if !open[key] {
				return fmt.Errorf("%s of %s, which is not open", e.Type, key)
			}
			open[key] = kind == "CONTENT" || kind == "ARGS"
		}
	}
	if last != "RUN_FINISHED" && last != "RUN_ERROR" {
		return fmt.Errorf("the last event is %s", last)
	}
	return nil
}

// Whatever the order in which a turn's events come, the run's are in order.
func FuzzRun_IsInOrder(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8}, true)
	f.Add([]byte{2, 2, 3, 2, 4, 4, 5, 2}, false)
	f.Fuzz(func(t *testing.T, order []byte, ends bool) {
		calls := 0
		var steps []wiretest.Step
		add := func(e chat.Event) { steps = append(steps, wiretest.Step{Event: e}) }
		for _, n := range order {
			stage := chat.Stage("s" + string('a'+rune(n>>4)))
			switch n % 8 {
			case 0:
				add(chat.StageStarted{Stage: stage})
			case 1:
				add(chat.StageFinished{Stage: stage})
			case 2:
				add(chat.TextDelta{ID: "m", Text: "a"})
			case 3:
				add(chat.ReasoningDelta{ID: "m", Text: "b"})
			case 4:
				calls++
				add(chat.ToolStarted{ID: "m", Call: llm.ToolCall{ID: fmt.Sprint(calls), Name: "x", Arguments: "{}"}})
			case 5:
				add(chat.ToolReturned{ID: "m", CallID: fmt.Sprint(calls), Text: "c"})
			case 6:
				calls++
				add(chat.ToolCalled{ID: "m", Call: llm.ToolCall{ID: fmt.Sprint(calls), Name: "x", Signature: "s"}})
			case 7:
				add(chat.FollowUpsSuggested{Questions: []string{"Why?"}})
			}
		}
		if add(chat.MessageFinished{ID: "m", Status: chat.StatusCompleted}); ends {
			add(chat.TurnFinished{})
		}
		w := send(handlerOf(&wiretest.Scripted{Steps: steps}, nil), http.MethodPost, endpoint, asking)
		if err := verify(w.Body.String()); err != nil {
			t.Errorf("%v: %v\n%s", order, err, w.Body)
		}
	})
}

// Every request is answered with a run, or with an error of the protocol.
func FuzzInput(f *testing.F) {
	f.Add(asking)
	f.Add(`{"messages":[{"role":"assistant","toolCalls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]}],"tools":[{"name":"b","parameters":"{}"}]}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}},{"type":"text","text":"a"}]}],` +
		`"context":[{"description":"d","value":1}],"forwardedProps":{"parley":{"namespace":"hr","top":"3"}},"state":[1]}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := send(handlerOf(wiretest.Tokens(1), nil), http.MethodPost, endpoint, body)
		switch got := w.Body.String(); {
		case w.Code == http.StatusOK && verify(got) == nil:
		case (w.Code == 400 || w.Code == 404) && strings.HasPrefix(got, `{"error":"`):
		default:
			t.Errorf("%.300q: %d %.300s", body, w.Code, got)
		}
	})
}
