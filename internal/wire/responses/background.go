package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/turn"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// The limits of background responses.
const (
	maxBackground = 64       // running at one time
	maxOwn        = 16       // running at one time for one caller
	maxRecording  = 16 << 20 // bytes of the recorded events of one response, besides the last events
	maxRecordings = 32 << 20 // bytes of the recorded events of all responses that have ended
)

// keepAlive is the interval between comments that keep a client's connection from appearing idle.
const keepAlive = 15 * time.Second

var (
	errBackground = &chat.Error{Kind: chat.RateLimited, Msg: "Too many background responses are running. Please try again later."}
	errLong       = &chat.Error{Kind: chat.TooLarge, Msg: "The answer is too long."}
)

// recording holds the events of a background response for clients that follow it. The sequence number of an event is its
// index. A recording is the sink of one builder; from may be called concurrently.
type recording struct {
	name string // of the event being written
	line []byte

	mu      sync.Mutex
	events  []recorded
	size    int
	ended   bool
	changed chan struct{} // closed at the next change
}

// recorded is an event: its name and its JSON.
type recorded struct {
	name string
	body []byte
}

func newRecording() *recording { return &recording{changed: make(chan struct{})} }

func (r *recording) event(name string) []byte {
	r.name = name
	return r.line[:0]
}

// next records an event. From the limit on it returns errLong, unless the event is one of the last events of a response. It
// records the event even then, so that the indices remain the sequence numbers.
func (r *recording) next(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = line
	r.events = append(r.events, recorded{r.name, bytes.Clone(line)})
	r.wake()
	if r.size += len(line); r.size > maxRecording && !lastEvents[r.name] {
		return errLong
	}
	return nil
}

// lastEvents are the names of the events that end a response.
var lastEvents = map[string]bool{"response.completed": true, "response.incomplete": true, "error": true, "response.failed": true}

func (r *recording) soon(line []byte) error { return r.next(line) }

// wake notifies the readers of a change. The caller must hold r.mu.
func (r *recording) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recording) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.wake()
}

func (r *recording) bytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

// from returns the events with numbers n and above, a channel that is closed at the next change, and whether the
// recording is complete.
func (r *recording) from(n int) (events []recorded, changed <-chan struct{}, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[min(n, len(r.events)):], r.changed, r.ended
}

