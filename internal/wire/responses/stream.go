package responses

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/internal/chat"
	"parley/internal/turn"
	"parley/internal/wire"
)

// events is a sink that sends server-sent events, each with its type as its name.
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

// reply responds with the response itself, which is the fold of the same events.
func (h *Handler) reply(w http.ResponseWriter, r *wire.Request, x *exchange) error {
	x.req.Whole = true
	if err := h.fly(r.Context(), &builder{h: h, x: x}); err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, &x.res)
}

// errCancelled is the cause of a response that its owner cancelled.
var errCancelled = &chat.Error{Kind: chat.Conflict, Msg: "The response was cancelled."}

// flights are the responses in progress.
type flights struct {
	mu  sync.Mutex
	all map[flight]*landing
}

// flight identifies a response of an owner.
type flight struct{ owner, id string }

// landing cancels a flight, and is done when it has ended.
type landing struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// fly makes a response, which its owner can cancel meanwhile.
func (h *Handler) fly(ctx context.Context, b *builder) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	key, l := flight{b.x.who.Subject, b.x.res.ID}, &landing{cancel, make(chan struct{})}
	defer close(l.done)
	defer h.flights.enter(key, l)()
	return b.run(ctx)
}

// enter adds a flight until leave is called.
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

// end cancels a flight and waits for its end. It reports false if there is none.
func (f *flights) end(ctx context.Context, key flight) (bool, error) {
	f.mu.Lock()
	l := f.all[key]
	f.mu.Unlock()
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

// How long a response of another server may take to be stored after its turn has ended.
const (
	landPatience = 5 * time.Second
	landInterval = 50 * time.Millisecond
)

// endElsewhere cancels a response that another server makes, and waits until it is stored. It does
// nothing if there is none.
func (h *Handler) endElsewhere(ctx context.Context, r *wire.Request, key flight) error {
	if h.cfg.Turns == nil {
		return nil
	}
	if _, err := h.find(r); err == nil {
		return nil // it has ended
	}
	l, err := h.cfg.Turns.Log(ctx, key.owner, strings.TrimPrefix(key.id, responsePrefix))
	if errors.Is(err, turn.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	l.Stop()
	ctx, cancel := context.WithTimeout(ctx, landPatience)
	defer cancel()
	for {
		if _, err := h.find(r); err == nil {
			return nil
		}
		select {
		case <-time.After(landInterval):
		case <-ctx.Done():
			return nil // the caller says that it is not stored
		}
	}
}

// cancel handles POST /v1/responses/{id}/cancel. It returns the final response; a response that had
// already ended is unchanged.
func (h *Handler) cancel(w http.ResponseWriter, r *wire.Request) error {
	key := flight{r.Who.Subject, r.PathValue("id")}
	here, err := h.flights.end(r.Context(), key)
	if err == nil && !here {
		err = h.endElsewhere(r.Context(), r, key)
	}
	if err != nil {
		return err
	}
	return h.stored(w, r)
}
