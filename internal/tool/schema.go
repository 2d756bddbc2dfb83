package tool

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// resolveSchemas prepares the schemas of the tools' arguments. With an unreadable schema, perhaps from an MCP
// server, arguments are not checked here: the tool itself must reject wrong calls.
func (r *Registry) resolveSchemas() map[string]*jsonschema.Resolved {
	all := map[string]*jsonschema.Resolved{}
	for _, t := range r.tools {
		if len(t.Parameters) == 0 {
			continue
		}
		resolved, err := resolveSchema(t.Parameters)
		if err != nil {
			r.opts.Logger.Debug("schema of a tool is not checked", "tool", t.Name, "error", err)
			continue
		}
		all[t.Name] = resolved
	}
	return all
}

func resolveSchema(text json.RawMessage) (resolved *jsonschema.Resolved, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	s.AdditionalProperties = nil // models add properties, and tools ignore unknown ones
	return s.Resolve(nil)
}

// maxSchemaTold is the length in bytes up to which a schema is repeated to a model that violated
// it.
const maxSchemaTold = 4 << 10

// check returns an error for the model if arguments violate their schema. Absent arguments are an empty
// object.
func (r *Registry) check(t Tool, arguments string) *Error {
	schema := r.schemas[t.Name]
	if schema == nil {
		return nil
	}
	arguments = cmp.Or(arguments, "{}")
	err := validate(schema, arguments)
	if err == nil {
		return nil
	}
	msg := fmt.Sprintf("The arguments are wrong: %v.", err)
	if len(t.Parameters) <= maxSchemaTold {
		msg += " They have to follow this JSON Schema: " + string(t.Parameters)
	}
	return &Error{Msg: msg, Err: err}
}

func validate(schema *jsonschema.Resolved, arguments string) (err error) {
	var instance any
	if err := json.Unmarshal([]byte(arguments), &instance); err != nil {
		return nil // the tool itself reports arguments that it cannot read
	}
	defer func() {
		if recover() != nil {
			err = nil // the tool itself checks what cannot be checked here
		}
	}()
	return schema.Validate(instance)
}
