package ingestapi

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/job"
	"parley/internal/wire"
)

// maxFields is the maximum number of parts of an upload that are not files.
const maxFields = 100

// upload handles POST /upload, a form with files. It responds with {"message", "job_id"}. The files are
// written to disk as they arrive. If the upload fails, none of them is kept.
func (h *Handler) upload(w http.ResponseWriter, r *wire.Request) error {
	at, err := h.editing(r.Who, queryNamespace(r))
	if err != nil {
		return err
	}
	boundary, err := wire.Boundary(r, "multipart/form-data")
	if err != nil {
		return err
	}
	leave, err := h.receiving.Take(errBusy)
	if err != nil {
		return err
	}
	defer leave()
	batch := h.cfg.Service.Begin(at, documents.Upload)
	j, err := h.receive(w, r, batch, boundary)
	if err != nil {
		batch.Discard()
		return err
	}
	r.Changed = changedBy(j)
	text := "File uploaded successfully. It is being indexed."
	if len(j.Files) > 1 {
		text = "Files uploaded successfully. They are being indexed."
	}
	return wire.Reply(w, http.StatusOK, message{Message: text, JobID: j.ID})
}

// changedBy names a job and its files, for the audit log.
func changedBy(j job.Job) string {
	names := make([]string, len(j.Files))
	for i, f := range j.Files {
		names[i] = f.Name
	}
	return "job " + j.ID + ": " + strings.Join(names, ", ")
}

// receive adds the files of a form to batch, and returns the job that indexes them.
func (h *Handler) receive(w http.ResponseWriter, r *wire.Request, batch *documents.Batch, boundary string) (job.Job, error) {
	body := wire.NewPaced(w, r.Request, h.cfg.MaxUpload)
	defer body.Drain()
	if err := takeParts(r, batch, multipart.NewReader(body, boundary)); err != nil {
		if broken := body.Err(); broken != nil { // the multipart reader wraps it, so return the original
			return job.Job{}, broken
		}
		return job.Job{}, failure(err)
	}
	if batch.Len() == 0 {
		return job.Job{}, wire.Invalidf("The upload has no file: expected a part named \"file\" with a file name.")
	}
	if _, err := io.Copy(io.Discard, body); err != nil { // what follows the form
		return job.Job{}, body.Err()
	}
	j, err := batch.Commit(r.Context())
	return j, failure(err)
}

// takeParts adds the files of a form to a batch. It ignores parts that are not files, but limits their number.
func takeParts(r *wire.Request, batch *documents.Batch, parts *multipart.Reader) error {
	for fields := 0; ; {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // only the bare io.EOF is the closing boundary
			return nil
		}
		if err != nil {
			return &chat.Error{Kind: chat.Invalid, Msg: "The multipart request is broken.", Err: err}
		}
		if part.FileName() == "" {
			if fields++; fields > maxFields {
				return &chat.Error{Kind: chat.TooLarge, Msg: "The upload has too many fields."}
			}
			continue
		}
		err = batch.Add(r.Context(), part.FileName(), part)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return &chat.Error{Kind: chat.Invalid, Msg: "The multipart request is broken.", Err: err}
		}
		if err != nil {
			return err
		}
	}
}

// uploaded handles GET /list_uploaded. It responds with the names of the caller's files in a namespace. Headers report
// the size in bytes of the caller's files in all namespaces, and its limit if there is one.
func (h *Handler) uploaded(w http.ResponseWriter, r *wire.Request) error {
	at, err := h.scope(r.Who, queryNamespace(r))
	if err != nil {
		return err
	}
	names, err := h.cfg.Service.Uploaded(r.Context(), at)
	if err != nil {
		return failure(err)
	}
	used, limit, err := h.cfg.Service.Used(r.Context(), r.Who.Subject)
	if err != nil {
		return failure(err)
	}
	w.Header().Set("X-Uploads-Used", strconv.FormatInt(used, 10))
	if limit > 0 {
		w.Header().Set("X-Uploads-Limit", strconv.FormatInt(limit, 10))
	}
	return wire.Reply(w, http.StatusOK, names)
}

// deleteUploaded handles POST /delete_uploaded {"filename"}.
func (h *Handler) deleteUploaded(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	v, _ := object.Get("filename")
	name, ok := v.Text()
	if !ok || name == "" {
		return wire.Invalidf(`"filename" must be the name of an uploaded file.`)
	}
	r.Changed = name
	at, err := h.editing(r.Who, queryNamespace(r))
	if err == nil {
		err = h.cfg.Service.DeleteUpload(r.Context(), at, name)
	}
	if errors.Is(err, documents.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no uploaded file of this name."}
	}
	if err != nil {
		return failure(err)
	}
	return wire.Reply(w, http.StatusOK, message{Message: "File deleted successfully."})
}
