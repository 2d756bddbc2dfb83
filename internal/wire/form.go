package wire

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"parley/internal/chat"
)

// The limits of the fields of a form that are not files.
const (
	maxFields     = 20
	maxFieldBytes = 4 << 10
)

// Form has the callbacks for the parts of a multipart form. They are called in the order in which the parts
// arrive. An error from either ends Read, which returns it.
type Form struct {
	File  func(part *multipart.Part) error // called for each file; part is valid only during the call
	Field func(name, value string) error
}

// Read reads a body of at most limit bytes without keeping it in memory, for forms with large files.
// Route.Body must be Unread.
func (f Form) Read(w http.ResponseWriter, r *Request, limit int64) error {
	boundary, err := Boundary(r, "multipart/form-data with a file")
	if err != nil {
		return err
	}
	body := NewPaced(w, r.Request, limit)
	defer body.Drain()
	err = f.parts(multipart.NewReader(body, boundary))
	if broken := body.Err(); broken != nil { // the multipart reader wraps it, so return the original
		return broken
	}
	return err
}

// Boundary returns the boundary of a multipart form. Error messages name want as the content type that the route accepts.
func Boundary(r *Request, want string) (string, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return "", UnsupportedType(want)
	}
	if params["boundary"] == "" {
		return "", Invalidf("The multipart request has no boundary.")
	}
	return params["boundary"], nil
}

func (f Form) parts(parts *multipart.Reader) error {
	for fields := 0; ; {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // only the bare io.EOF is the closing boundary
			return nil
		}
		switch {
		case err != nil:
		case part.FileName() != "":
			err = f.File(part)
		default:
			fields++
			err = f.field(part, fields)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) || err != nil && part == nil {
			return &chat.Error{Kind: chat.Invalid, Msg: "The multipart request is broken.", Err: err}
		}
		if err != nil {
			return err
		}
	}
}

// field reads the nth field, counted from 1.
func (f Form) field(part *multipart.Part, nth int) error {
	if nth > maxFields {
		return &chat.Error{Kind: chat.TooLarge, Msg: "The upload has too many fields."}
	}
	value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil {
		return err
	}
	if len(value) > maxFieldBytes {
		return &chat.Error{Kind: chat.TooLarge, Msg: "A field of the upload is too long."}
	}
	return f.Field(part.FormName(), string(value))
}
