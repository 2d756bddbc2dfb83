// Package azurechat implements both versions of the AI Chat Protocol: 2024-05-29 (message and
// delta) and 2024-01-28 (choices), with the variants that existing clients need: the
// Microsoft SDK's sessionState and multipart, the JavaScript sample's web component, and the shapes
// that Microsoft's samples have used since April 2026, which no document describes.
//
// The body of a request becomes a chat.Request, and a format turns the Runner's events into lines. A reply
// that is not streamed is assembled from the same events. README.md in this directory describes the
// protocol as implemented.
package azurechat

import (
	"cmp"
	"context"
	"net/http"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/transcript"
	"parley/internal/turn"
	"parley/internal/wire"
)

// Config configures a Handler. Runner and Store are required.
type Config struct {
	wire.Base

	Store transcript.Store // of chats that front ends save

	// Known reports whether id is a conversation that the caller may continue. If nil, every id
	// in the form of the server's ids is passed to the Runner.
	Known func(ctx context.Context, p access.Principal, id string) (bool, error)

	Model          string       // named in replies if the Runner names no model
	History        bool         // a null session state gets a new id, which front ends need to list a chat
	MultipartLimit int64        // bytes of a multipart body; 0 means 10 MiB
	Capabilities   Capabilities // for GET /config
	SignIn         *SignIn      // for GET /auth_setup; nil means that front ends do not offer sign-in
}

const (
	defaultTop            = 3
	defaultMultipartLimit = 10 << 20
)

// Handler answers chat requests. It is safe for concurrent use.
type Handler struct{ cfg Config }

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Fill()
	cfg.Defaults.Top = cmp.Or(cfg.Defaults.Top, defaultTop)
	cfg.Defaults.Mode = cmp.Or(cfg.Defaults.Mode, "hybrid")
	cfg.MultipartLimit = cmp.Or(cfg.MultipartLimit, defaultMultipartLimit)
	return &Handler{cfg: cfg}
}

// Version is a version of the protocol.
type Version uint8

// The versions.
const (
	V0529 Version = iota // 2024-05-29
	V0128                // 2024-01-28
	VLate                // 2024-05-29 with the replies of Microsoft's samples since April 2026
)

// Streaming determines whether a route streams its replies.
type Streaming uint8

// The values of Streaming. StreamByBody is for 2024-01-28: the body's "stream" decides, or
// ?stream=true if the body has none. It means StreamNever for the other versions.
const (
	StreamByBody Streaming = iota
	StreamAlways
	StreamNever
)

// Form holds the properties of a request that its route determines.
type Form struct {
	Version Version
	Stream  Streaming
	SDK     bool // the SDK's sample endpoint /api/chat/: sessionState, error objects, application/jsonl
	Both    bool // a whole 2024-05-29 reply also has "choices", for clients that read 2024-01-28
	Sniffs  bool // a 2024-05-29 request may come from a client of the later samples; see isLate
}

// exchange is one request and the properties that its reply depends on.
type exchange struct {
	form         Form
	objectErrors bool // errors are {"error":{"code","message"}}
	webComponent bool // the JavaScript sample's dialect of 2024-01-28
	late         bool // the client may be of either era, so a reply has the members of both
	streamed     bool
	state        state
	req          chat.Request
}

// chat returns the handler for requests of a form.
func (h *Handler) chat(form Form) func(http.ResponseWriter, *wire.Request) error {
	return func(w http.ResponseWriter, r *wire.Request) (err error) {
		x := &exchange{form: form, objectErrors: form.SDK || r.IsForm}
		if r.IsForm || r.Header.Get(wire.ProtocolHeader) != "" {
			x.form.Both, x.form.Sniffs = false, false // the client has named the version that it reads
		}
		r.Fail = x.fail
		var files []file
		if r.IsForm {
			var body []byte
			if body, files, err = splitMultipart(r.Header.Get("Content-Type"), r.Body); err != nil {
				return err
			}
			r.SetBody(body)
		}
		if err := h.decode(r, x, files); err != nil {
			return err
		}
		x.req.TurnID = turn.IDOf(r.Context(), h.cfg.NewID)
		if x.streamed {
			return h.stream(w, r, x)
		}
		return h.reply(w, r, x)
	}
}

// format returns the format of this exchange's lines and reply.
func (h *Handler) format(x *exchange) format {
	if x.form.Version == VLate || x.late {
		return &formatLate{early: format0529{state: x.state, choices: x.form.Both}, both: x.late}
	}
	if x.form.Version == V0529 {
		return &format0529{state: x.state, choices: x.form.Both}
	}
	return &format0128{
		state:        x.state,
		id:           "chatcmpl-" + x.req.TurnID,
		created:      h.cfg.Now().Unix(),
		model:        h.cfg.Model,
		webComponent: x.webComponent,
	}
}
