package wire

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"

	"parley/internal/access"
)

// Protocol is what an adapter mounts on a server.
type Protocol struct {
	Routes  []Route
	OpenAPI []byte  // its part of /openapi.json
	Options []Named // of its turns
	Schema  string  // of /openapi.json, whose members the options are
	Drain   func()  // ends streams that only wait, so that they do not delay a stop; optional

	// Wait waits for connections that net/http has handed over, and cuts them when ctx ends, for that cause.
	// Called after Drain. Optional.
	Wait func(ctx context.Context, cause error)

	// Unknown answers for the paths below Root that have no route. Optional.
	Root    string
	Unknown Fail
}

// Route is one method of one path, and what the server must do before Handle runs.
type Route struct {
	Pattern  string // of http.ServeMux, with the method; a GET takes HEAD too
	Right    Right  // what the caller must be allowed to do; required
	Turn     bool   // Handle runs a turn: idempotency keys and X-On-Disconnect apply
	Body     Media
	Limit    int64  // bytes of the body where it is below the server's limit; 0: the server's
	FormSize int64  // bytes of a form
	Speaks   string // the protocol, on a path that several protocols share
	Events   bool   // a GET that streams, for which HEAD is not allowed
	Verbatim bool   // the last part of the path is a URL, which must not be cleaned
	Quiet    bool   // a probe: logged at Debug, and answered when connections are scarce
	Fail     Fail   // how clients of this route read errors

	// Handle answers. An error that it returns is logged by the server, which also answers with it,
	// by Request.Fail, unless something was sent already.
	Handle func(w http.ResponseWriter, r *Request) error
}

// At returns a copy of the route with another pattern and handler.
func (rt Route) At(pattern string, handle func(http.ResponseWriter, *Request) error) Route {
	rt.Pattern, rt.Handle = pattern, handle
	return rt
}

// Slashed returns the routes, each a second time with a slash at the end: a redirect from one form to
// the other would lose the body of a POST.
func Slashed(routes ...Route) []Route {
	all := slices.Clone(routes)
	for _, rt := range routes {
		if !strings.HasSuffix(rt.Pattern, "/{$}") {
			all = append(all, rt.At(rt.Pattern+"/{$}", rt.Handle))
		}
	}
	return all
}

// ProtocolHeader names the protocol of a request on a path that several share.
const ProtocolHeader = "X-Chat-Protocol"

// Right is what a caller needs for a route. The zero value is not a right: a server refuses to start with a
// route that has none.
type Right uint8

// The rights.
const (
	Anybody    Right = iota + 1 // nobody is asked who they are: probes, the page, how to sign in
	Ask                         // ask questions, and read what the caller may see
	Change                      // add documents and delete them
	Administer                  // manage keys
)

// Fail answers with an error before anything else was sent.
type Fail func(w http.ResponseWriter, r *Request, err error)

// Request is a request that the server has let through.
type Request struct {
	*http.Request
	Who    access.Principal
	Body   []byte // nil when it has not been read
	IsForm bool   // Body is multipart/form-data

	// Fail is the route's at first. A handler that learns more about the client replaces it.
	Fail Fail

	object  Object // of Body, once Object was called
	invalid error
	checked bool
}

// SetBody replaces the body, as where it is one part of a form.
func (r *Request) SetBody(body []byte) { r.Body, r.checked = body, false }

// Object returns the JSON object that the body is, which is checked once, however often it is asked for. The
// error is that of ParseObject.
func (r *Request) Object() (Object, error) {
	if !r.checked {
		r.object, r.invalid = ParseObject(r.Body)
		r.checked = true
	}
	return r.object, r.invalid
}

// Media says what the body of a route may be, and who reads it.
type Media uint8

// The kinds of bodies.
const (
	NoBody     Media = iota
	JSON             // a body without a content type counts as JSON
	JSONOrForm       // JSON, or multipart/form-data of at most FormSize bytes
	Ignored          // read to its end, whatever it is
	Unread           // Handle reads Request.Request.Body
	UnreadJSON       // the same, for JSON only
)

// ReadBody reads the body that the route takes, of at most limit bytes, into r.
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

// isForm tells multipart forms from JSON, and refuses other types. No encoding of a body is undone.
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
