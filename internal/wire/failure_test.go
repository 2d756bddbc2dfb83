package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"parley/internal/chat"
)

func TestWriteError_AnswersByKind(t *testing.T) {
	secret := errors.New("dial 10.0.0.7: sk-secret")
	cases := []struct {
		err        error
		status     int
		text       string
		retryAfter string
	}{
		{secret, 500, InternalSentence, ""},
		{&chat.Error{Kind: chat.Internal, Msg: "sk-secret", Err: secret}, 500, InternalSentence, ""},
		{&chat.Error{Kind: chat.Kind(200), Msg: "sk-secret"}, 500, InternalSentence, ""},
		{&chat.Error{Kind: chat.Invalid, Msg: "top must be a number"}, 400, "top must be a number", ""},
		{fmt.Errorf("decode: %w", &chat.Error{Kind: chat.Invalid, Msg: "no", Err: secret}), 400, "no", ""},
		{&chat.Error{Kind: chat.Filtered, Msg: "other words"}, 400, filteredSentence, ""},
		{&chat.Error{Kind: chat.Unauthorized}, 401, "Sign-in is required.", ""},
		{&chat.Error{Kind: chat.Forbidden}, 403, "This is not allowed.", ""},
		{&chat.Error{Kind: chat.NotFound}, 404, "Not found.", ""},
		{&chat.Error{Kind: chat.Conflict}, 409, "The request conflicts with another one.", ""},
		{&chat.Error{Kind: chat.TooLarge}, 413, "The request is too large.", ""},
		{&chat.Error{Kind: chat.RateLimited, Msg: "Slow down."}, 429, "Slow down.", "1"},
		{&chat.Error{Kind: chat.RateLimited, RetryAfter: 2100 * time.Millisecond}, 429, "Too many requests. Please try again later.", "3"},
		{fmt.Errorf("save: %w", &chat.Error{Kind: chat.Full, Err: secret}), 507, "There is no room left on the server's disk. Nothing was stored.", ""},
		{&chat.Error{Kind: chat.Unavailable, Err: secret}, 503, InternalSentence, "1"},
		{&chat.Error{Kind: chat.Unavailable, Msg: "The model is away.", Err: secret}, 503, "The model is away.", "1"},
	}
	for _, c := range cases {
		w := httptest.NewRecorder()
		WriteError(w, c.err)
		want := string(AppendString([]byte(`{"error":`), c.text)) + "}\n"
		if w.Code != c.status || w.Body.String() != want || w.Header().Get("Retry-After") != c.retryAfter {
			t.Errorf("%v:\ngot  %d %q %s\nwant %d %q %s", c.err, w.Code, w.Header().Get("Retry-After"), w.Body, c.status, c.retryAfter, want)
		}
	}
}

func TestCauseOf_TellsWhyTheServerCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopping := &chat.Error{Kind: chat.Unavailable, Msg: "The server stops."}
	cancel(stopping)
	if got := CauseOf(ctx, fmt.Errorf("generate: %w", context.Canceled)); !errors.Is(got, stopping) || errors.Is(got, context.Canceled) {
		t.Errorf("got %v", got)
	}
	other := errors.New("disk full")
	if got := CauseOf(ctx, other); !errors.Is(got, other) {
		t.Errorf("an error of its own became %v", got)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if got := CauseOf(left, context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("a leaving client became %v", got)
	}
}
