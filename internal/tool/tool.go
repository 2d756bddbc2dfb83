// Package tool holds the tools that a model may call while it answers: the built-in tools, and the
// registry, which decides which tools a turn may call, for how long, and how much of a result the model
// reads. Package mcptool adds the tools of MCP servers.
//
// A tool runs with the rights of the turn's caller: it gets the turn's filter, which its results cannot
// widen. Results are untrusted, like documents. The answer may cite passages that a tool
// returns.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Tool is a function that a model may call.
type Tool struct {
	llm.Tool               // its description for the model
	Writes   bool          // it changes something outside the turn
	Timeout  time.Duration // limit of one call; 0 means the registry's
	Run      func(ctx context.Context, call Call) (Result, error)
}

// Call is one use of a tool.
type Call struct {
	Filter    retrieval.Filter // the rights and filter of the turn
	Arguments json.RawMessage  // as the model wrote them, normally a JSON object
}

// Result is the result of a call.
type Result struct {
	Text     string              // text for the model
	Passages []retrieval.Passage // passages that the answer may cite; Text does not repeat them
}

// Error is a failure reported to the model, so that it can try something else or say so. The text
// of any other error is only logged.
type Error struct {
	Msg string // one sentence
	Err error  // internal; nil for most
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + " " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func failf(format string, args ...any) error { return &Error{Msg: fmt.Sprintf(format, args...)} }

// arguments decodes the arguments of a call into T. Absent or null arguments leave T zero.
func arguments[T any](call Call) (T, error) {
	var args T
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return args, nil
	}
	dec := json.NewDecoder(bytes.NewReader(call.Arguments))
	if err := dec.Decode(&args); err != nil {
		return args, &Error{Msg: "The arguments are not a JSON object that fits the tool.", Err: err}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return args, failf("There is more than one JSON object in the arguments.")
	}
	return args, nil
}
