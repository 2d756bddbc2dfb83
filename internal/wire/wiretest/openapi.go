package wiretest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/wire"
)

// Document is the part of /openapi.json that tests read. Schemas stay generic, because the validator
// reads them as JSON.
type Document struct {
	OpenAPI    string               `json:"openapi"`
	Paths      map[string]*PathItem `json:"paths"`
	Components struct {
		PathItems map[string]*PathItem   `json:"pathItems"`
		Responses map[string]APIResponse `json:"responses"`
		Schemas   object                 `json:"schemas"`
	} `json:"components"`
}

// PathItem describes the operations of a path.
type PathItem struct {
	Ref    string     `json:"$ref"`
	Get    *Operation `json:"get"`
	Post   *Operation `json:"post"`
	Put    *Operation `json:"put"`
	Delete *Operation `json:"delete"`
}

// Operations returns the operations of a path, by method.
func (p *PathItem) Operations() map[string]*Operation {
	all := map[string]*Operation{
		http.MethodGet: p.Get, http.MethodPost: p.Post, http.MethodPut: p.Put, http.MethodDelete: p.Delete,
	}
	maps.DeleteFunc(all, func(_ string, op *Operation) bool { return op == nil })
	return all
}

// Operation is the description of a method of a path.
type Operation struct {
	OperationID string `json:"operationId"`
	Parameters  []struct {
		Name, In, Example string
		Required          bool
	} `json:"parameters"`
	RequestBody struct {
		Required bool
		Content  map[string]Media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]APIResponse `json:"responses"`
}

// APIResponse describes the response of an operation with one status.
type APIResponse struct {
	Ref     string           `json:"$ref"`
	Content map[string]Media `json:"content"`
}

