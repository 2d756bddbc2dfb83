package azurechat

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/wire"
	"parley/internal/wire/wiretest"
)

// shown is the state of a front end after a stream.
type shown struct {
	Text, State, Err string
	FollowUps        int
	DataPoints       bool
}

// line is a line of a stream as JavaScript sees it.
type line struct {
	Type    string          `json:"type"`
	Delta   json.RawMessage `json:"delta"`
	Context *struct {
		DataPoints *json.RawMessage `json:"data_points"`
		FollowUps  []string         `json:"followup_questions"`
	} `json:"context"`
	State any    `json:"session_state"`
	Error string `json:"error"`
}

// readLater reads as the front ends of the samples since April 2026 do.
func readLater(s *shown, l line) {
	var piece string
	isText := l.Delta != nil && json.Unmarshal(l.Delta, &piece) == nil
	switch {
	case l.Type == "response.context" && l.Context != nil:
		s.context(l)
	case l.Type == "response.output_text.delta" && isText:
		s.Text += piece
	case l.Error != "":
		s.Err = l.Error
	}
}

// readEarlier reads as the front ends before them do.
func readEarlier(s *shown, l line) {
	var delta struct {
		Content string `json:"content"`
	}
	_ = json.Unmarshal(l.Delta, &delta) // a string has no content
	switch {
	case l.Context != nil && l.Context.DataPoints != nil:
		s.context(l)
		if l.Delta == nil {
			s.Err = "the line with the context has no delta"
		}
	case delta.Content != "":
		s.Text += delta.Content
	case l.Context != nil:
		s.context(l)
	case l.Error != "":
		s.Err = l.Error
	}
}

func (s *shown) context(l line) {
	if l.Context.DataPoints != nil {
		s.DataPoints, s.State = true, fmt.Sprint(l.State)
	}
	s.FollowUps += len(l.Context.FollowUps)
}

func TestLate_FrontEndsOfBothErasReadAStream(t *testing.T) {
	const asking = `{"messages":[{"role":"user","content":"x"}],"session_state":"s1","context":{"overrides":{"send_text_sources":true,"suggest_followup_questions":true}}}`
	const begin = "include short.events\ninclude answer.events\n"
	for name, c := range map[string]struct {
		events string
		want   shown
	}{
		"answered": {
			begin + `follow_ups_suggested {"questions":["a?","b?"]}` + "\ninclude finished.events",
			shown{Text: "It is 330 m tall [towers/eiffel.md].", State: "s1", FollowUps: 2, DataPoints: true},
		},
		"failed": {
			begin + "error internal secret",
			shown{Text: "It is 330 m tall [towers/eiffel.md].", State: "s1", DataPoints: true, Err: wire.InternalSentence},
		},
	} {
		w := httptest.NewRecorder()
		request := wiretest.Request(t, "POST /chat/stream\nContent-Type: application/json\n\n"+asking)
		serve(handlerOf(&wiretest.Scripted{Steps: wiretest.Script(t, c.events)}, nil)).ServeHTTP(w, request)
		for era, read := range map[string]func(*shown, line){"earlier": readEarlier, "later": readLater} {
			var got shown
			for text := range strings.Lines(w.Body.String()) {
				var l line
				if err := json.Unmarshal([]byte(text), &l); err != nil {
					t.Fatal(err)
				}
				read(&got, l)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s front end (-want +got):\n%s\n%s", name, era, diff, w.Body)
			}
		}
	}
}

// A client that knows the later settings is told of a value that they cannot have. Any other one may send what it
// likes under those names, which the documents do not have.
func TestLate_EachSettingIsReadOrRefusedByName(t *testing.T) {
	good := map[string]string{
		"reasoning_effort": `"low"`, "language": `"de"`, "retrieval_reasoning_effort": `"minimal"`,
		"use_agentic_knowledgebase": `false`, "use_web_source": `false`, "use_sharepoint_source": `false`,
	}
	for key := range laterSettings {
		values := []string{`{"x":1}`, `[true]`, `17`, `"no such value"`, `true`, `"de"`, `null`, good[key]}
		for _, value := range values {
			if value == "" || key == "send_text_sources" && value != "true" {
				continue // it would not be a later client
			}
			ok := value == "null" || value == good[key] || good[key] == "" && value == "true" || key == "language" && strings.HasPrefix(value, `"`)
			for others, want := range map[string]int{`,"send_text_sources":true`: map[bool]int{true: 200, false: 400}[ok], "": 200} {
				if key == "send_text_sources" {
					others = ""
				}
				body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"context":{"overrides":{%q:%s%s}}}`, key, value, others)
				w := httptest.NewRecorder()
				runner := &wiretest.Scripted{Steps: wiretest.Script(t, "include short.events\ninclude answer.events\ninclude finished.events")}
				serve(handlerOf(runner, nil)).ServeHTTP(w, wiretest.Request(t, "POST /chat\nContent-Type: application/json\n\n"+body))
				if w.Code != want || want == 400 && !strings.Contains(w.Body.String(), "context.overrides."+key) {
					t.Errorf("%s gave %d, want %d: %s", body, w.Code, want, w.Body)
				}
			}
		}
	}
}

func TestLate_RefusesBadInputNamingIt(t *testing.T) {
	for input, want := range map[string]string{
		`7`:    `\"input\" must be a question`,
		`null`: `\"input\" must be a question`,
		`" "`:  `\"input\" is empty`,
		`[]`:   `\"input\" has no question`,
		`[7]`:  `\"input[0]\" must be an object`,
		`[{"role":"user","content":"x"},{"role":"tool","content":"x"}]`:                                 `\"input[1].role\" must be`,
		`[{"type":"function_call","role":"user","content":"x"}]`:                                        `\"input[0].type\" must be`,
		`[{"type":null,"role":"user","content":"x"}]`:                                                   `\"input[0].type\" must be`,
		`[{"role":"user","content":7}]`:                                                                 `\"input[0].content\" must be`,
		`[{"role":"user","content":[7]}]`:                                                               `\"input[0].content\" must be`,
		`[{"role":"user","content":[{"type":"input_text"}]}]`:                                           `\"input[0].content\" must be`,
		`[{"role":"user","content":[{"type":7,"text":"x"}]}]`:                                           `\"input[0].content\" must be`,
		`[{"role":"user","content":[]}]`:                                                                `\"input\" has no question`,
		`[` + strings.Repeat(`{"role":"user","content":"x"},`, 1000) + `{"role":"user","content":"x"}]`: `\"input\" may hold 1000 messages at most`,
	} {
		for _, path := range []string{"/chat", "/chat/stream", "/ask", "/p/responses/chat", "/p/responses/chat/stream"} {
			w := httptest.NewRecorder()
			serve(handlerOf(nil, nil)).ServeHTTP(w, wiretest.Request(t, "POST "+path+"\nContent-Type: application/json\n\n"+`{"input":`+input+`}`))
			if w.Code != 400 || !strings.HasPrefix(w.Body.String(), `{"error":"`+want) {
				t.Errorf("%s, %.80s: status %d, %s", path, input, w.Code, w.Body)
			}
		}
	}
}
