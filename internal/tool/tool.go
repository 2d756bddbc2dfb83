// Package tool holds what a model may call while it answers: the built-in tools, those of MCP
// servers, and the registry that decides who may call which, for how long, and how much of a
// result the model reads.
//
// A tool runs with the rights of the caller of the turn and no more: it is given the filter of
// the turn, and nothing that it returns can widen it. What a tool returns is material for the
// model, of no more trust than a document. Passages that it returns may be cited.
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

// Tool is something that a model may call.
type Tool struct {
	llm.Tool               // what the model is told of it
	Writes   bool          // it changes something outside of the turn
	Timeout  time.Duration // of one call; 0 means the registry's
	Run      func(ctx context.Context, call Call) (Result, error)
}

// Call is one use of a tool.
type Call struct {
	Filter    retrieval.Filter // what the caller of the turn may see
	Arguments json.RawMessage  // a JSON object as the model wrote it
}

// Result is what a tool found.
type Result struct {
	Text     string              // for the model to read
	Passages []retrieval.Passage // which the answer may cite; Text does not repeat them
}

// Error is a failure that the model is told of, so that it can try something else or say so.
// What any other error says stays in the log.
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

// arguments reads the arguments of a call into T. Absent ones, and no object at all, leave zero.
func arguments[T any](call Call) (T, error) {
	var args T
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return args, nil
	}
	dec := json.NewDecoder(bytes.NewReader(call.Arguments))
	if err := dec.Decode(&args); err != nil {
		return args, &Error{Msg: "The arguments are not a JSON object of the tool's form.", Err: err}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return args, failf("There is more than one JSON object in the arguments.")
	}
	return args, nil
}