// Media describes a body of one content type.
type Media struct {
	Schema   any `json:"schema"`
	Example  any `json:"example"`
	Examples map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"examples"`
}

// Read returns the description of all routes of the protocols, parsed.
func Read(t testing.TB, protocols ...wire.Protocol) *Document {
	t.Helper()
	raw, err := wire.OpenAPI(protocols...)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(t, raw)
}

// Parse parses a description and resolves the references of its paths.
func Parse(t testing.TB, raw []byte) *Document {
	t.Helper()
	var d Document
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	for path, item := range d.Paths {
		name := strings.TrimPrefix(item.Ref, "#/components/pathItems/")
		if d.Paths[path] = d.Components.PathItems[name]; d.Paths[path] == nil {
			t.Fatalf("%s refers to %s, which is not there", path, item.Ref)
		}
	}
	return &d
}

// Response returns r, or the response that it refers to.
func (d *Document) Response(r APIResponse) APIResponse {
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		return d.Components.Responses[name]
	}
	return r
}

// Find returns the operation for a method and a path in the form that clients use, or nil.
func (d *Document) Find(method, path string) *Operation {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	var best *Operation
	least := 2 * len(segments) // number of segments that parameters match in best
	for pattern, item := range d.Paths {
		parts := strings.Split(pattern, "/")
		parameters := len(segments) - len(parts) // a parameter at the end may match several segments
		fits := parameters == 0 || parameters > 0 && strings.HasSuffix(pattern, "}")
		for i, part := range parts {
			if strings.HasPrefix(part, "{") {
				parameters++
			} else if fits = fits && part == segments[i]; !fits {
				break
			}
		}
		if op := item.Operations()[method]; fits && op != nil && parameters < least {
			best, least = op, parameters
		}
	}
	return best
}

// TestDescribed compares the description of a protocol with its fixtures: it must describe all their
// paths, statuses and members.
//
// Paths that several protocols share are described under mount. Fixtures whose name begins with "doc"
// are examples of the protocol's own documents, so TestDescribed also validates those of their requests that
// succeed. Other requests may be wrong on purpose.
func TestDescribed(t *testing.T, p wire.Protocol, mount string) {
	d := Read(t, p)
	for _, f := range Fixtures(t) {
		for _, name := range f.Names() {
			number, ok := strings.CutPrefix(name, "request")
			if !ok {
				continue
			}
			if err := d.judge(f, mount, Request(t, f.Text(name)), f.Text(name), f.Text("response"+number)); err != nil {
				t.Errorf("%s, %s: %v", f.Path, name, err)
			}
		}
	}
}

// TestMembers compares the members of a schema with the names that a protocol reads.
func (d *Document) TestMembers(t *testing.T, schema string, names []string) {
	t.Helper()
	described, _ := d.members(d.Components.Schemas[schema])
	for _, name := range names {
		if described[name] == nil {
			t.Errorf("%s does not describe %s", schema, name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s describes %s, which nothing reads", schema, name)
	}
}

func (d *Document) judge(f Fixture, mount string, r *http.Request, request, response string) error {
	op := d.Find(r.Method, r.URL.Path)
	if op == nil {
		op = d.Find(r.Method, mount+r.URL.Path)
	}
	if op == nil {
		return fmt.Errorf("%s %s is not described", r.Method, r.URL.Path)
	}
	head, body, _ := strings.Cut(response, "\n\n")
	status, headers, _ := strings.Cut(head, "\n")
	described, ok := op.Responses[status]
	if !ok {
		return fmt.Errorf("%s %s does not describe the status %s", r.Method, r.URL.Path, status)
	}
	_, contentType, _ := strings.Cut(headers, "Content-Type: ")
	contentType, _, _ = strings.Cut(contentType, "\n")
	m, ok := d.Response(described).Content[contentType]
	if !ok && body != "" {
		return fmt.Errorf("%s %s does not describe the content type %q of %s", r.Method, r.URL.Path, contentType, status)
	}
	for i, text := range values(contentType, body) {
		if err := d.validateText(m.Schema, text); err != nil {
			return fmt.Errorf("value %d of the response: %w", i, err)
		}
	}
	_, sent, _ := strings.Cut(request, "\n\n")
	if asked, ok := op.RequestBody.Content["application/json"]; ok && status == "200" && strings.HasPrefix(f.Path, "testdata/doc") && sent != "" {
		if err := d.validateText(asked.Schema, sent); err != nil {
			return fmt.Errorf("the request: %w", err)
		}
	}
	return nil
}

func (d *Document) validateText(schema any, text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return d.Validate(schema, v)
}

// values returns the JSON values in a body.
func values(contentType, body string) (all []string) {
	switch contentType {
	case "application/json":
		return []string{body}
	case "application/json-lines", "application/jsonl", "text/event-stream":
		for line := range strings.Lines(body) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
			if strings.HasPrefix(line, "{") {
				all = append(all, line)
			}
		}
	}
	return all
}

// Validate checks v against the part of JSON Schema that the document uses. An unknown keyword is an
// error, so that no rule goes unchecked. A member that the schema does not describe is an error too,
// unless additionalProperties allows it.
func (d *Document) Validate(schema, v any) error {
	s, ok := schema.(object)
	if !ok {
		return fmt.Errorf("%v is not a schema", schema)
	}
	for keyword, rule := range s {
		if err := d.keyword(s, keyword, rule, v); err != nil {
			return err
		}
	}
	if members, open := d.members(schema); !open {
		return d.keyword(object{"properties": members}, "additionalProperties", false, v)
	}
	return nil
}

// members returns the members of an object that a schema describes, and whether the schema allows
// others.
func (d *Document) members(schema any) (all object, open bool) {
	s, _ := schema.(object)
	if name, ok := s["$ref"].(string); ok {
		return d.members(d.Components.Schemas[strings.TrimPrefix(name, "#/components/schemas/")])
	}
	all = object{}
	if own, ok := s["properties"].(object); ok {
		maps.Copy(all, own)
	} else if s["allOf"] == nil {
		return all, true
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		more, _ := d.members(part)
		maps.Copy(all, more)
	}
	return all, s["additionalProperties"] != nil
}

// object is a JSON object. The validator reads schemas in this form.
type object = map[string]any

func (d *Document) keyword(s object, keyword string, rule, v any) error {
	members, isObject := v.(object)
	array, isArray := v.([]any)
	switch keyword {
	case "description":
	case "$ref":
		name := strings.TrimPrefix(rule.(string), "#/components/schemas/")
		return d.Validate(d.Components.Schemas[name], v)
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
			return fmt.Errorf("%v is not one of %v", v, rule)
		}
	case "minimum":
		if n, ok := v.(float64); ok && n < rule.(float64) {
			return fmt.Errorf("%v is less than %v", v, rule)
		}
	case "maximum":
		if n, ok := v.(float64); ok && n > rule.(float64) {
			return fmt.Errorf("%v is more than %v", v, rule)
		}
	case "minItems":
		if isArray && float64(len(array)) < rule.(float64) {
			return fmt.Errorf("%d elements are fewer than %v", len(array), rule)
		}
	case "required":
		for _, key := range rule.([]any) {
			if _, ok := members[key.(string)]; isObject && !ok {
				return fmt.Errorf("%v is missing", key)
			}
		}
	case "properties":
		for key, schema := range rule.(object) {
			if member, ok := members[key]; ok {
				if err := d.Validate(schema, member); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
			}
		}
	case "additionalProperties":
		known, _ := s["properties"].(object)
		return d.others(known, rule, members)
	case "items":
		for i, element := range array {
			if err := d.Validate(rule, element); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case "allOf":
		return d.all(rule.([]any), v)
	case "format":
		return hasFormat(rule, v)
	case "maxLength": // not checked
	case "oneOf", "anyOf":
		return d.some(keyword == "oneOf", rule.([]any), v)
	default:
		return fmt.Errorf("the validator does not know %q", keyword)
	}
	return nil
}

// hasFormat checks the format of a string. Values of other types always pass.
func hasFormat(format, v any) error {
	text, ok := v.(string)
	switch {
	case format != "date-time":
		return fmt.Errorf("the validator does not know the format %v", format)
	case ok:
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("%q is not a time: %w", text, err)
		}
	}
	return nil
}

// others checks the members of an object that are not in known.
func (d *Document) others(known object, rule any, members object) error {
	if rule == true {
		return nil
	}
	for key, member := range members {
		if _, ok := known[key]; ok {
			continue
		}
		if rule == false {
			return fmt.Errorf("%s is not described", key)
		}
		if err := d.Validate(rule, member); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// all checks v against each part. A part does not describe the members of the others, so additional members are allowed.
func (d *Document) all(parts []any, v any) error {
	for _, part := range parts {
		open := object{"additionalProperties": true}
		if name, ok := part.(object)["$ref"].(string); ok {
			part = d.Components.Schemas[strings.TrimPrefix(name, "#/components/schemas/")]
		}
		maps.Copy(open, part.(object))
		if err := d.Validate(open, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) some(one bool, schemas []any, v any) error {
	fitting, reasons := 0, []string{}
	for _, schema := range schemas {
		if err := d.Validate(schema, v); err != nil {
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
