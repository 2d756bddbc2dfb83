package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/chat/chattest"
	"parley/internal/retrieval"
)

// library is a corpus of two documents, of which one is for ann only.
func library() *corpus {
	return &corpus{docs: []retrieval.Document{document("default", "a b.md"), document("default", "a c.pdf", "ann"), document("hr", "hr.pdf")}}
}

func TestFetch_ReturnsThePageOfAnID(t *testing.T) {
	s := connect(t, newHandler(&chattest.Engine{}, library()), "ann")
	for id, want := range map[string]fetchResult{
		"parley://default/a%20c.pdf#page=2": {Title: "T a c.pdf, page 2", Text: "page two", URL: "https://parley.example/content/a%20c.pdf#page=2",
			Metadata: map[string]string{"document": "a c.pdf", "namespace": "default", "page": "2", "pages": "2"}},
		"parley://hr/hr.pdf": {Title: "T hr.pdf", Text: "page one of 6\npage two", URL: "https://parley.example/content/hr.pdf?namespace=hr",
			Metadata: map[string]string{"document": "hr.pdf", "namespace": "hr", "pages": "2"}},
	} {
		want.ID = id
		var got, told fetchResult
		text, failed := use(t, s, "fetch", map[string]any{"id": id}, &got)
		if err := json.Unmarshal([]byte(text), &told); err != nil || failed {
			t.Fatalf("%s: %v, %s", id, err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(got, told); diff != "" { // connectors read the text
			t.Error(diff)
		}
	}
}

// What the caller may not see is as what does not exist.
func TestFetch_RefusesWhatIsNotThere(t *testing.T) {
	s := connect(t, newHandler(&chattest.Engine{}, library()), "bob")
	answers := map[string]bool{}
	for _, id := range []string{
		"parley://default/a%20c.pdf#page=2", "parley://default/a%20c.pdf#page=9", "parley://default/none.pdf", "parley://hr/hr.pdf", "parley://hr/none.pdf",
		"file:///etc/passwd", "a c.pdf", "", "parley://default/", "parley://default/%2e%2e/x",
	} {
		text, failed := use(t, s, "fetch", map[string]any{"id": id}, nil)
		if answers[text] = true; !failed {
			t.Errorf("%s: %s", id, text)
		}
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
	for _, page := range []string{"0", "3", "-1", "x", "99999999999999999999"} {
		if text, failed := use(t, s, "fetch", map[string]any{"id": "parley://default/a%20b.md#page=" + page}, nil); !failed || text != "the document has no such page" {
			t.Errorf("page %s: %s", page, text)
		}
	}
}

func TestFetch_ClipsWhatNoModelReads(t *testing.T) {
	if got := clip(strings.Repeat("ä", maxFetch)); len(got) > maxFetch || strings.Trim(got, "ä") != "" {
		t.Errorf("%d bytes", len(got))
	}
}

func TestPrompts(t *testing.T) {
	s := connect(t, newHandler(&chattest.Engine{}, library()), "bob")
	list, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	get := func(name, arg, value string) (string, error) {
		res, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name, Arguments: map[string]string{arg: value}})
		if err != nil {
			return "", err
		}
		raw, err := json.Marshal(res)
		return string(raw), err
	}
	if got, err := get(answerPrompt, "question", "How long?"); err != nil || !strings.Contains(got, "Question: How long?") {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := get(summaryPrompt, "document", "a b.md"); err != nil || !strings.Contains(got, `"uri":"parley://default/a%20b.md"`) || !strings.Contains(got, "page two") {
		t.Errorf("%s, %v", got, err)
	}
	for _, arguments := range [][3]string{
		{summaryPrompt, "document", "a c.pdf"}, {summaryPrompt, "document", "none"}, {summaryPrompt, "x", "y"}, {answerPrompt, "question", " "}, {"none", "a", "b"},
	} {
		if got, err := get(arguments[0], arguments[1], arguments[2]); err == nil {
			t.Errorf("%q: %s", arguments, got)
		}
	}
}

func TestComplete_SuggestsWhatTheCallerMaySee(t *testing.T) {
	names := func(user, kind, argument, begun, namespace string) []string {
		params := &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: kind}, Argument: sdk.CompleteParamsArgument{Name: argument, Value: begun}}
		if params.Ref.Name = summaryPrompt; kind == "ref/resource" {
			params.Ref.Name, params.Ref.URI = "", scheme+"{namespace}/{+name}"
		}
		if namespace != "" {
			params.Context = &sdk.CompleteContext{Arguments: map[string]string{"namespace": namespace}}
		}
		res, err := connect(t, newHandler(&chattest.Engine{}, library()), user).Complete(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return res.Completion.Values
	}
	for _, c := range []struct {
		user, kind, argument, begun, namespace string
		want                                   []string
	}{
		{"ann", "ref/prompt", "document", "a", "", []string{"a b.md", "a c.pdf"}},
		{"bob", "ref/prompt", "document", "a", "", []string{"a b.md"}},
		{"bob", "ref/prompt", "document", "a b.md", "", []string{"a b.md"}},
		{"bob", "ref/prompt", "document", "x", "", []string{}},
		{"ann", "ref/resource", "name", "", "hr", []string{"hr.pdf"}},
		{"bob", "ref/resource", "name", "", "hr", []string{}},
		{"ann", "ref/resource", "namespace", "h", "", []string{"hr"}},
		{"bob", "ref/resource", "namespace", "", "", []string{"default"}},
		{"bob", "ref/resource", "other", "", "", []string{}},
	} {
		if diff := cmp.Diff(c.want, names(c.user, c.kind, c.argument, c.begun, c.namespace)); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

func TestComplete_SaysThatThereIsMoreOnlyIfItLeavesOutAMatch(t *testing.T) {
	h := newHandler(&chattest.Engine{}, library())
	h.cfg.Namespaces = func(context.Context, access.Principal) (all []string, _ error) {
		for i := range maxCompletions + 1 {
			all = append(all, fmt.Sprintf("team-%03d", i))
		}
		return all, nil
	}
	for begun, more := range map[string]bool{"team-": true, "team-00": false} {
		res, err := connect(t, h, "ann").Complete(t.Context(), &sdk.CompleteParams{
			Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: scheme + "{namespace}/{+name}"},
			Argument: sdk.CompleteParamsArgument{Name: "namespace", Value: begun},
		})
		if err != nil || res.Completion.HasMore != more || len(res.Completion.Values) > maxCompletions {
			t.Errorf("%q: %+v, %v", begun, res, err)
		}
	}
}

// A client that asks for progress is told of each stage, in a stream that ends with the answer; others get JSON.
func TestAsk_TellsHowItGetsOn(t *testing.T) {
	engine := &chattest.Engine{Events: append([]chat.Event{chat.StageStarted{Stage: "retrieve"}, chat.StageStarted{Stage: "generate"}},
		chattest.Turn("How long?", "Thirty days.")...)}
	for token, kind := range map[string]string{`"p1"`: "text/event-stream", "7": "text/event-stream", "": "application/json"} {
		meta := ""
		if token != "" {
			meta = `,"_meta":{"progressToken":` + token + `}`
		}
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"question":"How long?"}`+meta+`}}`))
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		serve(newHandler(engine, &corpus{})).ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || !strings.Contains(body, "Thirty days.") {
			t.Errorf("%s: %d %s %s", token, w.Code, w.Header().Get("Content-Type"), body)
		}
		told := strings.Count(body, `"method":"notifications/progress"`)
		if (token != "") != (told >= 2) || token != "" && !strings.Contains(body, fmt.Sprintf(`"progressToken":%s`, token)) {
			t.Errorf("%s: %d notifications: %s", token, told, body)
		}
	}
}
