package upstream

import (
	"bytes"
	"encoding/json"
)

// Encode is json.Marshal without HTML escapes, which would only cost tokens.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Object returns the arguments of a tool call if they are a JSON object, as many APIs require, and otherwise
// none.
func Object(arguments, none string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &o) != nil || o == nil {
		return json.RawMessage(none)
	}
	return json.RawMessage(arguments)
}