// launch starts a background response. It responds with its initial state or, for a streamed response, with its events.
func (h *Handler) launch(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	if !x.res.Store {
		return openai.Refusef("background", openai.Invalid, `"background" requires "store": the response is fetched from the store.`)
	}
	if t, err := h.cfg.Store.Transcript(r.Context(), h.scope(transcript.Responses, x.who), x.res.ID); err == nil {
		return h.relaunch(w, r, x, t)
	} else if !errors.Is(err, transcript.ErrNotFound) {
		return unreachable(err)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	leave, err := h.background.enter(x.who.Subject, cancel)
	if err != nil {
		cancel(nil)
		return err
	}
	x.res.Status = waiting
	state, events := mustJSON(&x.res), newRecording()
	ctx, end := h.depart(ctx, x, events)
	b := &builder{h: h, x: x, out: events}
	if err = h.save(ctx, x); err == nil {
		err = b.wait()
	}
	if err != nil {
		end()
		leave()
		cancel(nil)
		return err
	}
	x.placed = true
	release := turn.Hold(ctx)
	go func() {
		defer cancel(nil)
		defer leave()
		defer release()
		defer end()
		h.finish(ctx, b, events)
	}()
	if x.streamed {
		return h.follow(w, r, events, 0)
	}
	return wire.WriteJSON(w, http.StatusOK, state)
}

// relaunch responds to a request that repeats the Idempotency-Key of an earlier one: with the stored response t of that
// request or, for a streamed response, with its recorded events.
func (h *Handler) relaunch(w http.ResponseWriter, r *wire.Request, x *exchange, t transcript.Transcript) error {
	if !x.streamed {
		return wire.WriteJSON(w, http.StatusOK, t.Messages[0].Body)
	}
	events := h.recordingOf(flight{x.who.Subject, x.res.ID})
	if events == nil {
		return openai.Refusef("stream", openai.Unsupported,
			`The events of the response to this Idempotency-Key are no longer available. GET /v1/responses/%s without "stream".`, x.res.ID)
	}
	return h.follow(w, r, events, 0)
}

// finish runs a background response to its end, and keeps its recording. It recovers from panics.
func (h *Handler) finish(ctx context.Context, b *builder, events *recording) {
	defer func() {
		if v := recover(); v != nil {
			h.cfg.Log.Error("panic", "turn_id", b.x.req.TurnID, "value", v, "stack", string(debug.Stack()))
		}
		events.end()
		h.recordings.Put(flight{b.x.who.Subject, b.x.res.ID}, events)
	}()
	if err := b.run(ctx); err != nil {
		h.cfg.Log.Log(ctx, wire.LevelOf(ctx, err), "response in the background failed", "turn_id", b.x.req.TurnID, "error", err)
	}
}

// follow sends the events with numbers n and above, until the response has ended or the client leaves. The response
// continues when the client leaves.
func (h *Handler) follow(w http.ResponseWriter, r *wire.Request, from *recording, n int) error {
	stream := wire.SSE(w)
	defer stream.Close() // fails only if the client is gone
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for {
		events, changed, ended := from.from(n)
		for _, e := range events {
			if err := stream.SendSoon(append(stream.Event(e.name), e.body...)); err != nil {
				return err
			}
		}
		n += len(events)
		if ended {
			return stream.Send(append(stream.Line(), "[DONE]"...))
		}
		select {
		case <-changed:
		case <-idle.C:
			if err := stream.Comment("keep-alive"); err != nil {
				return err
			}
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
}

// resume handles GET /v1/responses/{id}?stream=true&starting_after=.
func (h *Handler) resume(w http.ResponseWriter, r *wire.Request, key flight) error {
	n := 0
	if after := r.URL.Query().Get("starting_after"); after != "" {
		var err error
		if n, err = strconv.Atoi(after); err != nil || n < 0 || n > maxRecording {
			return openai.Refusef("starting_after", openai.Invalid, `"starting_after" must be the number of an event.`)
		}
		n++
	}
	if _, err := h.find(r); err != nil {
		return err
	}
	events := h.recordingOf(key)
	if events == nil {
		return openai.Refusef("stream", openai.Unsupported,
			`"stream" requires a background response whose events are still available. GET this response without "stream".`)
	}
	return h.follow(w, r, events, n)
}

// recordingOf returns the events of a background response that is running or has recently ended, or nil.
func (h *Handler) recordingOf(key flight) *recording {
	if l := h.flights.find(key); l != nil {
		return l.events
	}
	events, _ := h.recordings.Get(key)
	return events
}

// errLost is the error of a response whose server ended before the response was complete.
var errLost = &chat.Error{Kind: chat.Unavailable, Msg: "The server stopped before the response was complete. Please ask again."}

// isPending reports whether a stored response has not ended.
func isPending(body wire.Value) bool {
	object, _ := body.Object()
	status, _ := object.Get("status")
	text, _ := status.Text()
	return pending(text)
}

func pending(status string) bool { return status == waiting || status == inProgress }

// graceTime is the time limit for another server to begin the turn of a response that it has stored.
const graceTime = 15 * time.Second

// settle marks a stored response as failed if it is pending but no server runs its turn: its server was killed.
func (h *Handler) settle(r *wire.Request, key flight) error {
	if h.flights.find(key) != nil {
		return nil
	}
	t, err := h.find(r)
	if err != nil || !isPending(wire.Value(t.Messages[0].Body)) {
		return err
	}
	if h.cfg.Turns != nil && h.cfg.Now().Sub(t.UpdatedAt) < graceTime {
		return nil
	}
	if running, err := h.elsewhere(r, key, false); err != nil || running {
		return err
	}
	return h.lose(r, key)
}

// lose stores that a response has failed, unless it has ended in the meantime.
func (h *Handler) lose(r *wire.Request, key flight) error {
	_, err := h.cfg.Store.Save(r.Context(), h.scope(transcript.Responses, r.Who), key.id, func(t *transcript.Transcript, found bool) error {
		if !found {
			return transcript.ErrNotFound
		}
		body := &t.Messages[0].Body
		if !isPending(wire.Value(*body)) {
			return nil
		}
		var res response
		if err := json.Unmarshal(*body, &res); err != nil {
			return fmt.Errorf("read response %s: %w", key.id, err)
		}
		p, _ := problemOf(errLost)
		res.Status, res.Error = failed, p.cause()
		*body, t.UpdatedAt = mustJSON(&res), h.cfg.Now()
		return nil
	})
	return h.notFound(r, err, "response")
}
