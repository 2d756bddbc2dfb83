package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"parley/internal/access"
)

// Protocol is the set of routes that an adapter mounts on a server.
type Protocol struct {
	Routes  []Route
	OpenAPI []byte // its part of /openapi.json

	// Types holds a value of each Go type that a schema of /openapi.json is derived from, keyed by the schema's name.
	Types map[string]any

	Options []Named // of its turns
	Schema  string  // name of the schema in /openapi.json whose members include the options
	Drain   func()  // ends idle streams, so that they do not delay a shutdown; optional

	// Wait waits until hijacked connections have ended. When ctx ends, it closes the remaining ones with cause.
	// Called after Drain. Optional.
	Wait func(ctx context.Context, cause error)

	Aliases []Alias // other paths to routes; the first that leads to a route wins

	// Unknown writes the error for paths without a route below Root, or below an alias of it. Optional.
	Root    string
	Unknown Fail
}

// Route is one method of one path: its handler, and what the server must do before calling it.
type Route struct {
	Pattern  string // of http.ServeMux, with the method; GET includes HEAD
	Right    Right  // the right that the caller must have; required
	Turn     bool   // Handle runs a turn: idempotency keys and X-On-Disconnect apply
	Body     Media
	Limit    int64  // maximum bytes of the body, if less than the server's limit; 0 means the server's
	FormSize int64  // maximum bytes of a form; only with JSONOrForm
	Speaks   string // the protocol, on a path that several protocols share
	Events   bool   // a streaming GET, so HEAD is not allowed
	Verbatim bool   // the last part of the path is a URL, which must not be cleaned
	Quiet    bool   // a probe: logged at Debug, and answered even when connections are scarce
	Fail     Fail   // writes errors for clients of this route

	// Claims is for a route with the same pattern as one that is mounted before it. It reports whether this
	// route handles a request; the route mounted first handles requests that no other route claims. Optional.
	Claims func(*Request) bool

	// Handle responds to the request. If it returns an error, the server logs it, and passes it to Request.Fail
	// unless the response has begun.
	Handle func(w http.ResponseWriter, r *Request) error
}

// At returns a copy of the route with another pattern and handler.
func (rt Route) At(pattern string, handle func(http.ResponseWriter, *Request) error) Route {
	rt.Pattern, rt.Handle = pattern, handle
	return rt
}

// Slashed returns the routes, and a copy of each with a trailing slash unless it has one already: a redirect from one
// form to the other would lose the body of a POST.
func Slashed(routes ...Route) []Route {
	all := slices.Clone(routes)
	for _, rt := range routes {
		if !strings.HasSuffix(rt.Pattern, "/{$}") {
			all = append(all, rt.At(rt.Pattern+"/{$}", rt.Handle))
		}
	}
	return all
}

// ProtocolHeader is the request header that names the protocol, on a path that several protocols share.
const ProtocolHeader = "X-Chat-Protocol"

// Right is the right that a route requires. The zero value is invalid: a server refuses to start
// with a route that requires no right.
type Right uint8

// The rights.
const (
	Anybody    Right = iota + 1 // no sign-in: probes, the web page, how to sign in
	Ask                         // ask questions, and read what is visible to the caller
	Change                      // add and delete documents
	Edit                        // the same in one namespace; the handler checks it with Principal.MayEdit or MayChange
	Manage                      // manage the members of a namespace; the handler checks it with Principal.MayManage
	Instruct                    // write the instructions of a namespace; the handler checks it with Principal.MayInstruct
	Administer                  // manage what concerns all namespaces: keys, users, budgets, the audit log
)

// Fail responds with an error. It is called only before the response has begun.
type Fail func(w http.ResponseWriter, r *Request, err error)

