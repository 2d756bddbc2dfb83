package responses

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// The limits of a connection (Open Responses, "WebSocket Reconnects"). A client that accepts no data for
// writeTimeout is dropped.
const (
	maxConnected = time.Hour
	writeTimeout = 30 * time.Second
	queued       = 8 // messages waiting for the previous response
)

// socket is one WebSocket. It makes its responses one after another, all in one goroutine.
type socket struct {
	h      *Handler
	conn   *websocket.Conn
	from   asker
	again  func() (access.Principal, error) // wire.Request.Again; may be nil
	memory memory
	line   []byte // of the event being sent
}

// connect handles GET /v1/responses: it opens a WebSocket for the same requests and events as POST
// /v1/responses.
func (h *Handler) connect(w http.ResponseWriter, r *wire.Request) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		return wire.Refuse(http.StatusUpgradeRequired, "upgrade_required", "GET /v1/responses opens a WebSocket. For a single response, use POST /v1/responses.")
	}
	if !sameOrigin(r.Request) {
		return &chat.Error{Kind: chat.Forbidden, Msg: "A page from another origin may not open a WebSocket here."}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	leave, err := h.sockets.enter(r.Who.Subject, cancel)
	if err != nil {
		return err
	}
	defer leave()
	conn, err := websocket.Accept(w, r.Request, nil)
	if err != nil {
		return nil // Accept has already responded
	}
	conn.SetReadLimit(h.cfg.MaxMessage)
	s := &socket{
		h: h, conn: conn, again: r.Again, memory: memory{most: h.cfg.MaxMessages / 2, readable: h.readable()},
		from: asker{who: r.Who, base: wire.BaseURL(r.Request, h.cfg.PublicURL, false)},
	}
	s.serve(ctx, cancel)
	return nil
}

// sameOrigin reports whether a request comes from a page of this server, or from no web page.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// errConnectedLong ends a connection at its time limit.
var errConnectedLong = wire.Refuse(http.StatusBadRequest, "websocket_connection_limit_reached",
	"The connection has reached its limit of 60 minutes. Open a new one.")

// serve handles the messages of a connection until it ends or the server stops. It starts a goroutine that
// reads them and notices when the client leaves, and waits for it.
func (s *socket) serve(ctx context.Context, cancel context.CancelCauseFunc) {
	defer func() { _ = s.conn.CloseNow() }()
	messages := make(chan []byte, queued)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer cancel(wire.ErrClientGone)
		s.read(ctx, messages)
	}()
	limit := time.NewTimer(maxConnected)
	defer limit.Stop()
	s.answer(ctx, messages, limit.C)
	_ = s.conn.CloseNow() // ends read
	<-read
}

// read sends the connection's messages to a channel. A message that is too large ends the connection.
func (s *socket) read(ctx context.Context, messages chan<- []byte) {
	for {
		kind, message, err := s.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = s.conn.Close(websocket.StatusUnsupportedData, "messages must be text")
			return
		}
		select {
		case messages <- message:
		case <-ctx.Done():
			return
		}
	}
}

func (s *socket) answer(ctx context.Context, messages <-chan []byte, limit <-chan time.Time) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.h.sockets.stop:
			_ = s.conn.Close(websocket.StatusGoingAway, "the server is stopping")
			return
		case <-limit:
			s.refuse(ctx, errConnectedLong)
			_ = s.conn.Close(websocket.StatusNormalClosure, "the limit of 60 minutes is reached")
			return
		case message := <-messages:
			if err := s.readmit(); err != nil {
				s.refuse(ctx, err)
				_ = s.conn.Close(websocket.StatusPolicyViolation, "the caller is no longer authorized")
				return
			}
			if err := s.message(ctx, message); err != nil && ctx.Err() == nil {
				s.refuse(ctx, err)
			}
		}
	}
}

// readmit identifies the caller again. Since the last message, the key may have been revoked, or the session or a membership
// may have ended.
func (s *socket) readmit() (err error) {
	if s.again == nil {
		return nil
	}
	s.from.who, err = s.again()
	return err
}

// message makes the response to a message. It returns an error only if the client has received nothing of
// the response; the caller then sends it.
func (s *socket) message(ctx context.Context, message []byte) error {
	object, err := wire.ParseObject(message)
	if err != nil {
		return err
	}
	kind, _ := object.Get("type")
	if name, _ := kind.Text(); name != "response.create" {
		return openai.Refusef("type", "invalid_value", `"type" must be "response.create".`)
	}
	x, err := s.h.decode(ctx, object, s.from, &s.memory)
	begun := false
	if err == nil {
		x.res.Background = false // like "stream", it has no meaning here
		b := &builder{h: s.h, x: x, out: sender{s, ctx}, quiet: true}
		err = s.h.fly(ctx, b)
		begun = b.begun
	}
	if err != nil {
		previous, _ := object.Get("previous_response_id")
		id, _ := previous.Text()
		s.memory.forget(id)
	}
	if begun {
		return nil // the response itself reports how it ended
	}
	return err
}

// refuse sends an error that does not belong to a response.
func (s *socket) refuse(ctx context.Context, err error) {
	p, status := problemOf(err)
	code := p.cause().Code
	p.Code = &code
	line := mustJSON(struct {
		Type   string  `json:"type"`
		Status int     `json:"status"`
		Error  problem `json:"error"`
	}{"error", status, p})
	// If this fails, the client is gone, and read notices it.
	_ = s.write(ctx, line)
}

func (s *socket) write(ctx context.Context, line []byte) error {
	// The last event of a response must be sent even if ctx has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, line); err != nil {
		return errors.Join(wire.ErrClientGone, err)
	}
	return nil
}

// sender is a sink that sends each event as a message.
type sender struct {
	*socket
	ctx context.Context
}

func (s sender) event(string) []byte { return s.line[:0] }

func (s sender) next(line []byte) error { return s.soon(line) }

func (s sender) soon(line []byte) error {
	s.line = line
	return s.write(s.ctx, line)
}
