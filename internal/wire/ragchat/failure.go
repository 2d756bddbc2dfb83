package ragchat

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"parley/internal/chat"
	"parley/internal/wire"
)

// fieldError reports a member of the body with an invalid value.
type fieldError struct {
	path string // "params.top_k"
	want string // what it must be
}

func (e *fieldError) Error() string { return fmt.Sprintf("%q must be %s", e.path, e.want) }

// Unwrap gives the error its kind.
func (e *fieldError) Unwrap() error { return &chat.Error{Kind: chat.Invalid, Msg: e.Error()} }

// failure is an error response of this API: FastAPI's detail, and the original's structured error.
type failure struct {
	Detail any         `json:"detail"` // a sentence, or the invalid fields
	Error  failureBody `json:"error"`
}

type failureBody struct {
	Stage    string  `json:"stage"`    // "request" before the turn began
	Provider *string `json:"provider"` // of the requested model; null before the turn began
	Model    *string `json:"model"`
	Kind     string  `json:"kind"`
	Code     string  `json:"code"`
	Message  string  `json:"message"`
}

type fieldDetail struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

const beforeTurn = "request"

// failureOf returns the status and the body for an error. x may be nil.
func failureOf(x *exchange, err error) (wire.Failure, failure) {
	f := wire.FailureOf(err)
	if field, ok := errors.AsType[*fieldError](err); ok {
		f.Status, f.Code = http.StatusUnprocessableEntity, "validation_error"
		detail := fieldDetail{Loc: append([]string{"body"}, strings.Split(field.path, ".")...), Msg: field.Error(), Type: "value_error"}
		body := bodyOf(nil, f)
		body.Kind = "validation"
		return f, failure{Detail: []fieldDetail{detail}, Error: body}
	}
	return f, failure{Detail: f.Text, Error: bodyOf(x, f)}
}

func bodyOf(x *exchange, f wire.Failure) failureBody {
	b := failureBody{Stage: beforeTurn, Kind: f.RAGKind(), Code: f.Code, Message: f.Text}
	if x == nil || x.started == "" {
		return b
	}
	b.Stage = nameOf(x.started)
	provider, model, _ := strings.Cut(x.modelOf(x.started), ":")
	b.Provider, b.Model = &provider, &model
	return b
}

// nameOf returns the name of a stage in this API.
func nameOf(s chat.Stage) string {
	switch s {
	case chat.StageRetrieve, chat.StageEmbed:
		return stageEmbedding
	case chat.StageSummarize:
		return stageSummary
	case chat.StageGenerate:
		return stageInference
	case chat.StageTools, chat.StageSynthesize:
		return stageTools
	}
	return string(s)
}

// modelOf returns the key of the model that a stage of the request uses.
func (x *exchange) modelOf(s chat.Stage) string {
	m := x.req.Options.Models
	key := ""
	switch s {
	case chat.StageRewrite:
		key = m.Rewrite
	case chat.StageRerank:
		key = m.Rerank
	case chat.StageSummarize:
		key = m.Summary
	case chat.StageSynthesize:
		key = m.Synthesis
	}
	key = cmp.Or(key, m.Inference)
	return key
}

// Fail responds with an error in the API's form.
func Fail(w http.ResponseWriter, r *wire.Request, err error) { (*exchange)(nil).fail(w, r, err) }

// fail responds with an error. x may be nil.
func (x *exchange) fail(w http.ResponseWriter, _ *wire.Request, err error) {
	f, body := failureOf(x, err)
	f.SetHeaders(w.Header())
	raw, err := wire.AppendJSON(nil, body)
	if err != nil {
		raw = []byte(`{"detail":"internal error"}`) // cannot happen: a failure consists of strings
	}
	// Writing fails only if the client is gone.
	_ = wire.WriteJSON(w, f.Status, raw)
}

// failTurn responds to a request for a turn that was refused before its handler ran. It also ends the processing
// steps of the query id in the body.
func (h *Handler) failTurn(w http.ResponseWriter, r *wire.Request, err error) {
	if r.Body != nil {
		x := &exchange{req: chat.Request{Principal: r.Who}}
		if object, err := r.Object(); err == nil {
			params, _ := object.Get("params")
			if settings, err := paramsOf(params); err == nil {
				x.queryID = queryIDOf(settings)
			}
		}
		h.follow(r.Context(), x)
		x.steps.end(false, wire.FailureOf(err).Text)
	}
	Fail(w, r, err)
}
