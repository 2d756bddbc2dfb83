package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// document is openapi.json as far as the tests read it. Schemas stay generic: the validator
// walks them as JSON.
type document struct {
	OpenAPI    string               `json:"openapi"`
	Paths      map[string]*pathItem `json:"paths"`
	Components struct {
		PathItems map[string]*pathItem `json:"pathItems"`
		Responses map[string]response  `json:"responses"`
		Schemas   map[string]any       `json:"schemas"`
	} `json:"components"`
}

type pathItem struct {
	Ref    string     `json:"$ref"`
	Get    *operation `json:"get"`
	Post   *operation `json:"post"`
	Put    *operation `json:"put"`
	Delete *operation `json:"delete"`
}

// operations returns what a path does, by method.
func (p *pathItem) operations() map[string]*operation {
	all := map[string]*operation{
		http.MethodGet: p.Get, http.MethodPost: p.Post, http.MethodPut: p.Put, http.MethodDelete: p.Delete,
	}
	maps.DeleteFunc(all, func(_ string, op *operation) bool { return op == nil })
	return all
}

type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []struct {
		Name, In, Example string
		Required          bool
	} `json:"parameters"`
	RequestBody struct {
		Required bool
		Content  map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref     string           `json:"$ref"`
	Content map[string]media `json:"content"`
}

