package librechat

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"parley/internal/chat"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/library"
	"parley/internal/wire"
)

// purpose is the purpose that all files have in the library.
const purpose = "assistants"

// form has the fields of an upload.
type form struct {
	id     string // file_id
	entity string // entity_id: an agent whose users may search the file; "" for none
	name   string // of the file; "" until its part arrives
}

// read reads a form. It calls keep with the content of the file, and with the fields that came before it.
func (h *Handler) read(w http.ResponseWriter, r *wire.Request, keep func(f *form, content io.Reader) error) (f form, err error) {
	release, err := h.receiving.Take(wire.ErrTooManyUploads)
	if err != nil {
		return f, err
	}
	defer release()
	err = wire.Form{
		Field: func(name, value string) error {
			switch name {
			case "file_id":
				f.id = value
			case "entity_id":
				f.entity = value
			}
			return nil
		},
		File: func(part *multipart.Part) error {
			name := part.FormName()
			switch {
			case name != "file" && name != "uploaded_file":
				return wire.Invalidf(`The part with the file must be named "file".`)
			case f.name != "":
				return wire.Invalidf("An upload may contain only one file.")
			case f.id == "":
				return wire.Invalidf(`The field "file_id" must come before the file.`)
			}
			if f.name, err = upload.Clean(part.FileName()); err != nil {
				return err
			}
			return keep(&f, part)
		},
	}.Read(w, r, h.cfg.MaxUpload)
	if err == nil && f.name == "" {
		err = wire.Invalidf(`The upload has no file: expected a part named "file" with a file name.`)
	}
	return f, err
}

// uploaded is the response to an upload. known_type false tells LibreChat that the format cannot be read.
type uploaded struct {
	Status    bool   `json:"status"`
	Message   string `json:"message"`
	FileID    string `json:"file_id"`
	Filename  string `json:"filename"`
	KnownType bool   `json:"known_type"`
}

// embed handles POST /embed and /embed-upload. It responds once the file has been indexed.
func (h *Handler) embed(w http.ResponseWriter, r *wire.Request) error {
	stored := false
	f, err := h.read(w, r, func(f *form, content io.Reader) error {
		_, err := h.cfg.Library.AddNamed(r.Context(), r.Who.Subject, library.File{ID: f.id, Name: f.name, Purpose: purpose}, content)
		stored = err == nil
		return err
	})
	if err == nil && f.entity != "" { // not in AddNamed, because the field may come after the file
		err = h.cfg.Library.Share(r.Context(), r.Who.Subject, f.id, f.entity)
	}
	var m library.Member
	if err == nil {
		m, err = h.index(r, f.id)
	}
	if err == nil && m.State != library.Completed {
		err = refused(m)
	}
	if err != nil && stored { // if this fails, the owner can delete the file
		_ = h.cfg.Library.DeleteFile(context.WithoutCancel(r.Context()), r.Who.Subject, f.id)
	}
	if unknown, ok := errors.AsType[*unknownTypeError](err); ok {
		return wire.Reply(w, http.StatusOK, uploaded{Message: unknown.text, FileID: f.id, Filename: f.name})
	}
	if err != nil {
		return err
	}
	r.Changed = f.id
	return wire.Reply(w, http.StatusOK, uploaded{Status: true, Message: "File processed successfully.", FileID: f.id, Filename: f.name, KnownType: true})
}

// index adds a file to the user's store and waits until it has been indexed.
func (h *Handler) index(r *wire.Request, id string) (library.Member, error) {
	s, err := h.home(r.Context(), r.Who.Subject)
	if err == nil {
		_, err = h.cfg.Library.Attach(r.Context(), s, []library.Attachment{{File: id}}, "")
	}
	if err != nil {
		return library.Member{}, err
	}
	return h.cfg.Library.Await(r.Context(), s, id)
}

func (h *Handler) home(ctx context.Context, owner string) (library.Store, error) {
	return h.cfg.Library.Home(ctx, owner, "librechat")
}

// unknownTypeError means that files of this format cannot be read.
type unknownTypeError struct{ text string }

func (e *unknownTypeError) Error() string { return e.text }

// refused returns the error for a file that was not indexed.
func refused(m library.Member) error {
	switch {
	case m.State == library.InProgress:
		return &chat.Error{Kind: chat.Unavailable, Msg: "The server is stopping; the file has not been read."}
	case m.Reason == string(extract.Unsupported):
		return &unknownTypeError{m.Detail}
	}
	return wire.Invalidf("Error during file processing: %s", m.Detail)
}

// text handles POST /text. It returns the text of a file, which is not stored.
func (h *Handler) text(w http.ResponseWriter, r *wire.Request) error {
	temp, err := os.CreateTemp(h.cfg.Temp, "librechat-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	f, err := h.read(w, r, func(_ *form, content io.Reader) error {
		_, err := io.Copy(temp, content)
		return err
	})
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	result, err := h.cfg.Extract(r.Context(), extract.Request{Name: f.name, Path: temp.Name()})
	if refusal, ok := errors.AsType[*extract.Error](err); ok {
		return wire.Invalidf("Error during text extraction: %s", refusal.Detail)
	}
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, p := range result.Document.Pages {
		all.WriteString(p.Text + "\n")
	}
	return wire.Reply(w, http.StatusOK, struct {
		Text      string `json:"text"`
		FileID    string `json:"file_id"`
		Filename  string `json:"filename"`
		KnownType bool   `json:"known_type"`
	}{strings.TrimRight(all.String(), "\n"), f.id, filepath.Base(f.name), true})
}
