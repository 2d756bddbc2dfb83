package wire

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/internal/lazyregexp"
)

// openAPIBase contains what the protocols share: the title, the schema of errors, parameters and headers.
//
//go:embed openapi.json
var openAPIBase []byte

// apiPart is one protocol's part of the description of all routes. It omits what OpenAPI derives from the
// routes: the parameters and usual responses of routes with a body, a turn or a required right, and paths
// with a trailing slash.
//
//	{"tag": the tag of its operations, "errors": the name of the schema of its errors,
//	 "parameters": {name of a path parameter: the parameter},
//	 "paths": {path: path item, or the path that it is an alias of},
//	 "schemas": {…}}
//
// In an operation, "errors" overrides the schema of errors, and a response may be just a string: the
// description of an error. A string in place of a schema is the name of one, and a parameter without a schema
// is a string. Bodies are keyed by a short name of their media type (bodyMembers):
//
//	"post": {"json": "Question", "examples": {"short": {"q": "Why?"}},
//	         "responses": {"200": {"description": "The answer.", "json": "Answer"}}}
//
// The schemas of Protocol.Types are derived from their Go types. The part adds what a type does not say, such
// as descriptions; see derive.
type apiPart struct {
	Tag        string
	Errors     string
	Parameters map[string]object
	Paths      map[string]json.RawMessage
	Schemas    map[string]any
}

// object is a JSON object of the description. Most members pass through unchanged.
type object = map[string]any

// OpenAPI returns the description of all routes (OpenAPI 3.1), the sum of the protocols' parts. A part omits
// what follows from its routes; see apiPart. It is an error if a route has no description, or a description
// has no route; the error names it.
func OpenAPI(protocols ...Protocol) ([]byte, error) {
	var doc object
	if err := json.Unmarshal(openAPIBase, &doc); err != nil {
		return nil, fmt.Errorf("read the base: %w", err)
	}
	sum := apiSum{paths: object{}, items: object{}, responses: object{}, schemas: doc["components"].(object)["schemas"].(object)}
	for i, p := range protocols {
		if err := sum.add(p); err != nil {
			return nil, fmt.Errorf("part %d of the description of routes: %w", i, err)
		}
	}
	components := doc["components"].(object)
	components["pathItems"], components["responses"] = sum.items, sum.responses
	doc["paths"] = sum.paths
	return AppendJSON(nil, doc)
}

type apiSum struct{ paths, items, responses, schemas object }

func (s *apiSum) add(p Protocol) error {
	part := apiPart{}
	if len(p.OpenAPI) > 0 {
		if err := json.Unmarshal(p.OpenAPI, &part); err != nil {
			return err
		}
	}
	if err := part.derive(p.Types); err != nil {
		return err
	}
	for name, schema := range part.Schemas {
		if _, twice := s.schemas[name]; twice {
			return fmt.Errorf("the schema %s stands twice", name)
		}
		s.schemas[name] = referring(schema)
	}
	if schema, ok := part.Schemas[p.Schema].(object); ok {
		members := schema["properties"].(object)
		for _, o := range p.Options {
			if members[o.Name] == nil { // otherwise the part itself describes it
				members[o.Name] = o.schema()
			}
		}
	}
	methods := map[string]map[string]Route{} // by path, including a trailing slash
	for _, rt := range p.Routes {
		method, path, _ := strings.Cut(rt.Pattern, " ")
		path = strings.NewReplacer("{$}", "", "...}", "}").Replace(path)
		if methods[path] == nil {
			methods[path] = map[string]Route{}
		}
		methods[path][strings.ToLower(method)] = rt
	}
	described := map[string]string{} // path → name of its item
	for _, path := range slices.Sorted(maps.Keys(part.Paths)) {
		var of string
		if json.Unmarshal(part.Paths[path], &of) == nil {
			continue // an alias, handled below
		}
		item, err := part.item(part.Paths[path], methods[path], s)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := strings.NewReplacer("/", ".", "{", "", "}", "").Replace(path)
		s.items[name], described[path] = item, name
	}
	for path := range methods {
		name, ok := described[path]
		var of string
		if raw := part.Paths[strings.TrimSuffix(path, "/")]; !ok && json.Unmarshal(raw, &of) == nil {
			name, ok = described[of]
		}
		if !ok {
			name, ok = described[strings.TrimSuffix(path, "/")]
		}
		if _, other := s.paths[path]; other {
			continue // shared with a protocol that describes it
		}
		if !ok {
			if isShared(methods[path]) {
				continue
			}
			return fmt.Errorf("%s is not described", path)
		}
		s.paths[path] = object{"$ref": "#/components/pathItems/" + name}
	}
	return nil
}

func isShared(methods map[string]Route) bool {
	for _, rt := range methods {
		if rt.Speaks != "" {
			return true
		}
	}
	return false
}

// item decodes a path item and adds what follows from its routes.
func (part *apiPart) item(raw json.RawMessage, routes map[string]Route, s *apiSum) (object, error) {
	var item map[string]object
	if err := json.Unmarshal(raw, &item); err != nil {
		return nil, err
	}
	filled := object{}
	for method, op := range item {
		rt, ok := routes[method]
		if !ok {
			return nil, fmt.Errorf("there is no route for %s", method)
		}
		if err := part.fill(op, rt, s); err != nil {
			return nil, err
		}
		filled[method] = op
	}
	for method := range routes {
		if _, ok := item[method]; !ok {
			return nil, fmt.Errorf("%s is not described", method)
		}
	}
	return filled, nil
}

