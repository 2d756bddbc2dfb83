package responses

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/interrupt"
	"parley/internal/turn"
	"parley/internal/wire"
)

// events is a sink that sends server-sent events, each named by its type.
type events struct{ *wire.Stream }

func (e events) event(name string) []byte { return e.Event(name) }

func (e events) next(line []byte) error { return e.SendWithNext(line) }

func (e events) soon(line []byte) error { return e.SendSoon(line) }

// stream responds with the events of a response.
func (h *Handler) stream(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	stream := wire.SSE(w)
	defer stream.Close() // fails only if the client is gone
	err := h.fly(r.Context(), &builder{h: h, x: x, out: events{stream}})
	if stream.Begun() {
		_ = stream.Send(append(stream.Line(), "[DONE]"...))
	}
	return err
}

// reply responds with the complete response object. It is built from the same events as a stream.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	x.req.Whole = true
	if err := h.fly(r.Context(), &builder{h: h, x: x}); err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, &x.res)
}

// errCancelled is the cause with which the context of a response is cancelled at its owner's request.
var errCancelled = &chat.Error{Kind: chat.Conflict, Msg: "The response was cancelled."}

// flights holds the responses in progress on this server. The zero value is empty. It is safe for concurrent use.
type flights struct {
	mu  sync.Mutex
	all map[flight]*landing
}

// flight identifies a response by its owner and id.
type flight struct{ owner, id string }

// landing is used to cancel a flight and to wait for its end.
type landing struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the flight has ended
	events *recording    // of a background response; otherwise nil
}

// fly makes a response, which its owner can cancel until it is complete.
func (h *Handler) fly(ctx context.Context, b *builder) error {
	ctx, end := h.depart(ctx, b.x, nil)
	defer end()
	return b.run(ctx)
}

// depart makes a response cancellable until end is called: its work must use the returned context. events is nil unless
// it is a background response.
func (h *Handler) depart(ctx context.Context, x *exchange, events *recording) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &landing{cancel, make(chan struct{}), events}
	leave := h.flights.enter(flight{x.who.Subject, x.res.ID}, l)
	return ctx, func() {
		leave()
		close(l.done)
		cancel(nil)
	}
}

// enter registers a flight until leave is called.
func (f *flights) enter(key flight, l *landing) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[flight]*landing{}
	}
	f.all[key] = l
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.all[key] == l {
			delete(f.all, key)
		}
	}
}

// find returns a flight, or nil.
func (f *flights) find(key flight) *landing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[key]
}

// end cancels a flight and waits until it has ended, or ctx has. It returns false if there is no such flight.
func (f *flights) end(ctx context.Context, key flight) (bool, error) {
	l := f.find(key)
	if l == nil {
		return false, nil
	}
	l.cancel(errCancelled)
	select {
	case <-l.done:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// elsewhere waits up to landPatience for another server to store a response after its turn has ended, and
// checks every landInterval.
const (
	landPatience = 5 * time.Second
	landInterval = 50 * time.Millisecond
)

// elsewhere looks for a turn of the response on another server. If stop is false, it returns true if the turn is still
// running. Otherwise it stops the turn and waits, up to landPatience, until the response is stored as ended; then it
// returns false.
func (h *Handler) elsewhere(r *wire.Request, key flight, stop bool) (running bool, err error) {
	if h.cfg.Turns == nil {
		return false, nil
	}
	l, err := h.cfg.Turns.Log(r.Context(), key.owner, strings.TrimPrefix(key.id, responsePrefix))
	if errors.Is(err, turn.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !stop && !l.Ended() {
		return true, nil
	}
	l.Stop()
	ctx, cancel := context.WithTimeout(r.Context(), landPatience)
	defer cancel()
	for {
		if t, err := h.find(r); err == nil && !isPending(wire.Value(t.Messages[0].Body)) {
			return false, nil
		}
		if interrupt.Sleep(ctx, landInterval) != nil {
			return false, nil // the caller handles a response that is still pending
		}
	}
}

// land cancels a response in progress, on this server or another, and waits until it is stored.
func (h *Handler) land(r *wire.Request, key flight) error {
	here, err := h.flights.end(r.Context(), key)
	if err != nil || here {
		return err
	}
	if t, err := h.find(r); err == nil && !isPending(wire.Value(t.Messages[0].Body)) {
		return nil // it has already ended
	}
	_, err = h.elsewhere(r, key, true)
	return err
}

// cancel handles POST /v1/responses/{id}/cancel. It responds with the final state; a response that had
// already ended is unchanged.
func (h *Handler) cancel(w http.ResponseWriter, r *wire.Request) error {
	key := flight{r.Who.Subject, r.PathValue("id")}
	if err := h.land(r, key); err != nil {
		return err
	}
	return h.reread(w, r, key)
}