type media struct {
	Schema   any `json:"schema"`
	Example  any `json:"example"`
	Examples map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"examples"`
}

func readDocument(t *testing.T, s *Server) *document {
	t.Helper()
	w := do(s, http.MethodGet, "/openapi.json", "")
	if w.Code != http.StatusOK || w.Body.String() != openAPIDocument {
		t.Fatalf("/openapi.json: status %d, not the embedded document", w.Code)
	}
	var d document
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for path, item := range d.Paths {
		if name, ok := strings.CutPrefix(item.Ref, "#/components/pathItems/"); ok {
			if d.Paths[path] = d.Components.PathItems[name]; d.Paths[path] == nil {
				t.Fatalf("%s refers to %s, which is not there", path, item.Ref)
			}
		}
	}
	return &d
}

func (d *document) response(r response) response {
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		return d.Components.Responses[name]
	}
	return r
}

func TestOpenAPI_DescribesTheTableOfRoutesAndNothingElse(t *testing.T) {
	s := newServer(t, options{})
	d := readDocument(t, s)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("openapi is %q", d.OpenAPI)
	}
	var described, served []string
	for path, item := range d.Paths {
		for method := range item.operations() {
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
		for method, op := range item.operations() {
			s := newServer(t, options{}) // what one operation deletes is there for the next
			target := op.target(path)
			if strings.HasSuffix(target, "?query_id=x") {
				do(s, http.MethodPost, "/p/ragchat/chat", `{"message":"q","params":{"query_id":"x"}}`) // or it would wait for one
			}
			if method == http.MethodGet || method == http.MethodDelete {
				d.check(t, s, method, target, "", op, success(op))
				continue
			}
			if form, ok := op.RequestBody.Content["multipart/form-data"]; ok && len(op.RequestBody.Content) == 1 {
				contentType, body := formOf(t, form)
				d.check(t, s, method, target, body, op, success(op), "Content-Type", contentType)
				d.check(t, s, method, target, `[]`, op, 415)
				continue
			}
			body := op.RequestBody.Content["application/json"]
			if len(body.Examples) == 0 {
				t.Errorf("%s %s has no example", method, path)
			}
			for name, example := range body.Examples {
				if err := d.validate(body.Schema, decode(t, example.Value)); err != nil {
					t.Errorf("%s %s: example %s does not fit its schema: %v", method, path, name, err)
				}
				d.check(t, s, method, target, string(example.Value), op, success(op))
			}
			if _, ignored := body.Examples["none"]; !ignored {
				d.check(t, s, method, target, `[]`, op, 400)
			}
			d.check(t, s, method, target, strings.Repeat(" ", 1<<20+1), op, 413)
		}
	}
}

// formOf returns the example of a form with a file.
func formOf(t *testing.T, m media) (contentType, body string) {
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

// target returns a path as a client writes it, and with the parameters that it needs.
func (o *operation) target(path string) string {
	for _, p := range o.Parameters {
		path = strings.ReplaceAll(path, "{"+p.Name+"}", p.Example)
		if p.In == "query" && p.Required {
			path += "?" + p.Name + "=x"
		}
	}
	return path
}

// success returns the status with which an operation succeeds.
func success(op *operation) int {
	for _, status := range []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent} {
		if _, ok := op.Responses[fmt.Sprint(status)]; ok {
			return status
		}
	}
	if op.OperationID == "speech" {
		return http.StatusBadRequest // there is none
	}
	return http.StatusOK
}

// check calls an operation and compares what comes with what the document says of it.
func (d *document) check(t *testing.T, s *Server, method, target, body string, op *operation, status int, headers ...string) {
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
	content := d.response(described).Content
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
		if err := d.validate(m.Schema, decode(t, w.Body.Bytes())); err != nil {
			t.Errorf("%s: the answer does not fit its schema: %v\n%s", name, err, w.Body)
		}
	case "application/json-lines", "application/jsonl":
		count := 0
		for scanner := bufio.NewScanner(w.Body); scanner.Scan(); count++ {
			if err := d.validate(m.Schema, decode(t, scanner.Bytes())); err != nil {
				t.Errorf("%s: a line does not fit its schema: %v\n%s", name, err, scanner.Text())
			}
		}
		if count < 3 {
			t.Errorf("%s: only %d lines", name, count)
		}
	case "text/event-stream":
		events := strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
		least := 1
		if strings.HasPrefix(target, "/v1/") {
			if events[len(events)-1] != "data: [DONE]" {
				t.Errorf("%s: the events are %q", name, events)
			}
			events, least = events[:len(events)-1], 3
		}
		for _, event := range events {
			event, _, _ = strings.Cut(event, "\nid: ")
			if err := d.validate(m.Schema, decode(t, []byte(strings.TrimPrefix(event, "data: ")))); err != nil {
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
		for _, op := range item.operations() {
			for status, r := range op.Responses {
				if resolved := d.response(r); resolved.Content == nil && status != "304" && status != "204" {
					t.Errorf("%s: the response %s has no content", path, status)
				}
				responses[path+" "+status] = r
			}
		}
	}
	for name, r := range responses {
		for _, m := range d.response(r).Content {
			if m.Example == nil {
				continue
			}
			if err := d.validate(m.Schema, m.Example); err != nil {
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
		{`{"pattern":"x"}`, `"x"`, false}, // a keyword that the validator does not know
	}
	for _, c := range cases {
		err := d.validate(decode(t, []byte(c.schema)), decode(t, []byte(c.value)))
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

// validate checks v against the part of JSON Schema that the document uses; another keyword is
// an error, so that no rule goes unchecked.
func (d *document) validate(schema, v any) error {
	s, ok := schema.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is not a schema", schema)
	}
	for keyword, rule := range s {
		if err := d.keyword(s, keyword, rule, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) keyword(s map[string]any, keyword string, rule, v any) error {
	object, isObject := v.(map[string]any)
	array, isArray := v.([]any)
	switch keyword {
	case "description":
	case "$ref":
		name := strings.TrimPrefix(rule.(string), "#/components/schemas/")
		return d.validate(d.Components.Schemas[name], v)
	case "type":
		if !hasType(rule, v) {
			return fmt.Errorf("%v is not of type %v", v, rule)
		}
	case "const":
		if v != rule {
			return fmt.Errorf("%v is not %v", v, rule)
		}
	case "enum":
		if !slices.Contains(rule.([]any), v) {
			return fmt.Errorf("%v is none of %v", v, rule)
		}
	case "minimum":
		if n, ok := v.(float64); ok && n < rule.(float64) {
			return fmt.Errorf("%v is less than %v", v, rule)
		}
	case "minItems":
		if isArray && float64(len(array)) < rule.(float64) {
			return fmt.Errorf("%d elements are fewer than %v", len(array), rule)
		}
	case "required":
		for _, key := range rule.([]any) {
			if _, ok := object[key.(string)]; isObject && !ok {
				return fmt.Errorf("%v is missing", key)
			}
		}
	case "properties":
		for key, schema := range rule.(map[string]any) {
			if member, ok := object[key]; ok {
				if err := d.validate(schema, member); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
			}
		}
	case "additionalProperties":
		known, _ := s["properties"].(map[string]any)
		for key := range object {
			if _, ok := known[key]; ok {
				continue
			}
			if rule == false {
				return fmt.Errorf("%s is not described", key)
			}
			if err := d.validate(rule, object[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	case "items":
		for i, element := range array {
			if err := d.validate(rule, element); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case "oneOf", "anyOf":
		return d.some(keyword == "oneOf", rule.([]any), v)
	default:
		return fmt.Errorf("the validator does not know %q", keyword)
	}
	return nil
}

func (d *document) some(one bool, schemas []any, v any) error {
	fitting, reasons := 0, []string{}
	for _, schema := range schemas {
		if err := d.validate(schema, v); err != nil {
			reasons = append(reasons, err.Error())
		} else {
			fitting++
		}
	}
	if fitting == 0 || one && fitting > 1 {
		return fmt.Errorf("%d alternatives fit (%s)", fitting, strings.Join(reasons, "; "))
	}
	return nil
}

func hasType(rule, v any) bool {
	if names, ok := rule.([]any); ok {
		return slices.ContainsFunc(names, func(name any) bool { return hasType(name, v) })
	}
	switch v := v.(type) {
	case nil:
		return rule == "null"
	case bool:
		return rule == "boolean"
	case string:
		return rule == "string"
	case float64:
		return rule == "number" || rule == "integer" && v == float64(int64(v))
	case []any:
		return rule == "array"
	}
	return rule == "object"
}
