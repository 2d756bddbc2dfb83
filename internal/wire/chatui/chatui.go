// Package chatui implements the Chat UI API: standard and multi-agent chat, as JSON and as server-sent
// events, and the history of chats that its clients keep on the server. No two generations of that
// client read the same reply, so a message has the fields of all of them (see message).
//
// The body of a request becomes a chat.Request, and the Runner's events become the state of the reply so
// far (see board). Both streams and other replies are written from that state. README.md in this
// directory describes the protocol as implemented.
package chatui

import (
	"net/http"
	"time"

	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/wire"
)

// Config configures a Handler. Runner and Store are required.
type Config struct {
	wire.Base

	Store transcript.Store // for the chats that clients keep

	Minimal    bool     // standard replies have the minimal format unless the request says otherwise
	NoPartials bool     // streams have terminal events only unless the request says otherwise
	Agents     []string // the team's, in the order of a reply; other agents come last

	pace pace
}

// pace determines when events are sent. Clients give up after 30 s.
type pace struct {
	answer time.Duration // limit of a turn, after which it is cancelled
	giveUp time.Duration // limit of a reply, after which it no longer waits for the turn to end
	event  time.Duration // minimum time between two events
	settle time.Duration // minimum time before and after a terminal event
	idle   time.Duration // time without an event after which a stream gets a comment
}

// settle is the minimum time before and after a terminal event. One generation of the client renders
// only the newest of the events that arrive together; on a busy machine, events 100 ms apart still do.
const settle = 300 * time.Millisecond

// paceOf returns the pace for a team. When a turn is cut off, every open message still needs an event
// with its last text and a terminal one, so a team of more than two agents is cut off earlier.
func paceOf(agents int) pace {
	answer := max(27*time.Second-time.Duration(max(0, agents-2))*2*settle, 15*time.Second)
	return pace{
		answer: answer,
		giveUp: answer + 700*time.Millisecond,
		event:  time.Second / 20,
		settle: settle,
		idle:   10 * time.Second,
	}
}

// Handler answers the requests of the API. It is safe for concurrent use.
type Handler struct{ cfg Config }

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	if cfg.pace == (pace{}) {
		cfg.pace = paceOf(len(cfg.Agents))
	}
	cfg.Defaults.FollowUps = false // the API has no field for them
	return &Handler{cfg: cfg}
}

// Streaming determines whether a route streams its replies.
type Streaming uint8

// The values of Streaming.
const (
	ByAccept Streaming = iota // depends on the header Accept
	Always
	Never
)

// Form holds the properties of a request that its route determines.
type Form struct {
	Team   bool // multi-agent chat
	Stream Streaming
}

// exchange is a request for an answer, with everything that the reply depends on.
type exchange struct {
	team         bool
	streamed     bool
	partials     bool   // a stream has processing events
	format       format // of a reply that is not streamed
	base         string // URL of the server, for links
	conversation string // id in every message, either the client's own or a new one
	req          chat.Request
}

// Protocol returns the routes of the API. The routes of standard chat have no variant with a trailing
// slash, except below /p/: that path belongs to the AI Chat Protocol.
func (h *Handler) Protocol() wire.Protocol {
	turn := wire.Route{Right: wire.Ask, Fail: h.failTurn, Turn: true, Body: wire.JSON}
	chat := func(pattern string, form Form) wire.Route { return turn.At("POST "+pattern, h.chat(form)) }
	slashed := []wire.Route{
		chat("/api/chat/sse", Form{Stream: Always}),
		chat("/p/chatui/api/chat", Form{}),
		chat("/p/chatui/api/chat/sse", Form{Stream: Always}),
		// For clients that append /stream to a base URL.
		chat("/p/chatui/api/chat/stream", Form{Stream: Always}),
	}
	for _, prefix := range []string{"/api", "/p/chatui/api"} {
		slashed = append(slashed,
			chat(prefix+"/multi-agent-chat", Form{Team: true}),
			chat(prefix+"/multi-agent-chat/batch", Form{Team: true, Stream: Never}),
			chat(prefix+"/multi-agent-chat/stream", Form{Team: true, Stream: Always}))
	}
	for _, prefix := range []string{"", "/api", "/p/chatui/api"} {
		slashed = append(slashed, h.history(prefix+"/chat-history")...)
	}
	return wire.Protocol{OpenAPI: openAPI, Routes: append(wire.Slashed(slashed...), chat("/api/chat", Form{}))}
}

// chat returns the handler for requests of a form. The reply has one message, or one for each agent.
func (h *Handler) chat(form Form) func(http.ResponseWriter, *wire.Request) error {
	return func(w http.ResponseWriter, r *wire.Request) error {
		x := h.exchange(r, form)
		r.Fail = x.fail(h, nil)
		if err := h.decode(r, x); err != nil {
			return err
		}
		if x.streamed {
			return h.stream(w, r, x)
		}
		return h.reply(w, r, x)
	}
}
