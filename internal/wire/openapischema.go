package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

const schemaPrefix = "#/components/schemas/"

// bodyMembers maps the members of an operation or a response that hold the schema of a body to the body's media
// type.
var bodyMembers = map[string]string{
	"json": "application/json", "lines": "application/json-lines", "jsonl": "application/jsonl", "events": "text/event-stream",
	"form": "multipart/form-data", "text": "text/plain", "html": "text/html",
}

// contentOf removes the bodies and examples of an operation or a response, and returns them as a content
// object, or nil if there are no bodies.
func contentOf(of object) object {
	content := object{}
	for member, mediaType := range bodyMembers {
		if schema, ok := of[member]; ok {
			content[mediaType] = object{"schema": referring(schema)}
			delete(of, member)
		}
	}
	if whole, ok := of["content"].(object); ok {
		maps.Copy(content, whole)
		for _, m := range whole {
			if m := m.(object); m["schema"] != nil {
				m["schema"] = referring(m["schema"])
			}
		}
	}
	if len(content) == 0 {
		return nil
	}
	if examples, ok := of["examples"].(object); ok {
		for name, value := range examples {
			examples[name] = object{"value": value}
		}
		for _, m := range content {
			m.(object)["examples"] = examples
		}
		delete(of, "examples")
	}
	if example, ok := of["example"]; ok {
		for _, m := range content {
			m.(object)["example"] = example
		}
		delete(of, "example")
	}
	return content
}

// referring returns schema with names of schemas replaced by references. It modifies schema in place.
func referring(schema any) any {
	if name, ok := schema.(string); ok {
		return object{"$ref": schemaPrefix + name}
	}
	s, _ := schema.(object)
	for keyword, v := range s {
		switch keyword {
		case "properties":
			members := v.(object)
			for name, member := range members {
				members[name] = referring(member)
			}
		case "items", "additionalProperties":
			s[keyword] = referring(v)
		case "anyOf", "oneOf", "allOf":
			parts := v.([]any)
			for i, part := range parts {
				parts[i] = referring(part)
			}
		}
	}
	return schema
}

// derive adds the schemas of Go types to the part. If the part has a schema of the same name, it replaces the
// derived one if it has a type, a $ref, anyOf, oneOf or allOf; otherwise it is merged into it. values holds a value of each
// type, of any kind, by the name of its schema.
func (part *apiPart) derive(values map[string]any) error {
	if part.Schemas == nil {
		part.Schemas = map[string]any{}
	}
	for name, v := range values {
		derived, err := schemaOf(name, values)
		if err != nil {
			return fmt.Errorf("schema %s of %T: %w", name, v, err)
		}
		part.Schemas[name] = refine(derived, part.Schemas[name])
	}
	return nil
}

// schemaOf returns the schema of the type of values[name], with references to the schemas of the other types.
func schemaOf(name string, values map[string]any) (object, error) {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[USD]():             {Type: "number", Minimum: new(float64)},
	}
	for other, v := range values {
		if other != name {
			types[reflect.TypeOf(v)] = &jsonschema.Schema{Ref: schemaPrefix + other}
		}
	}
	schema, err := jsonschema.ForType(reflect.TypeOf(values[name]), &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var derived object
	if err := json.Unmarshal(raw, &derived); err != nil {
		return nil, err
	}
	tidy(derived, true)
	return derived, nil
}

// tidy adjusts a derived schema to what the server really sends: a list is never null, nor is an optional
// member, which is left out instead. Integers are not negative.
func tidy(s object, required bool) {
	types, _ := s["type"].([]any)
	null := slices.Contains(types, any("null"))
	switch {
	case s["$ref"] != nil && null:
		delete(s, "type")
		if required {
			s["anyOf"] = []any{object{"type": "null"}, object{"$ref": s["$ref"]}}
			delete(s, "$ref")
		}
	case null && len(types) == 2 && (!required || types[1] == "array"):
		s["type"] = types[1]
	}
	if s["type"] == "integer" && s["minimum"] == nil {
		s["minimum"] = 0.0
	}
	switch items := s["items"].(type) {
	case object:
		tidy(items, true)
	case bool: // any values
		delete(s, "items")
	}
	if others, ok := s["additionalProperties"].(object); ok && s["properties"] == nil {
		tidy(others, true)
	}
	if always, _ := s["required"].([]any); s["properties"] != nil {
		for name, member := range s["properties"].(object) {
			if member, ok := member.(object); ok { // otherwise it is true, which allows any value
				tidy(member, slices.Contains(always, any(name)))
			} else {
				s["properties"].(object)[name] = object{}
			}
		}
	}
}

// refine merges a schema of the part into a derived one, or replaces the derived one; see derive. It modifies derived.
func refine(derived object, more any) any {
	added, ok := more.(object)
	if !ok {
		if more != nil {
			return more // a string, the name of another schema
		}
		return derived
	}
	for _, keyword := range []string{"type", "$ref", "anyOf", "oneOf", "allOf"} {
		if added[keyword] != nil {
			return added
		}
	}
	for keyword, v := range added {
		own, isObject := derived[keyword].(object)
		switch {
		case keyword == "properties" && isObject:
			for name, member := range v.(object) {
				if known, ok := own[name].(object); ok {
					own[name] = refine(known, member)
				} else {
					own[name] = member
				}
			}
		case keyword == "items" && isObject:
			derived[keyword] = refine(own, v)
		default:
			derived[keyword] = v
		}
	}
	return derived
}
