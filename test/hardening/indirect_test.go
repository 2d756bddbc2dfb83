package hardening

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/chat"
	"parley/internal/llm/llmtest"
)

// indirect are the ways to ask whose answer is not the body of the response: each returns everything that it received, the
// text of the answer, and whether the answer is complete. If it is not, it must have come as a documented error.
var indirect = map[string]func(*stack, context.Context) (raw, text string, completed bool, err error){
	"MCP":                  (*stack).askTool,
	"MCP, with progress":   (*stack).askToolWithProgress,
	"Responses, behind":    (*stack).askBehind,
	"Responses, WebSocket": (*stack).askSocket,
}

// R4 for the ways to ask that are not in the table of protocols.
func TestR4_EveryFaultEndsWellWhereAnAnswerIsNotTheBodyOfItsRequest(t *testing.T) {
	for _, fault := range append([]string{"none"}, llmtest.Faults...) {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			o := options{idle: patience}
			switch fault {
			case "hang", "stall":
				o.idle = 500 * time.Millisecond
			case "never":
				o.output = 512 // cut sooner: each token comes after a pause
			}
			s := newStack(t, o)
			s.fault.Store(fault)
			for name, ask := range indirect {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				raw, text, completed, err := ask(s, ctx)
				cancel()
				if err != nil {
					t.Errorf("%s: %v: %.400s", name, err, raw)
					continue
				}
				turn := waitFor(t, name+": the turn is not saved", s.saved)
				s.check(t, name, outcome{
					status: http.StatusOK, turn: turn.ID, raw: raw, text: text, completed: completed, failed: !completed,
				}, slices.Contains(harmless, fault))
			}
			if log := s.log.String(); strings.Contains(log, "canary") || strings.Contains(log, llmtest.Key) {
				t.Errorf("a key is in the log: %.2000s", log)
			}
		})
	}
}

// R9 for the same: who leaves while the upstream says nothing ends the turn, unless it is in the background.
func TestR9_LeavingEndsTheTurnWhereAnAnswerIsNotTheBodyOfItsRequest(t *testing.T) {
	s := newStack(t, options{idle: time.Minute})
	s.fault.Store("hang")
	for name, ask := range indirect {
		if name == "Responses, behind" {
			continue // it goes on without its client
		}
		calls := s.up.Calls()
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _, _, _ = ask(s, ctx)
		}()
		for s.up.Calls() == calls {
			time.Sleep(time.Millisecond)
		}
		leave()
		waitFor(t, name+": the upstream goes on", s.up.Aborted())
		if r := waitFor(t, name+": the turn goes on", s.saved); r.Status != chat.StatusCancelled {
			t.Errorf("%s: the turn is %s", name, r.Status)
		}
		<-gone
	}
}

// exchange makes a request of JSON and returns the body of the response.
func (s *stack) exchange(ctx context.Context, method, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := s.client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the status is %d", resp.StatusCode)
	}
	return string(raw), err
}

func (s *stack) askTool(ctx context.Context) (raw, text string, completed bool, err error) {
	raw, err = s.exchange(ctx, http.MethodPost, "/mcp", toolCall(""))
	if err != nil {
		return raw, "", false, err
	}
	text, completed, err = toolResult(raw)
	return raw, text, completed, err
}

func (s *stack) askToolWithProgress(ctx context.Context) (raw, text string, completed bool, err error) {
	raw, err = s.exchange(ctx, http.MethodPost, "/mcp", toolCall(`"_meta":{"progressToken":"p"},`))
	if err != nil {
		return raw, "", false, err
	}
	last := ""
	for line := range strings.Lines(raw) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			last = data
		}
	}
	text, completed, err = toolResult(last)
	return raw, text, completed, err
}

func toolCall(meta string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `"name":"ask","arguments":{"question":"What is covered?"}}}`
}

// toolResult reads the result of a call, which must have a text: the answer, or why there is none.
func toolResult(message string) (text string, completed bool, err error) {
	var m struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	err = json.Unmarshal([]byte(message), &m)
	if err == nil && (m.Result == nil || len(m.Result.Content) == 0 || m.Result.Content[0].Text == "") {
		err = fmt.Errorf("no result: %.300s", message)
	}
	if err != nil {
		return "", false, err
	}
	return m.Result.Content[0].Text, !m.Result.IsError, nil
}

// response is one of the Responses API.
type response struct {
	ID, Status string
	Error      *struct{ Message string }
	Output     []struct{ Content []struct{ Text string } }
}

// ended returns the outcome of a response that has ended. A content filter leaves it incomplete.
func (r *response) ended() (text string, completed bool, err error) {
	completed = (r.Status == "completed" || r.Status == "incomplete") && r.Error == nil && len(r.Output) > 0
	if !completed && (r.Status != "failed" || r.Error == nil || r.Error.Message == "") {
		return "", false, fmt.Errorf("the response is %q with the error %+v", r.Status, r.Error)
	}
	if completed {
		for _, part := range r.Output[len(r.Output)-1].Content {
			text += part.Text
		}
	}
	return text, completed, nil
}

// askBehind asks for a response in the background, and reads it until it has ended.
func (s *stack) askBehind(ctx context.Context) (raw, text string, completed bool, err error) {
	raw, err = s.exchange(ctx, http.MethodPost, "/v1/responses", `{"model":"parley","input":"What is covered?","background":true}`)
	for err == nil {
		var r response
		if err = json.Unmarshal([]byte(raw), &r); err != nil {
			break
		}
		if r.Status != "queued" && r.Status != "in_progress" {
			text, completed, err = r.ended()
			return raw, text, completed, err
		}
		time.Sleep(5 * time.Millisecond)
		raw, err = s.exchange(ctx, http.MethodGet, "/v1/responses/"+r.ID, "")
	}
	return raw, "", false, err
}

// askSocket asks in a WebSocket, and reads events until the response has ended.
func (s *stack) askSocket(ctx context.Context) (raw, text string, completed bool, err error) {
	conn, _, err := websocket.Dial(ctx, s.url+"/v1/responses", &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		return "", "", false, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(64 << 20)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"type":"response.create","model":"parley","input":"What is covered?"}`)); err != nil {
		return "", "", false, err
	}
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return raw, "", false, err
		}
		raw += string(message)
		var e struct {
			Type     string
			Error    *struct{ Message string }
			Response *response
		}
		if err := json.Unmarshal(message, &e); err != nil {
			return raw, "", false, err
		}
		switch e.Type {
		case "error":
			if e.Error == nil || e.Error.Message == "" {
				return raw, "", false, fmt.Errorf("an error of another shape: %.300s", message)
			}
			return raw, "", false, nil
		case "response.completed", "response.incomplete", "response.failed":
			text, completed, err = e.Response.ended()
			return raw, text, completed, err
		}
	}
}