// Request is a request that the server has admitted, with its caller.
type Request struct {
	*http.Request
	Who access.Principal

	// Again identifies the caller again, and returns an error if they no longer have the right that the route requires.
	// Connections that may outlive the caller's credentials call it before each action. It is nil on routes for Anybody.
	Again func() (access.Principal, error)

	Body   []byte // nil if it has not been read
	IsForm bool   // Body is multipart/form-data

	// Changed names what a request changed, for the audit log, if the path does not name it. A request that sets it is
	// logged even if it is a GET or requires only the right Ask.
	Changed string

	// Fail is initially the route's. A handler that learns more about the client may replace it.
	Fail Fail

	object  Object // the parsed Body; valid if checked
	invalid error
	checked bool
}

// SetBody replaces the body, for example by one part of a form.
func (r *Request) SetBody(body []byte) { r.Body, r.checked = body, false }

// Object returns the body as a JSON object. It parses the body only once. The error is that of
// ParseObject.
func (r *Request) Object() (Object, error) {
	if !r.checked {
		r.object, r.invalid = ParseObject(r.Body)
		r.checked = true
	}
	return r.object, r.invalid
}

// Decode decodes the body, a JSON object, into v. If the body does not fit v, for example because it has an unknown
// member, the error is of kind Invalid and has the text expected.
func (r *Request) Decode(v any, expected string) error {
	if _, err := r.Object(); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.DisallowUnknownFields()
	if dec.Decode(v) != nil {
		return Invalidf("%s", expected)
	}
	return nil
}

// Media says which kind of body a route accepts, and who reads it.
type Media uint8

// The kinds of bodies.
const (
	NoBody     Media = iota
	JSON             // a JSON content type, or none
	JSONOrForm       // JSON, or multipart/form-data of at most FormSize bytes
	Ignored          // read to its end and discarded, whatever its type
	Unread           // any type; Handle reads Request.Request.Body
	UnreadJSON       // like Unread, but JSON only
)

// ReadBody checks the content type of the request and reads its body into r, as rt.Body says. limit is the server's
// maximum number of bytes; rt.Limit may lower it, and FormSize replaces it for a form.
func (rt *Route) ReadBody(w http.ResponseWriter, r *Request, limit int64) (err error) {
	if rt.Limit > 0 {
		limit = min(limit, rt.Limit)
	}
	switch rt.Body {
	case NoBody, Unread:
		return nil
	case Ignored:
		_, err = ReadBody(w, r.Request, limit)
		return err
	}
	if r.IsForm, err = isForm(r.Header); err != nil {
		return err
	}
	switch {
	case r.IsForm && rt.Body != JSONOrForm:
		return UnsupportedType("application/json in UTF-8")
	case rt.Body == UnreadJSON:
		return nil
	case r.IsForm:
		limit = rt.FormSize
	}
	r.Body, err = ReadBody(w, r.Request, limit)
	return err
}

// isForm reports whether the body is a multipart form. It is an error if it is neither that nor JSON, or is compressed.
func isForm(h http.Header) (bool, error) {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false, unsupportedMedia("The body has a Content-Encoding; send it uncompressed.")
	}
	value := h.Get("Content-Type")
	if value == "" {
		return false, nil
	}
	media, params, err := mime.ParseMediaType(value)
	if err == nil && media == "multipart/form-data" {
		return true, nil
	}
	charset, named := params["charset"]
	json := media == "application/json" || media == "text/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	if err != nil || !json || named && !strings.EqualFold(charset, "utf-8") {
		return false, UnsupportedType("application/json in UTF-8")
	}
	return false, nil
}

// UnsupportedType returns the error, with status 415, for a body whose type is not the expected one.
func UnsupportedType(expected string) error {
	return unsupportedMedia("The content type is not supported; expected " + expected + ".")
}

func unsupportedMedia(text string) error {
	return Refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", text)
}

// Refuse returns a *RefusalError, for statuses that no chat.Kind maps to.
func Refuse(status int, code, text string) error {
	return &RefusalError{Failure: Failure{Status: status, Code: code, Text: text}}
}
