// Package openaitest checks requests and responses below /v1 against OpenAI's own description of its API.
package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Description is OpenAI's description of its API: openapi.json of github.com/openai/openai-openapi. It is large and not ours, so
// it is not in this repository: the environment variable PARLEY_TEST_OPENAI names the file.
type Description struct {
	paths    map[string]map[string]json.RawMessage // operations, by path and method in lower case
	resolved *jsonschema.Resolved                  // has a property for each body, named by bodyName
	names    map[string]bool                       // of those properties
}

// Read reads the description. It returns nil if the variable is not set, and fails the test if the file is not usable.
func Read(t testing.TB) *Description {
	t.Helper()
	path := os.Getenv("PARLEY_TEST_OPENAI")
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	o := &Description{paths: d.Paths, names: map[string]bool{}}
	root := object{"$defs": object{}, "properties": object{"error": object{"$ref": "#/$defs/ErrorResponse"}}}
	for name, schema := range d.Components.Schemas {
		root["$defs"].(object)[name] = plainSchema(schema, name)
	}
	for path, operations := range d.Paths {
		for method, operation := range operations {
			var op struct {
				RequestBody struct{ Content map[string]media }
				Responses   map[string]struct{ Content map[string]media }
			}
			if json.Unmarshal(operation, &op) != nil { // a member of the path that is not an operation
				continue
			}
			for kind, m := range op.RequestBody.Content {
				o.add(root, bodyName(method, path, "request", kind), m)
			}
			for status, response := range op.Responses {
				for kind, m := range response.Content {
					o.add(root, bodyName(method, path, status, kind), m)
				}
			}
		}
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if o.resolved, err = schema.Resolve(nil); err != nil {
		t.Fatal(err)
	}
	return o
}

// object is a JSON object.
type object = map[string]any

type media struct{ Schema any }

func bodyName(method, path, what, kind string) string {
	return strings.ToLower(method) + " " + path + " " + what + " " + kind
}

func (d *Description) add(root object, name string, m media) {
	if m.Schema != nil {
		root["properties"].(object)[name] = plainSchema(m.Schema, "")
		d.names[name] = true
	}
}

// skippedKeywords are keywords that check nothing, or that JSON Schema or Go's regular expressions write differently.
var skippedKeywords = []string{"example", "examples", "default", "$recursiveAnchor", "pattern", "exclusiveMinimum", "exclusiveMaximum"}

// plainSchema converts an OpenAPI schema to JSON Schema. name is the component that contains the schema.
func plainSchema(v any, name string) any {
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for i, element := range v {
			all[i] = plainSchema(element, name)
		}
		return all
	case object:
		s := object{}
		for key, rule := range v {
			text, _ := rule.(string)
			_, isSchema := rule.(object) // then key is the name of a member, not a keyword
			switch {
			case key == "$ref":
				s[key] = strings.Replace(text, "#/components/schemas/", "#/$defs/", 1)
			case key == "$recursiveRef":
				s["$ref"] = "#/$defs/" + name
			case isSchema || !slices.Contains(skippedKeywords, key):
				s[key] = plainSchema(rule, name)
			}
		}
		if s["nullable"] == true {
			delete(s, "nullable")
			return object{"anyOf": []any{s, object{"type": "null"}}}
		}
		return s
	}
	return v
}

// Exchange is a request to a path below /v1 and its response.
type Exchange struct {
	Method, Path                string
	RequestMedia, ResponseMedia string // without parameters
	Request, Response           []byte
	Status                      int
}

