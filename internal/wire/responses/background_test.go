package responses

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/chat"
	"parley/internal/transcript/transcripttest"
	"parley/internal/wire/wiretest"
)

const (
	behind     = `{"model":"parley","input":"my secret","background":true}`
	behindSSE  = `{"model":"parley","input":"my secret","background":true,"stream":true}`
	firstStore = endpoint + "/resp_01J00000000000000000000001"
)

// turnOf is a Runner that runs a function.
type turnOf func(ctx context.Context, yield func(chat.Event, error) bool)

func (f turnOf) Run(ctx context.Context, _ *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) { f(ctx, yield) }
}

func sendAll(yield func(chat.Event, error) bool, events ...chat.Event) bool {
	for _, e := range events {
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// pausing returns a handler whose turns say "It", wait until release is called, and then complete.
func pausing(t *testing.T, change func(*Config)) (h *Handler, release func()) {
	t.Helper()
	gate := make(chan struct{})
	h = handlerOf(turnOf(func(ctx context.Context, yield func(chat.Event, error) bool) {
		if !sendAll(yield, chat.MessageStarted{ID: "m"}, chat.CompletionStarted{ID: "m"}, chat.TextDelta{ID: "m", Text: "It"}) {
			return
		}
		select {
		case <-gate:
			sendAll(yield, chat.TextDelta{ID: "m", Text: " is."},
				chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: "It is.", FinishReason: "stop"}, chat.TurnFinished{})
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}), change)
	t.Cleanup(func() { h.wait(t.Context(), nil) })
	return h, func() { close(gate) }
}

// await polls a stored response until it has a status.
func await(t *testing.T, h *Handler, status string) string {
	t.Helper()
	for range 2000 {
		w := send(h, http.MethodGet, firstStore, "")
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), `"status":"`+status+`","background":true`) {
			return w.Body.String()
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("it is never %s: %s", status, send(h, http.MethodGet, firstStore, "").Body)
	return ""
}

// A repeated Idempotency-Key has the id of the first answer, which must stay as it is.
func TestBackground_ARepeatedRequestGetsTheStoredResponse(t *testing.T) {
	h, release := pausing(t, func(c *Config) { c.NewID = func() string { return "01J00000000000000000000001" } })
	send(h, http.MethodPost, endpoint, behind)
	release()
	done := await(t, h, completed)
	if w := send(h, http.MethodPost, endpoint, behind); w.Code != 200 || strings.TrimSpace(w.Body.String()) != strings.TrimSpace(done) {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, done)
	}
	if w := send(h, http.MethodPost, endpoint, behindSSE); w.Code != 200 || !strings.Contains(w.Body.String(), "response.completed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestBackground_IsPolledUntilItIsComplete(t *testing.T) {
	h, release := pausing(t, nil)
	w := send(h, http.MethodPost, endpoint, behind)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"status":"queued","background":true`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	await(t, h, inProgress)
	release()
	if body := await(t, h, completed); !strings.Contains(body, `"text":"It is."`) {
		t.Error(body)
	}
}

func TestBackground_GoesOnWhenItsClientLeavesAndCanBeFollowedFromAnyEvent(t *testing.T) {
	h, release := pausing(t, nil)
	server := httptest.NewServer(serve(h))
	defer server.Close()
	wiretest.LeaveAfter(t, server.URL+endpoint, behindSSE, "It")
	release()
	await(t, h, completed)
	events := func(query string) []string {
		return strings.Split(send(h, http.MethodGet, firstStore+"?stream=true"+query, "").Body.String(), "\n\n")
	}
	all := events("")
	checkFraming(t, "all events", strings.Join(all, "\n\n"))
	if got := strings.Join(all, " "); !strings.Contains(got, "response.queued") || !strings.Contains(got, "response.completed") {
		t.Fatal(got)
	}
	for n := range len(all) - 2 {
		if got := events("&starting_after=" + strconv.Itoa(n)); strings.Join(got, "|") != strings.Join(all[n+1:], "|") {
			t.Errorf("after %d: %q", n, got)
		}
	}
}

func TestBackground_IsCancelledAndDeletedWhileItRuns(t *testing.T) {
	for _, c := range []struct {
		method, target string
		code           int
	}{{http.MethodPost, firstStore + "/cancel", 200}, {http.MethodDelete, firstStore, 404}} {
		h, _ := pausing(t, nil)
		send(h, http.MethodPost, endpoint, behind)
		if w := send(h, c.method, c.target, "", "X-Test-User", "bert"); w.Code != 404 {
			t.Errorf("somebody else: %d %s", w.Code, w.Body)
		}
		if w := send(h, c.method, c.target, ""); w.Code != 200 {
			t.Errorf("%s: %d %s", c.target, w.Code, w.Body)
		}
		h.wait(t.Context(), nil)
		w := send(h, http.MethodGet, firstStore, "")
		if w.Code != c.code || c.code == 200 && !strings.Contains(w.Body.String(), `"status":"cancelled"`) {
			t.Errorf("after %s: %d %s", c.method, w.Code, w.Body)
		}
	}
}

// A server that is killed leaves a response in progress. The next one says that it has failed, and so it stays.
func TestBackground_HasFailedIfItsServerIsGone(t *testing.T) {
	store := &transcripttest.Store{}
	killed, release := pausing(t, func(c *Config) { c.Store = store })
	send(killed, http.MethodPost, endpoint, behind)
	await(t, killed, inProgress)
	next := handlerOf(nil, func(c *Config) { c.Store = store })
	for range 2 {
		if body := await(t, next, failed); !strings.Contains(body, `"message":"The server stopped before the response was complete.`) {
			t.Error(body)
		}
	}
	if w := send(next, http.MethodGet, firstStore+"?stream=true", ""); w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"stream"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	release()
}

