package responses

import (
	"context"
	"net/http"
	"sync"

	"parley/internal/chat"
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

// end cancels a flight and waits for its end. It does nothing if there is none.
func (f *flights) end(ctx context.Context, key flight) error {
	f.mu.Lock()
	l := f.all[key]
	f.mu.Unlock()
	if l == nil {
		return nil
	}
	l.cancel(errCancelled)
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancel handles POST /v1/responses/{id}/cancel. It returns the final response; a response that had
// already ended is unchanged.
func (h *Handler) cancel(w http.ResponseWriter, r *wire.Request) error {
	if err := h.flights.end(r.Context(), flight{r.Who.Subject, r.PathValue("id")}); err != nil {
		return err
	}
	return h.stored(w, r)
}