// Judge returns what is invalid in an exchange. It checks the request if it is JSON and was accepted, the response if it is JSON,
// and each event of a streamed response.
func (d *Description) Judge(x Exchange) (wrong []error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(x.Path, "/v1"), "?")
	path = d.find(strings.TrimSuffix(path, "/"))
	if x.Method == http.MethodGet && path == "/responses" {
		return nil // a WebSocket
	}
	if path == "" || d.paths[path][strings.ToLower(x.Method)] == nil {
		return []error{fmt.Errorf("%s %s is not described", x.Method, x.Path)}
	}
	body := func(what, kind string, text []byte) {
		name := bodyName(x.Method, path, what, kind)
		if what == "error" {
			name = what
		} else if !d.names[name] {
			if !slices.Contains(undescribed, name) {
				wrong = append(wrong, fmt.Errorf("%s is not described", name))
			}
			return
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		} else if err := d.resolved.Validate(object{name: withoutDifferences(v)}); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %s", name, cause(err), text))
		}
	}
	what := fmt.Sprint(x.Status)
	if x.Status >= http.StatusBadRequest {
		what = "error"
	} else if x.RequestMedia == "application/json" && len(x.Request) > 0 {
		body("request", x.RequestMedia, x.Request)
	}
	all := []string{string(x.Response)}
	switch x.ResponseMedia {
	case "application/json":
	case "text/event-stream":
		all = strings.Split(string(x.Response), "\n")
	default:
		return wrong
	}
	for _, text := range all {
		if text = strings.TrimPrefix(text, "data: "); !strings.HasPrefix(text, "{") {
			continue
		}
		if strings.HasPrefix(text, `{"error":`) {
			body("error", x.ResponseMedia, []byte(text))
		} else {
			body(what, x.ResponseMedia, []byte(text))
		}
	}
	return wrong
}

// undescribed lists bodies that OpenAI's API sends or accepts, but that its description lacks.
var undescribed = []string{
	"post /completions 200 text/event-stream",
	"get /responses/{response_id} 200 text/event-stream",
	"delete /responses/{response_id} 200 application/json",
	"post /vector_stores/{vector_store_id}/file_batches/{batch_id}/cancel request application/json",
}

// withoutDifferences returns a body without the known and justified differences from the description.
func withoutDifferences(v any) any {
	switch v := v.(type) {
	case []any:
		all := []any{}
		for _, element := range v {
			m, _ := element.(object)
			if kind, _ := m["type"].(string); !strings.Contains(kind, ":") { // not an item type of another server, which Open Responses allows
				all = append(all, withoutDifferences(element))
			}
		}
		return all
	case object:
		s := object{}
		for key, member := range v {
			s[key] = withoutDifferences(member)
		}
		switch {
		case s["object"] == "response":
			if s["usage"] == nil { // Open Responses requires the member, and OpenAI sends it too
				delete(s, "usage")
			}
			if failed, ok := s["error"].(object); ok { // the description lists OpenAI's codes
				failed["code"] = "server_error"
			}
		case s["object"] == "embedding":
			if _, ok := s["embedding"].(string); ok { // in base64, which the description omits
				s["embedding"] = []any{}
			}
		case s["object"] == "list" && s["first_id"] == nil: // an empty list, as OpenAI sends it
			s["first_id"], s["last_id"] = "", ""
		case s["object"] == "vector_store.search_results.page":
			for _, found := range s["data"].([]any) { // Parley's own members
				delete(found.(object), "page")
				delete(found.(object), "url")
			}
		case s["type"] == "response.reasoning.delta" || s["type"] == "response.reasoning.done": // the names of Open Responses
			s["type"] = strings.Replace(s["type"].(string), "reasoning", "reasoning_text", 1)
		}
		return s
	}
	return v
}

// cause shortens the error of a union: it drops the lines about alternatives of another type.
func cause(err error) string {
	lines := strings.Split(err.Error(), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "/properties/type: enum: ") })
	return strings.Join(lines, "\n")
}

// find returns the described path that matches a client's path, or "". Of several it returns the one with the fewest parameters.
// The last parameter may match several segments.
func (d *Description) find(path string) (best string) {
	segments := strings.Split(path, "/")
	least := 2 * len(segments)
	for described := range d.paths {
		if strings.Contains(described, "?") { // a variant of another path
			continue
		}
		parts := strings.Split(described, "/")
		parameters := len(segments) - len(parts)
		fits := parameters == 0 || parameters > 0 && strings.HasSuffix(described, "}")
		for i, part := range parts {
			if strings.HasPrefix(part, "{") {
				parameters++
			} else {
				fits = fits && part == segments[i]
			}
		}
		if fits && parameters < least {
			best, least = described, parameters
		}
	}
	return best
}
