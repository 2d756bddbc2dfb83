package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"parley/internal/chat"
)

// Sentences of the AI Chat Protocol (both versions, "Error response"). Every protocol uses them for errors
// whose own text must not reach a client.
const (
	InternalSentence = "The app encountered an error processing your request.\n" +
		"If you are an administrator of the app, view the full error in the logs."
	filteredSentence = "Your message contains content that was flagged by the OpenAI content filter."
)

// Failure is the part of an error that a client may see. Each protocol encodes it in its own form.
type Failure struct {
	Status     int    // HTTP status
	Code       string // for programs, such as "not_found"
	Text       string // one sentence for people
	RetryAfter time.Duration
	Challenge  string // the WWW-Authenticate header of a 401; "" for the default
}

// row is a row of the table of errors: a failure, and how protocols with their own codes represent it.
type row struct {
	Failure
	openAICode   string // "" means Code; noCode means none
	openAIStatus int    // 0 means Status
	ragKind      string // in Chat-with-RAG; "" means Code
	waits        bool   // FailureOf appends to Text when to try again
}

const noCode = "-"

// failures maps kinds to statuses, codes and sentences. In the AI Chat Protocol a status of 500 or more
// is always 500 with that protocol's sentence.
var failures = map[chat.Kind]row{
	chat.Internal:     {Failure: Failure{Status: http.StatusInternalServerError, Code: "internal_error", Text: InternalSentence}, ragKind: "internal"},
	chat.Invalid:      {Failure: Failure{Status: http.StatusBadRequest, Code: "invalid_request", Text: "The request is not valid."}, openAICode: noCode, ragKind: "validation"},
	chat.Unauthorized: {Failure: Failure{Status: http.StatusUnauthorized, Code: "unauthorized", Text: "Sign-in is required."}, openAICode: "invalid_api_key"},
	chat.Forbidden:    {Failure: Failure{Status: http.StatusForbidden, Code: "forbidden", Text: "This is not allowed."}},
	chat.NotFound:     {Failure: Failure{Status: http.StatusNotFound, Code: "not_found", Text: "Not found."}},
	chat.Conflict:     {Failure: Failure{Status: http.StatusConflict, Code: "conflict", Text: "The request conflicts with another one."}},
	chat.TooLarge:     {Failure: Failure{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Text: "The request is too large."}},
	chat.Filtered:     {Failure: Failure{Status: http.StatusBadRequest, Code: "content_filter", Text: filteredSentence}},
	chat.RateLimited: {Failure: Failure{
		Status: http.StatusTooManyRequests, Code: "rate_limited",
		Text: "Too many requests. Please try again later.", RetryAfter: time.Second,
	}, openAICode: "rate_limit_exceeded", ragKind: "rate_limit"},
	chat.Unavailable: {Failure: Failure{
		Status: http.StatusServiceUnavailable, Code: "unavailable", Text: InternalSentence, RetryAfter: time.Second,
	}},
	chat.Full: {Failure: Failure{
		Status: http.StatusInsufficientStorage, Code: "insufficient_storage",
		Text: "There is no room left on the server's disk. Nothing was stored.",
	}},

	chat.KeyRefused: {Failure: Failure{
		Status: http.StatusBadGateway, Code: "provider_key_refused",
		Text: "The model provider refused the server's key. The administrator of this server must check it.",
	}},
	chat.NoCredit: {Failure: Failure{
		Status: http.StatusBadGateway, Code: "provider_no_credit",
		Text: "The server's account with the model provider has no credit left. The administrator of this server must add some.",
	}},
	chat.ModelMissing: {Failure: Failure{
		Status: http.StatusBadGateway, Code: "provider_model_not_found",
		Text: "The model provider does not know the model. The administrator of this server must check its name and the provider's address.",
	}},
	chat.ModelLimited: {Failure: Failure{
		Status: http.StatusTooManyRequests, Code: "provider_rate_limited",
		Text: "The model provider is limiting requests.", RetryAfter: time.Second,
	}, openAICode: "rate_limit_exceeded", ragKind: "rate_limit", waits: true},
	chat.ModelUnreachable: {Failure: Failure{
		Status: http.StatusServiceUnavailable, Code: "provider_unreachable",
		Text: "The model provider cannot be reached.", RetryAfter: time.Second,
	}, ragKind: "unavailable", waits: true},
	chat.ModelSlow: {Failure: Failure{
		Status: http.StatusGatewayTimeout, Code: "provider_timeout",
		Text: "The model provider took too long to answer.", RetryAfter: time.Second,
	}, ragKind: "timeout", waits: true},
	chat.PromptTooLong: {Failure: Failure{
		Status: http.StatusRequestEntityTooLarge, Code: "context_length_exceeded",
		Text: "The conversation is too long for the model. Start a new one, or send less text.",
	}, openAIStatus: http.StatusBadRequest},
}

