package filesapi

import (
	"context"
	"errors"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/internal/chat"
	"parley/internal/documents/upload"
	"parley/internal/library"
	"parley/internal/shelf"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// fileBody is a file in responses.
type fileBody struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt *int64 `json:"expires_at,omitempty"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"`
}

func bodyOf(f library.File) fileBody {
	return fileBody{
		ID: f.ID, Object: "file", Bytes: f.Size, CreatedAt: f.CreatedAt.Unix(), ExpiresAt: unixOf(f.Expires),
		Filename: f.Name, Purpose: f.Purpose, Status: "processed",
	}
}

// purposes are the values of a file's purpose. Parley treats them all alike.
var purposes = []string{"assistants", "user_data", "vision", "evals", "batch", "fine-tune"}

// upload handles POST /v1/files, a form with the fields file and purpose in either order.
func (h *Handler) upload(w http.ResponseWriter, r *wire.Request) error {
	leave, err := h.receiving.Take(wire.ErrTooManyUploads)
	if err != nil {
		return err
	}
	defer leave()
	form := &form{h: h, r: r}
	f, err := form.read(w)
	if err != nil {
		form.discard()
		return err
	}
	r.Changed = f.ID
	return wire.Reply(w, http.StatusOK, bodyOf(f))
}

// form is an upload in progress.
type form struct {
	h       *Handler
	r       *wire.Request
	purpose string
	expiry  expiry
	file    *library.File // nil until it is stored
}

// read stores the file of the form. FinishFile then sets the purpose, which may follow the file, and the lifetime.
func (f *form) read(w http.ResponseWriter) (library.File, error) {
	if err := (wire.Form{File: f.store, Field: f.field}).Read(w, f.r, f.h.cfg.MaxUpload); err != nil {
		return library.File{}, err
	}
	switch {
	case f.file == nil:
		return library.File{}, openai.Refuse(chat.Invalid, "file", openai.Missing, `The upload has no file: expected a part named "file" with a file name.`)
	case f.purpose == "":
		return library.File{}, badPurpose(openai.Missing)
	}
	lifetime, err := f.expiry.lifetime()
	if err != nil {
		return library.File{}, err
	}
	return f.h.cfg.Library.FinishFile(f.r.Context(), f.r.Who.Subject, f.file.ID, f.purpose, lifetime)
}

func badPurpose(code string) error {
	return openai.Refuse(chat.Invalid, "purpose", code, `"purpose" must be one of `+strings.Join(purposes, ", ")+".")
}

func (f *form) store(part *multipart.Part) error {
	switch {
	case part.FormName() != "file":
		return openai.Refuse(chat.Invalid, "file", openai.Invalid, `The part with the file must be named "file".`)
	case f.file != nil:
		return openai.Refuse(chat.Invalid, "file", openai.Invalid, "An upload may contain only one file.")
	}
	name, err := upload.Clean(part.FileName())
	if err != nil {
		return err
	}
	file, err := f.h.cfg.Library.AddFile(f.r.Context(), f.r.Who.Subject, name, f.purpose, part)
	if err == nil {
		f.file = &file
	}
	return err
}

func (f *form) field(name, value string) error {
	switch {
	case name == "purpose":
		if !has(purposes, value) {
			return badPurpose(openai.Invalid)
		}
		f.purpose = value
	case name == "expires_after[anchor]":
		f.expiry.given, f.expiry.anchor = true, value
	case name == "expires_after[seconds]":
		seconds, err := strconv.Atoi(value)
		if err != nil {
			return errFileExpiry
		}
		f.expiry.given, f.expiry.n = true, seconds
	case strings.HasPrefix(name, "expires_after"):
		return errFileExpiry
	}
	return nil
}

// discard deletes the file of an upload that failed.
func (f *form) discard() {
	if f.file != nil { // if this fails, the owner can delete the file
		_ = f.h.cfg.Library.DeleteFile(context.WithoutCancel(f.r.Context()), f.r.Who.Subject, f.file.ID)
	}
}

// files handles GET /v1/files?purpose=&limit=&order=&after=.
func (h *Handler) files(w http.ResponseWriter, r *wire.Request) error {
	list, err := listOf(r, 10_000)
	if err != nil {
		return err
	}
	list.Group = r.URL.Query().Get("purpose")
	all, err := h.cfg.Library.Files(r.Context(), r.Who.Subject, list)
	if err != nil {
		return badCursor(err)
	}
	return reply(w, list, all, bodyOf, func(b fileBody) string { return b.ID })
}

func (h *Handler) file(w http.ResponseWriter, r *wire.Request) error {
	f, err := h.cfg.Library.File(r.Context(), r.Who.Subject, r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, bodyOf(f))
}

func (h *Handler) deleteFile(w http.ResponseWriter, r *wire.Request) error {
	id := r.PathValue("id")
	if err := h.cfg.Library.DeleteFile(r.Context(), r.Who.Subject, id); err != nil {
		return err
	}
	return deleted(w, id, "file")
}

// content handles GET /v1/files/{id}/content. It returns the content of the file as a download, which browsers
// do not display.
func (h *Handler) content(w http.ResponseWriter, r *wire.Request) error {
	f, file, err := h.cfg.Library.Open(r.Context(), r.Who.Subject, r.PathValue("id"))
	if err != nil {
		return err
	}
	defer file.Close()
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	http.ServeContent(w, r.Request, "", time.Time{}, file)
	return nil
}

// deletion is the response to a deletion.
type deletion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

func deleted(w http.ResponseWriter, id, object string) error {
	return wire.Reply(w, http.StatusOK, deletion{id, object, true})
}

// page is a page of a list.
type page[T any] struct {
	Object  string  `json:"object"`
	Data    []T     `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// listOf reads the parameters of a page; standard is the default limit. Limit is one more than requested, to find
// out whether another page follows.
func listOf(r *wire.Request, standard int) (shelf.List, error) {
	l, err := openai.ListOf(r, standard)
	return shelf.List{Oldest: l.Oldest, After: l.After, Before: l.Before, Limit: l.Limit + 1}, err
}

// badCursor converts a not-found error of a list to an error about its cursor.
func badCursor(err error) error {
	if errors.Is(err, library.ErrNotFound) {
		return openai.Refuse(chat.Invalid, "after", openai.Invalid, `"after" and "before" must be ids of items in this list.`)
	}
	return err
}

// reply responds with a page of a list. found has up to l.Limit items, one more than the page.
func reply[T, B any](w http.ResponseWriter, l shelf.List, found []T, body func(T) B, id func(B) string) error {
	p := page[B]{Object: "list", Data: []B{}, HasMore: len(found) == l.Limit}
	if p.HasMore {
		found = found[:l.Limit-1]
	}
	for _, f := range found {
		p.Data = append(p.Data, body(f))
	}
	if n := len(p.Data); n > 0 {
		first, last := id(p.Data[0]), id(p.Data[n-1])
		p.FirstID, p.LastID = &first, &last
	}
	return wire.Reply(w, http.StatusOK, p)
}
