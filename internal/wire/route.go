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

	// Types has a value of each Go type from which a schema of /openapi.json follows, by the name of the schema.
	Types map[string]any

	Options []Named // of its turns
	Schema  string  // name of the schema in /openapi.json that has the options as members
	Drain   func()  // ends streams that only wait, so that they do not delay a stop; optional

	// Wait waits for connections that net/http has handed over, and closes them with that cause when ctx
	// ends. Called after Drain. Optional.
	Wait func(ctx context.Context, cause error)

	Aliases []Alias // other paths to routes; the first that leads to one counts

	// Unknown responds for the paths below Root, or below an alias of it, that have no route. Optional.
	Root    string
	Unknown Fail
}

// Route is one method of one path, with everything that the server must do before Handle runs.
type Route struct {
	Pattern  string // of http.ServeMux, with the method; GET includes HEAD
	Right    Right  // what the caller must be allowed to do; required
	Turn     bool   // Handle runs a turn: idempotency keys and X-On-Disconnect apply
	Body     Media
	Limit    int64  // maximum bytes of the body, if that is less than the server's limit; 0 means the server's
	FormSize int64  // maximum bytes of a form
	Speaks   string // the protocol, on a path that several protocols share
	Events   bool   // a GET that streams, for which HEAD is not allowed
	Verbatim bool   // the last part of the path is a URL, which must not be cleaned
	Quiet    bool   // a probe: logged at Debug, and answered even when connections are scarce
	Fail     Fail   // writes errors for clients of this route

	// Claims reports whether a request is this route's, on a path that another route serves, which is mounted
	// first and answers the requests that are not claimed. Optional.
	Claims func(*Request) bool

	// Handle responds to the request. The server logs an error that it returns, and responds with it by
	// Request.Fail unless something was sent already.
	Handle func(w http.ResponseWriter, r *Request) error
}

// At returns a copy of the route with another pattern and handler.
func (rt Route) At(pattern string, handle func(http.ResponseWriter, *Request) error) Route {
	rt.Pattern, rt.Handle = pattern, handle
	return rt
}

// Slashed returns the routes, and each of them a second time with a trailing slash: a redirect from one
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

// ProtocolHeader is the header that names the protocol of a request on a path that several share.
const ProtocolHeader = "X-Chat-Protocol"

// Right is the right that a route requires. The zero value is not a right: a server refuses to start
// with a route that has none.
type Right uint8

// The rights.
const (
	Anybody    Right = iota + 1 // no identification is required: probes, the page, how to sign in
	Ask                         // ask questions, and read what the caller may see
	Change                      // add documents and delete them
	Edit                        // the same in a namespace, which the handler checks with Principal.MayEdit or MayChange
	Manage                      // manage the members of a namespace, which the handler checks with Principal.MayManage
	Instruct                    // write the instructions of a namespace, which the handler checks with Principal.MayInstruct
	Administer                  // manage keys
)

// Fail responds with an error before anything else was sent.
type Fail func(w http.ResponseWriter, r *Request, err error)

// Request is a request that the server has admitted.
type Request struct {
	*http.Request
	Who access.Principal

	// Again finds out anew who sends the request, and whether they still have the right. Connections that outlive what their
	// caller signed in with ask it before each thing that they do. It is nil on routes for anybody.
	Again func() (access.Principal, error)

	Body   []byte // nil if it has not been read
	IsForm bool   // Body is multipart/form-data

	// Changed names what a change was made to, for the audit log, where the path does not name it. A request that sets it is
	// logged, even a GET or one that everybody may make.
	Changed string

	// Fail is initially that of the route. A handler that learns more about the client may replace it.
	Fail Fail

	object  Object // parsed Body, after a call of Object
	invalid error
	checked bool
}

// SetBody replaces the body, for example by one part of a form.
func (r *Request) SetBody(body []byte) { r.Body, r.checked = body, false }

// Object returns the body as a JSON object. It checks the body only once. The error is that of
// ParseObject.
func (r *Request) Object() (Object, error) {
	if !r.checked {
		r.object, r.invalid = ParseObject(r.Body)
		r.checked = true
	}
	return r.object, r.invalid
}

// Decode decodes a body that is a JSON object into v. A member that v does not have is an error, for which the
// client is told what was expected.
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

// Media says which body a route accepts, and who reads it.
type Media uint8

// The kinds of bodies.
const (
	NoBody     Media = iota
	JSON             // a body without a content type counts as JSON
	JSONOrForm       // JSON, or multipart/form-data of at most FormSize bytes
	Ignored          // read to its end, whatever it is
	Unread           // Handle reads Request.Request.Body
	UnreadJSON       // like Unread, but JSON only
)

// ReadBody reads the body that the route accepts, up to limit bytes, into r.
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

// isForm distinguishes multipart forms from JSON, and refuses other types and encoded bodies.
func isForm(h http.Header) (bool, error) {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false, unsupportedMedia("The body has a content encoding; expected it as it is.")
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

// UnsupportedType is the error for a body of another type than the one expected.
func UnsupportedType(expected string) error {
	return unsupportedMedia("The content type is not supported; expected " + expected + ".")
}

func unsupportedMedia(text string) error {
	return Refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", text)
}

// Refuse returns an error with a status that no kind of package chat has.
func Refuse(status int, code, text string) error {
	return &RefusalError{Failure: Failure{Status: status, Code: code, Text: text}}
}
