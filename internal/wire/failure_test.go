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
		PlainError(w, nil, c.err)
		want := string(AppendString([]byte(`{"error":`), c.text)) + "}\n"
		if w.Code != c.status || w.Body.String() != want || w.Header().Get("Retry-After") != c.retryAfter {
			t.Errorf("%v:\ngot  %d %q %s\nwant %d %q %s", c.err, w.Code, w.Header().Get("Retry-After"), w.Body, c.status, c.retryAfter, want)
		}
	}
}

// Every kind has a row with a status, a code of its own, and a sentence with a remedy.
func TestFailures_HaveEveryKind(t *testing.T) {
	codes := map[string]chat.Kind{}
	for kind := range chat.Kind(chat.KindCount) {
		r, ok := failures[kind]
		if !ok {
			t.Errorf("kind %d has no row", kind)
			continue
		}
		if r.Status < 400 || r.Code == "" || r.Text == "" {
			t.Errorf("the row of kind %d is not complete: %+v", kind, r)
		}
		if other, taken := codes[r.Code]; taken {
			t.Errorf("kinds %d and %d have the code %s", kind, other, r.Code)
		}
		codes[r.Code] = kind
	}
	if len(failures) != chat.KindCount {
		t.Errorf("%d rows for %d kinds", len(failures), chat.KindCount)
	}
}

func TestFailureOf_TellsWhatTheProviderDid(t *testing.T) {
	secret := errors.New("Incorrect API key provided: sk-secret")
	type told struct {
		Status                   int
		Code, OpenAI, RAG        string
		Text                     string
		RetryAfter, OpenAIStatus int
	}
	cases := map[chat.Kind]told{
		chat.KeyRefused: {
			502, "provider_key_refused", "provider_key_refused", "provider_key_refused",
			"The model provider refused the server's key. The administrator of this server must check it.", 0, 502,
		},
		chat.NoCredit: {
			502, "provider_no_credit", "provider_no_credit", "provider_no_credit",
			"The server's account with the model provider has no credit left. The administrator of this server must add some.", 0, 502,
		},
		chat.ModelMissing: {
			502, "provider_model_not_found", "provider_model_not_found", "provider_model_not_found",
			"The model provider does not know the model. The administrator of this server must check its name and the provider's address.", 0, 502,
		},
		chat.ModelLimited: {
			429, "provider_rate_limited", "rate_limit_exceeded", "rate_limit",
			"The model provider is limiting requests. Try again later.", 1, 429,
		},
		chat.ModelUnreachable: {
			503, "provider_unreachable", "provider_unreachable", "unavailable",
			"The model provider cannot be reached. Try again later.", 1, 503,
		},
		chat.ModelSlow: {
			504, "provider_timeout", "provider_timeout", "timeout",
			"The model provider took too long to answer. Try again later.", 1, 504,
		},
		chat.PromptTooLong: {
			413, "context_length_exceeded", "context_length_exceeded", "context_length_exceeded",
			"The conversation is too long for the model. Start a new one, or send less text.", 0, 400,
		},
	}
	for kind, want := range cases {
		f := FailureOf(fmt.Errorf("generate: %w", &chat.Error{Kind: kind, Err: secret}))
		got := told{f.Status, f.Code, f.OpenAI().Code, f.RAGKind(), f.Text, int(seconds(f.RetryAfter)), f.OpenAI().Status}
		if got != want {
			t.Errorf("kind %d:\ngot  %+v\nwant %+v", kind, got, want)
		}
	}
	f := FailureOf(&chat.Error{Kind: chat.ModelLimited, RetryAfter: 6500 * time.Millisecond})
	if want := "The model provider is limiting requests. Try again in 7 s."; f.Text != want || f.RetryAfter != 6500*time.Millisecond {
		t.Errorf("got %q after %s, want %q", f.Text, f.RetryAfter, want)
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
