package filesapi

import (
	"cmp"
	"math"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/documents/upload"
	"parley/internal/lazyregexp"
	"parley/internal/library"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// maxPart is the maximum size of a part in OpenAI's API, in bytes.
const maxPart = 64 << 20

// uploadBody is an upload in responses.
type uploadBody struct {
	ID        string    `json:"id"`
	Object    string    `json:"object"`
	Bytes     int64     `json:"bytes"`
	CreatedAt int64     `json:"created_at"`
	Filename  string    `json:"filename"`
	Purpose   string    `json:"purpose"`
	Status    string    `json:"status"`
	ExpiresAt int64     `json:"expires_at"`
	File      *fileBody `json:"file"`
}

func uploadBodyOf(u library.Upload, f *fileBody) uploadBody {
	return uploadBody{
		ID: u.ID, Object: "upload", Bytes: u.Size, CreatedAt: u.CreatedAt.Unix(), Filename: u.Name, Purpose: u.Purpose,
		Status: u.State, ExpiresAt: u.ExpiresAt().Unix(), File: f,
	}
}

// createUpload handles POST /v1/uploads.
func (h *Handler) createUpload(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	u, err := h.uploadOf(object)
	if err != nil {
		return err
	}
	if u, err = h.cfg.Library.AddUpload(r.Context(), r.Who.Subject, u); err != nil {
		return err
	}
	r.Changed = u.ID
	return wire.Reply(w, http.StatusOK, uploadBodyOf(u, nil))
}

// uploadOf reads the description of the file that will be uploaded.
func (h *Handler) uploadOf(object wire.Object) (u library.Upload, err error) {
	var in struct {
		Filename wire.Value `json:"filename"`
		Purpose  wire.Value `json:"purpose"`
		Bytes    wire.Value `json:"bytes"`
		Mime     wire.Value `json:"mime_type"`
		Expires  wire.Value `json:"expires_after"`
	}
	object.Read(&in)
	name, ok := in.Filename.Text()
	if !ok || name == "" {
		return u, openai.Refusef("filename", openai.Missing, `"filename" must be the name of the file.`)
	}
	if u.Name, err = upload.Clean(name); err != nil {
		return u, err
	}
	if u.Purpose, _ = in.Purpose.Text(); !has(purposes, u.Purpose) {
		return u, badPurpose(openai.Invalid)
	}
	if _, err := textOf(in.Mime, "mime_type", maxName); err != nil {
		return u, err
	}
	n, ok := in.Bytes.Number()
	switch {
	case !ok || n < 1 || n != math.Trunc(n):
		return u, openai.Refusef("bytes", openai.Invalid, `"bytes" must be the size of the file.`)
	case n > float64(h.cfg.MaxUpload):
		return u, &chat.Error{Kind: chat.TooLarge, Msg: "A file may have " + strconv.FormatInt(h.cfg.MaxUpload, 10) + " bytes at most."}
	}
	u.Size = int64(n)
	expiry, err := expiryOf(in.Expires, "seconds", errFileExpiry)
	if err == nil {
		u.Lifetime, err = expiry.lifetime()
	}
	return u, err
}

// partBody is a part of an upload in responses.
type partBody struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	CreatedAt int64  `json:"created_at"`
	Upload    string `json:"upload_id"`
}

// formFrame is the number of bytes that a form may have in addition to the part, because clients send parts of maxPart bytes.
const formFrame = 64 << 10

// addPart handles POST /v1/uploads/{id}/parts, a form with the file data.
func (h *Handler) addPart(w http.ResponseWriter, r *wire.Request) error {
	leave, err := h.receiving.Take(wire.ErrTooManyUploads)
	if err != nil {
		return err
	}
	defer leave()
	var id string
	var at time.Time
	store := func(part *multipart.Part) (err error) {
		switch {
		case part.FormName() != "data":
			return openai.Refusef("data", openai.Invalid, `The part with the content must be named "data".`)
		case id != "":
			return openai.Refusef("data", openai.Invalid, "A request may contain only one part of an upload.")
		}
		id, at, err = h.cfg.Library.AddPart(r.Context(), r.Who.Subject, r.PathValue("id"), part)
		return err
	}
	form := wire.Form{File: store, Field: func(string, string) error { return nil }}
	if err := form.Read(w, r, min(maxPart, h.cfg.MaxUpload)+formFrame); err != nil {
		return err // a part that was stored is never used, and is deleted with its upload
	}
	if id == "" {
		return openai.Refusef("data", openai.Missing, `The request has no content: expected a part named "data" with a file name.`)
	}
	return wire.Reply(w, http.StatusOK, partBody{id, "upload.part", at.Unix(), r.PathValue("id")})
}

// checksums matches MD5 sums in hexadecimal.
var checksums = lazyregexp.New(`^[0-9A-Fa-f]{32}$`)

// completeUpload handles POST /v1/uploads/{id}/complete.
func (h *Handler) completeUpload(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	var in struct {
		Parts wire.Value `json:"part_ids"`
		Sum   wire.Value `json:"md5"`
	}
	object.Read(&in)
	const want = `"part_ids" must list 1 to %d parts of the upload.`
	elements, ok := in.Parts.Elements()
	if n, few := wire.AtMost(library.MaxParts, elements); !ok || !few || n == 0 {
		return openai.Refusef("part_ids", openai.Invalid, want, library.MaxParts)
	}
	var parts []string
	for v := range elements {
		id, ok := v.Text()
		if !ok {
			return openai.Refusef("part_ids", openai.Invalid, want, library.MaxParts)
		}
		parts = append(parts, id)
	}
	sum, err := textOf(in.Sum, "md5", maxName)
	if err != nil || sum != "" && !checksums.MatchString(sum) {
		return cmp.Or(err, openai.Refusef("md5", openai.Invalid, `"md5" must be 32 hexadecimal digits.`))
	}
	leave, err := h.receiving.Take(wire.ErrTooManyUploads)
	if err != nil {
		return err
	}
	defer leave()
	u, f, err := h.cfg.Library.CompleteUpload(r.Context(), r.Who.Subject, r.PathValue("id"), parts, sum)
	if err != nil {
		return err
	}
	body := bodyOf(f)
	return wire.Reply(w, http.StatusOK, uploadBodyOf(u, &body))
}

// cancelUpload handles POST /v1/uploads/{id}/cancel.
func (h *Handler) cancelUpload(w http.ResponseWriter, r *wire.Request) error {
	u, err := h.cfg.Library.CancelUpload(r.Context(), r.Who.Subject, r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, uploadBodyOf(u, nil))
}