func TestBackground_IsToldThatTheServerStops(t *testing.T) {
	h, _ := pausing(t, nil)
	send(h, http.MethodPost, endpoint, behind)
	await(t, h, inProgress)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.wait(ctx, &chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping."})
	if body := await(t, h, failed); !strings.Contains(body, "The server is stopping.") {
		t.Error(body)
	}
}

func TestBackground_FailsWithTheErrorOfItsTurn(t *testing.T) {
	h := handlerOf(turnOf(func(_ context.Context, yield func(chat.Event, error) bool) {
		yield(nil, errors.New("secret of the server"))
	}), nil)
	send(h, http.MethodPost, endpoint, behindSSE)
	h.wait(t.Context(), nil)
	var got struct {
		Status string
		Error  struct{ Code, Message string }
	}
	w := send(h, http.MethodGet, firstStore, "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Status != failed || got.Error.Code == "" || strings.Contains(got.Error.Message, "secret") {
		t.Errorf("%s: %v", w.Body, err)
	}
	if w := send(h, http.MethodGet, firstStore+"?stream=true", ""); !strings.Contains(w.Body.String(), "event: response.failed") {
		t.Error(w.Body)
	}
}

// The events of an answer have its text five times. If only the last one exceeds the limit, the response is complete.
func TestBackground_TellsItsFollowersThatTheAnswerIsTooLong(t *testing.T) {
	for size, last := range map[int][]string{maxRecording: {"error", "response.failed"}, maxRecording * 2 / 9: {"response.output_item.done", "response.completed"}} {
		text := strings.Repeat("a", size)
		h := handlerOf(turnOf(func(_ context.Context, yield func(chat.Event, error) bool) {
			sendAll(yield, chat.MessageStarted{ID: "m"}, chat.TextDelta{ID: "m", Text: text},
				chat.MessageFinished{ID: "m", Status: chat.StatusCompleted, Text: text, FinishReason: "stop"}, chat.TurnFinished{})
		}), nil)
		send(h, http.MethodPost, endpoint, behind)
		h.wait(t.Context(), nil)
		body := send(h, http.MethodGet, firstStore+"?stream=true", "").Body.String()
		checkFraming(t, "all events", body)
		var names []string
		for _, event := range strings.Split(body, "\n\n") {
			name, _, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\n")
			names = append(names, name)
		}
		if n := len(names); n < 4 || !slices.Equal(names[n-4:n-2], last) { // [DONE] and an empty line follow
			t.Errorf("%d bytes: the events are %.1000q", size, names)
		}
	}
}

func TestBackground_IsLimitedAndRefusesBadInput(t *testing.T) {
	h, release := pausing(t, nil)
	defer release()
	for range maxOwn {
		if w := send(h, http.MethodPost, endpoint, behind); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for _, c := range []struct {
		method, target, body string
		code                 int
		says                 string
	}{
		{http.MethodPost, endpoint, behind, 429, `"type":"too_many_requests"`},
		{http.MethodPost, endpoint, `{"model":"parley","input":"x","background":true,"store":false}`, 400, `"param":"background"`},
		{http.MethodPost, endpoint, `{"model":"parley","input":"x","background":"yes"}`, 400, `"param":"background"`},
		{http.MethodGet, firstStore + "?stream=true&starting_after=-1", "", 400, `"param":"starting_after"`},
		{http.MethodGet, firstStore + "?stream=true&starting_after=1e3", "", 400, `"param":"starting_after"`},
		{http.MethodGet, endpoint + "/resp_x?stream=true", "", 404, `"not_found"`},
	} {
		if w := send(h, c.method, c.target, c.body); w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.target, c.body, w.Code, w.Body)
		}
	}
	if w := send(h, http.MethodPost, endpoint, behind, "X-Test-User", "bert"); w.Code != 200 {
		t.Errorf("somebody else: %d %s", w.Code, w.Body)
	}
}
