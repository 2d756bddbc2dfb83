package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"parley/internal/wire/wiretest"
)

func readDocument(t *testing.T, s *Server) *wiretest.Document {
	t.Helper()
	w := do(s, http.MethodGet, "/openapi.json", "")
	if w.Code != http.StatusOK {
		_, err := s.description()
		t.Fatalf("/openapi.json: status %d, %v", w.Code, err)
	}
	return wiretest.Parse(t, w.Body.Bytes())
}

func TestOpenAPI_DescribesTheTableOfRoutesAndNothingElse(t *testing.T) {
	s := newServer(t, options{})
	d := readDocument(t, s)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("openapi is %q", d.OpenAPI)
	}
	var described, served []string
	for path, item := range d.Paths {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	for _, rt := range s.endpoints {
		path := strings.NewReplacer("{$}", "", "...}", "}").Replace(rt.path)
		for method := range rt.methods {
			if method != http.MethodHead { // the document says that every GET also takes HEAD
				served = append(served, method+" "+path)
			}
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("the document describes\n%s\nthe server has\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}

func TestOpenAPI_ExamplesReallyWorkAndAnswersFitTheSchemas(t *testing.T) {
	synctest.Test(t, examplesReallyWork) // streams take their time
}

func examplesReallyWork(t *testing.T) {
	d := readDocument(t, newServer(t, options{}))
	for path, item := range d.Paths {
		for method, op := range item.Operations() {
			s := newServer(t, options{}) // a new server, because the operations delete things that others need
			target := targetOf(op, path)
			if strings.HasSuffix(target, "?query_id=x") {
				do(s, http.MethodPost, "/p/ragchat/chat", `{"message":"q","params":{"query_id":"x"}}`) // or it would wait for one
			}
			if method == http.MethodGet || method == http.MethodDelete {
				check(t, d, s, method, target, "", op, success(op))
				continue
			}
			if form, ok := op.RequestBody.Content["multipart/form-data"]; ok && len(op.RequestBody.Content) == 1 {
				contentType, body := formOf(t, form)
				check(t, d, s, method, target, body, op, success(op), "Content-Type", contentType)
				check(t, d, s, method, target, `[]`, op, 415)
				continue
			}
			body := op.RequestBody.Content["application/json"]
			if len(body.Examples) == 0 {
				t.Errorf("%s %s has no example", method, path)
			}
			for name, example := range body.Examples {
				if err := d.Validate(body.Schema, decode(t, example.Value)); err != nil {
					t.Errorf("%s %s: example %s does not fit its schema: %v", method, path, name, err)
				}
				check(t, d, s, method, target, string(example.Value), op, success(op))
			}
			if _, ignored := body.Examples["none"]; !ignored {
				check(t, d, s, method, target, `[]`, op, 400)
			}
			check(t, d, s, method, target, strings.Repeat(" ", 1<<20+1), op, 413)
		}
	}
}

// formOf returns the example of a form with a file, and its content type.
func formOf(t *testing.T, m wiretest.Media) (contentType, body string) {
	t.Helper()
	var b strings.Builder
	form := multipart.NewWriter(&b)
	for _, example := range m.Examples {
		var parts map[string]string
		if err := json.Unmarshal(example.Value, &parts); err != nil {
			t.Fatal(err)
		}
		for name, content := range parts {
			part, err := form.CreateFormFile(name, "travel.md")
			if err == nil {
				_, err = part.Write([]byte(content))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return form.FormDataContentType(), b.String()
}

// targetOf returns a path in the form that clients use, with the parameters that it requires.
func targetOf(o *wiretest.Operation, path string) string {
	for _, p := range o.Parameters {
		path = strings.ReplaceAll(path, "{"+p.Name+"}", p.Example)
		if p.In == "query" && p.Required {
			path += "?" + p.Name + "=x"
		}
	}
	return path
}

// success returns the status of an operation that succeeds.
func success(op *wiretest.Operation) int {
	if op.OperationID == "aiSDKResume" {
		return http.StatusNoContent // no answer is being written
	}
	for _, status := range []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent} {
		if _, ok := op.Responses[fmt.Sprint(status)]; ok {
			return status
		}
	}
	switch op.OperationID {
	case "speech":
		return http.StatusBadRequest // there is none
	case "connectResponses":
		return http.StatusUpgradeRequired // nobody asks for a WebSocket
	}
	return http.StatusOK
}

// check calls an operation and compares the reply with its description in the document.
func check(t *testing.T, d *wiretest.Document, s *Server, method, target, body string, op *wiretest.Operation, status int, headers ...string) {
	t.Helper()
	w := do(s, method, target, body, headers...)
	name := fmt.Sprintf("%s %s (%.60s)", method, target, body)
	if w.Code != status {
		t.Errorf("%s: status %d, want %d: %s", name, w.Code, status, w.Body)
		return
	}
	described, ok := op.Responses[fmt.Sprint(status)]
	if !ok {
		t.Errorf("%s: status %d is not described", name, status)
		return
	}
	contentType, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	content := d.Response(described).Content
	if content == nil && w.Body.Len() == 0 {
		return
	}
	m, ok := content[contentType]
	if _, anything := content["*/*"]; anything {
		return
	}
	if !ok {
		t.Errorf("%s: content type %s is not described", name, contentType)
		return
	}
	switch contentType {
	case "application/json":
		if err := d.Validate(m.Schema, decode(t, w.Body.Bytes())); err != nil {
			t.Errorf("%s: the answer does not fit its schema: %v\n%s", name, err, w.Body)
		}
	case "application/json-lines", "application/jsonl":
		count := 0
		for scanner := bufio.NewScanner(w.Body); scanner.Scan(); count++ {
			if err := d.Validate(m.Schema, decode(t, scanner.Bytes())); err != nil {
				t.Errorf("%s: a line does not fit its schema: %v\n%s", name, err, scanner.Text())
			}
		}
		if count < 3 {
			t.Errorf("%s: only %d lines", name, count)
		}
	case "text/event-stream":
		events := strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
		least := 1
		if strings.HasPrefix(target, "/v1/") || strings.HasPrefix(target, "/p/ai-sdk/") {
			if events[len(events)-1] != "data: [DONE]" {
				t.Errorf("%s: the events are %q", name, events)
			}
			events, least = events[:len(events)-1], 3
		}
		for _, event := range events {
			event, _, _ = strings.Cut(event, "\nid: ")
			_, data, _ := strings.Cut(event, "data: ") // behind its name
			if err := d.Validate(m.Schema, decode(t, []byte(data))); err != nil {
				t.Errorf("%s: an event does not fit its schema: %v\n%s", name, err, event)
			}
		}
		if len(events) < least {
			t.Errorf("%s: the events are %q", name, events)
		}
	}
}

func TestOpenAPI_ExamplesOfAnswersFitTheirSchemas(t *testing.T) {
	d := readDocument(t, newServer(t, options{}))
	responses := d.Components.Responses
	for path, item := range d.Paths {
		for _, op := range item.Operations() {
			for status, r := range op.Responses {
				if resolved := d.Response(r); resolved.Content == nil && status != "101" && status != "204" && status != "304" {
					t.Errorf("%s: the response %s has no content", path, status)
				}
				responses[path+" "+status] = r
			}
		}
	}
	for name, r := range responses {
		for _, m := range d.Response(r).Content {
			if m.Example == nil {
				continue
			}
			if err := d.Validate(m.Schema, m.Example); err != nil {
				t.Errorf("%s: the example does not fit its schema: %v", name, err)
			}
		}
	}
}

func TestValidate_FindsWhatDoesNotFit(t *testing.T) {
	d := readDocument(t, newServer(t, options{}))
	cases := []struct {
		schema, value string
		fits          bool
	}{
		{`{"type":"string"}`, `"a"`, true},
		{`{"type":"string"}`, `1`, false},
		{`{"type":["string","null"]}`, `null`, true},
		{`{"type":"integer","minimum":0}`, `-1`, false},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"enum":["a"]}`, `"b"`, false},
		{`{"const":"a"}`, `"b"`, false},
		{`{"type":"object","required":["a"]}`, `{}`, false},
		{`{"type":"object","properties":{},"additionalProperties":false}`, `{"a":1}`, false},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":1}`, false},
		{`{"type":"array","minItems":1}`, `[]`, false},
		{`{"type":"array","items":{"type":"string"}}`, `[1]`, false},
		{`{"oneOf":[{"type":"string"},{"const":"a"}]}`, `"a"`, false},
		{`{"anyOf":[{"type":"string"},{"const":1}]}`, `true`, false},
		{`{"$ref":"#/components/schemas/Error"}`, `{"error":1}`, false},
		{`{"$ref":"#/components/schemas/Nothing"}`, `1`, false},
		{`{"format":"date-time"}`, `"2026-11-28T18:00:00Z"`, true},
		{`{"format":"date-time"}`, `null`, true},
		{`{"format":"date-time"}`, `"yesterday"`, false},
		{`{"pattern":"x"}`, `"x"`, false}, // a keyword that the validator does not know
	}
	for _, c := range cases {
		err := d.Validate(decode(t, []byte(c.schema)), decode(t, []byte(c.value)))
		if (err == nil) != c.fits {
			t.Errorf("%s against %s: %v", c.value, c.schema, err)
		}
	}
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}