func (part *apiPart) fill(op object, rt Route, s *apiSum) error {
	if op["tags"] == nil {
		op["tags"] = []string{part.Tag}
	}
	schema := part.Errors
	if own, ok := op["errors"].(string); ok {
		schema = own
		delete(op, "errors")
	}
	responses, _ := op["responses"].(object)
	if responses == nil {
		responses = object{}
	}
	if content := contentOf(op); content != nil {
		op["requestBody"] = object{"content": content}
	}
	usual := usualErrors(rt)
	if hasQuery(op) && responses["422"] == nil {
		usual["400"] = "A query parameter is invalid."
	}
	if rt.Turn || takes(op, "namespace") {
		usual["404"] = "The namespace, or something else that the request names, does not exist or is not visible to the caller."
	}
	for status, text := range usual {
		if responses[status] == nil {
			responses[status] = text
		}
	}
	for status, r := range responses {
		switch r := r.(type) {
		case string:
			responses[status] = s.response(status, schema, r)
		case object:
			if content := contentOf(r); content != nil {
				r["content"] = content
			}
		}
	}
	op["responses"] = responses
	if body, ok := op["requestBody"].(object); ok && body["required"] == nil {
		body["required"] = true
	}
	return part.fillParameters(op, rt)
}

// takes reports whether an operation has a parameter with this name.
func takes(op object, name string) bool {
	parameters, _ := op["parameters"].([]any)
	return slices.ContainsFunc(parameters, func(p any) bool { return p.(object)["name"] == name })
}

func hasQuery(op object) bool {
	parameters, _ := op["parameters"].([]any)
	return slices.ContainsFunc(parameters, func(p any) bool { return p.(object)["in"] == "query" })
}

// usualErrors returns the descriptions of the errors that follow from the fields of a route, by status.
func usualErrors(rt Route) map[string]string {
	all := map[string]string{}
	if rt.Right != Anybody {
		all["401"] = "Sign-in is required."
		all["403"] = "The caller may not do that."
		all["500"] = "The server failed. The message is always the same."
	}
	if !strings.HasPrefix(rt.Pattern, http.MethodGet) && rt.Right != Anybody {
		all["403"] = "The caller may not do that, or the origin of the calling web page is not allowed."
	}
	if rt.Right == Change {
		all["403"] = "The caller may not do that, the origin of the calling web page is not allowed, " +
			"or changing documents over HTTP is disabled (setting uploads.enabled)."
	}
	if rt.Body != NoBody {
		all["413"] = "The body is over the limit, 1 MiB by default."
	}
	if rt.Body != NoBody && rt.Body != Ignored {
		all["400"] = "The request is not valid, or a content filter refused it."
		all["415"] = "The content type is not supported, or the body is compressed."
	}
	if rt.Turn {
		all["422"] = "The Idempotency-Key was used with another request, or a value is invalid."
		all["429"] = "Too many answers in progress, or a budget is used up; Retry-After says when to retry."
	}
	return all
}

// response returns a reference to the response of an error. Operations with the same schema, status and text share it.
func (s *apiSum) response(status, schema, text string) object {
	name := schema + status
	for n := 2; ; n++ {
		known, ok := s.responses[name].(object)
		if !ok {
			break
		}
		if known["description"] == text {
			return object{"$ref": "#/components/responses/" + name}
		}
		name = fmt.Sprintf("%s%s_%d", schema, status, n)
	}
	s.responses[name] = object{"description": text, "content": object{"application/json": object{
		"schema": object{"$ref": "#/components/schemas/" + schema},
	}}}
	return object{"$ref": "#/components/responses/" + name}
}

// fillParameters completes the parameters of an operation, and adds those that follow from its path and route.
func (part *apiPart) fillParameters(op object, rt Route) error {
	parameters, _ := op["parameters"].([]any)
	described := map[any]bool{}
	for _, p := range parameters {
		if p := p.(object); p["in"] == "path" {
			described[p["name"]] = true
		}
	}
	for _, match := range pathParameter.FindAllStringSubmatch(rt.Pattern, -1) {
		if name := match[1]; !described[name] {
			p := maps.Clone(part.Parameters[name])
			if p == nil {
				return fmt.Errorf("the parameter %s of %s is not described", name, rt.Pattern)
			}
			p["name"], p["in"] = name, "path"
			parameters = append(parameters, p)
		}
	}
	for _, p := range parameters {
		p := p.(object)
		if p["in"] == "path" {
			p["required"] = true
		}
		if p["schema"] == nil && p["$ref"] == nil {
			p["schema"] = object{"type": "string"}
		}
		if schema := p["schema"]; schema != nil {
			p["schema"] = referring(schema)
		}
	}
	add := func(name string) {
		parameters = append(parameters, object{"$ref": "#/components/parameters/" + name})
	}
	if rt.Speaks != "" {
		add(ProtocolHeader)
	}
	if rt.Turn {
		add("Idempotency-Key")
		add("X-On-Disconnect")
		if ok, is := op["responses"].(object)["200"].(object); is {
			headers, _ := ok["headers"].(object)
			if headers == nil {
				headers = object{}
			}
			headers["X-Turn-Id"] = object{"$ref": "#/components/headers/X-Turn-Id"}
			ok["headers"] = headers
		}
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	return nil
}

// pathParameter matches the wildcards of a pattern, and captures their names.
var pathParameter = lazyregexp.New(`\{(\w+)(?:\.\.\.)?\}`)
