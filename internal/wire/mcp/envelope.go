package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/internal/wire"
)

// Error codes of JSON-RPC 2.0, section 5.1.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
)

// envelope has the members of a message that checkMessage checks. A member that was not sent is nil.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// checkEnvelope checks a body, which must be valid JSON, against JSON-RPC 2.0 and the types of ids that MCP allows. It
// returns the id for the response, or nil if the message has no valid id or the body is a batch.
func checkEnvelope(body []byte) (id json.RawMessage, err error) {
	if body = bytes.TrimSpace(body); body[0] != '[' {
		return checkMessage(body)
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		return nil, err
	}
	if len(batch) == 0 {
		return nil, wire.Invalidf("the batch is empty")
	}
	for _, message := range batch {
		if _, err := checkMessage(message); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func checkMessage(message []byte) (id json.RawMessage, err error) {
	var e envelope
	if message[0] != '{' || json.Unmarshal(message, &e) != nil {
		return nil, wire.Invalidf("a message must be a JSON object")
	}
	switch {
	case e.ID != nil && !isID(e.ID):
		return nil, wire.Invalidf("id must be a string or a whole number")
	case string(e.Version) != `"2.0"`:
		err = wire.Invalidf(`jsonrpc must be "2.0"`)
	case e.Method == nil && e.Result == nil && e.Error == nil:
		err = wire.Invalidf("a message must have a method, or a result or error if it is a response")
	case e.Method != nil && e.Method[0] != '"':
		err = wire.Invalidf("method must be a string")
	case e.Method == nil && e.ID == nil:
		err = wire.Invalidf("a response must have an id")
	case e.Error != nil && e.Error[0] != '{':
		err = wire.Invalidf("error must be an object")
	case e.Method != nil && e.Params != nil && e.Params[0] != '{':
		err = wire.Invalidf("params must be an object")
	}
	return e.ID, err
}

// isID reports whether every client can represent an id exactly: a string, or an integer between -2^53 and 2^53.
func isID(v json.RawMessage) bool {
	if v[0] == '"' {
		return true
	}
	const exact = 1 << 53
	n, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil && -exact < n && n < exact
}

// failAs returns a function that responds with a JSON-RPC 2.0 error. A nil id becomes null, as section 5 demands.
func failAs(code int, id json.RawMessage) wire.Fail {
	return func(w http.ResponseWriter, _ *wire.Request, err error) {
		f := wire.FailureOf(err)
		f.Write(w, errorObject(code, id, f.Text))
	}
}

func errorObject(code int, id json.RawMessage, text string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(code), 10)
	return append(wire.AppendString(append(b, `,"message":`...), text), "}}"...)
}

// unknownMethod is the prefix of the SDK's error for a method that it does not know.
const unknownMethod = "JSON RPC not handled: "

// translator passes on the SDK's response, but converts errors in plain text to JSON-RPC 2.0 errors, and removes Go
// types from error messages (plainWords).
type translator struct {
	http.ResponseWriter
	id     json.RawMessage
	status int
	plain  bool   // the response is an error in plain text
	text   []byte // of that error
}

// Unwrap lets http.ResponseController reach the connection.
func (t *translator) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *translator) WriteHeader(status int) {
	t.status = status
	t.plain = status >= 400 && strings.HasPrefix(t.Header().Get("Content-Type"), "text/plain")
	if !t.plain {
		t.ResponseWriter.WriteHeader(status)
	}
}

func (t *translator) Write(b []byte) (int, error) {
	if !t.plain {
		if _, err := t.ResponseWriter.Write(plainWords(b)); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	const most = 1 << 10 // bytes kept of each write
	t.text = append(t.text, b[:min(len(b), most)]...)
	return len(b), nil
}

// Flush implements http.Flusher, which the SDK asks for.
func (t *translator) Flush() {
	if !t.plain {
		_ = http.NewResponseController(t.ResponseWriter).Flush()
	}
}

// end sends the SDK's error in plain text, if there was one, as a JSON-RPC error. For a request with an unknown method
// the status is 200, because clients look for the error in an ordinary response.
func (t *translator) end() {
	if !t.plain {
		return
	}
	code, text := invalidRequest, strings.TrimSpace(string(t.text))
	switch {
	case t.status >= http.StatusInternalServerError:
		text = wire.InternalSentence
	case strings.HasPrefix(text, unknownMethod):
		code, text = methodNotFound, "Unknown method."
		if t.id != nil {
			t.status = http.StatusOK
		}
	}
	t.Header().Set("Content-Type", "application/json")
	t.ResponseWriter.WriteHeader(t.status)
	_, _ = t.ResponseWriter.Write(errorObject(code, t.id, text))
}

// plainWords replaces the SDK's message about params of the wrong type, which contains the names of Go types. response is
// a JSON reply or one event.
func plainWords(response []byte) []byte {
	if !bytes.Contains(response, []byte("unmarshaling")) {
		return response
	}
	if head, data, ok := bytes.Cut(response, []byte("data: ")); ok && len(response) > 0 && response[0] != '{' && response[0] != '[' {
		// The SDK writes each event with a single Write.
		return slices.Concat(head, []byte("data: "), plainWords(bytes.TrimSpace(data)), []byte("\n\n"))
	}
	var batch []json.RawMessage
	if json.Unmarshal(response, &batch) == nil {
		for i, r := range batch {
			batch[i] = plainWords(r)
		}
		response, _ = json.Marshal(batch)
		return response
	}
	var e struct {
		ID    json.RawMessage
		Error struct{ Message string }
	}
	if json.Unmarshal(response, &e) != nil || !strings.Contains(e.Error.Message, "unmarshaling") {
		return response
	}
	return errorObject(invalidParams, e.ID, "A parameter of this method has the wrong type.")
}