// byCode holds the rows of the table, keyed by Code.
var byCode = func() map[string]row {
	rows := map[string]row{}
	for _, r := range failures {
		rows[r.Code] = r
	}
	return rows
}()

// OpenAI returns the failure with the status and the code that OpenAI's API uses for it. The code is "" if
// the API has none.
func (f Failure) OpenAI() Failure {
	r := byCode[f.Code]
	f.Status = cmp.Or(r.openAIStatus, f.Status)
	if f.Code = cmp.Or(r.openAICode, f.Code); f.Code == noCode {
		f.Code = ""
	}
	return f
}

// RAGKind returns the kind of the failure in the Chat-with-RAG API.
func (f Failure) RAGKind() string { return cmp.Or(byCode[f.Code].ragKind, f.Code) }

// RefusalError is an error with its own Failure, for statuses that no chat.Kind maps to.
type RefusalError struct {
	Failure
	Err error // for logs; may be nil
}

func (e *RefusalError) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *RefusalError) Unwrap() error { return e.Err }

// FailureOf returns the part of err that a client may see: the Failure of a *RefusalError, or the one for
// err's chat.Kind, with the message of the *chat.Error if it has one. Messages of the kinds Internal and
// Filtered are never shown. Any other error counts as Internal.
func FailureOf(err error) Failure {
	if r, ok := errors.AsType[*RefusalError](err); ok {
		return r.Failure
	}
	kind := chat.KindOf(err)
	r, ok := failures[kind]
	if !ok {
		kind, r = chat.Internal, failures[chat.Internal]
	}
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return r.Failure
	}
	f := r.Failure
	if e.RetryAfter > 0 {
		f.RetryAfter = e.RetryAfter
	}
	switch {
	case e.Msg != "" && kind != chat.Internal && kind != chat.Filtered:
		f.Text = e.Msg
	case r.waits && e.RetryAfter > 0:
		f.Text += fmt.Sprintf(" Try again in %d s.", seconds(e.RetryAfter))
	case r.waits:
		f.Text += " Try again later."
	}
	return f
}

// seconds rounds a duration up to whole seconds.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// CauseOf returns the cause of ctx's cancellation if err is context.Canceled and the cause is meant for
// clients (a *chat.Error), for example that the server is stopping. Otherwise it returns err.
func CauseOf(ctx context.Context, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if cause, ok := errors.AsType[*chat.Error](context.Cause(ctx)); ok {
		return cause
	}
	return err
}

// SetHeaders sets Retry-After, in whole seconds, if the failure has it.
func (f Failure) SetHeaders(h http.Header) {
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds(f.RetryAfter), 10))
	}
}

// PlainError responds with {"error": sentence}, the form of the AI Chat Protocol and of routes that belong
// to no protocol. It is a Fail.
func PlainError(w http.ResponseWriter, _ *Request, err error) {
	f := FailureOf(err)
	f.Write(w, append(AppendString([]byte(`{"error":`), f.Text), '}'))
}

// DetailError responds with {"detail": sentence}, the form of FastAPI servers. It is a Fail.
func DetailError(w http.ResponseWriter, _ *Request, err error) {
	f := FailureOf(err)
	f.Write(w, append(AppendString([]byte(`{"detail":`), f.Text), '}'))
}

// Write responds with the status and headers of the failure, and a JSON body that the protocol has encoded.
func (f Failure) Write(w http.ResponseWriter, body []byte) {
	f.SetHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	// Writing fails only if the client is gone.
	_ = WriteJSON(w, f.Status, body)
}

// Reply responds with v as JSON.
func Reply(w http.ResponseWriter, status int, v any) error {
	body, err := AppendJSON(nil, v)
	if err != nil {
		return fmt.Errorf("answer with %T: %w", v, err)
	}
	return WriteJSON(w, status, body)
}

// WriteJSON responds with body, a JSON text, and appends a newline to it, possibly in place. An error wraps
// ErrClientGone.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	return writeBody(w, status, append(body, '\n'))
}

func writeBody(w http.ResponseWriter, status int, body []byte) error {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("%w: %w", ErrClientGone, err)
	}
	return nil
}

// Clip shortens text from a client to 100 characters, for use in an error message.
func Clip(s string) string {
	const most = 100
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
