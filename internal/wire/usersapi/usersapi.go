// Package usersapi lets administrators export and delete the data stored about a user, as `parley users` does on the command line.
//
//	GET    /api/users               lists the users who have stored data
//	GET    /api/users/export?user=  exports a user's data as a ZIP archive
//	DELETE /api/users?user=         deletes a user's data
package usersapi

import (
	_ "embed"
	"errors"
	"net/http"

	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/users"
	"parley/internal/wire"
)

// Handler handles the routes.
type Handler struct{ users *users.Users }

// New returns a Handler.
func New(all *users.Users) *Handler { return &Handler{all} }

//go:embed openapi.json
var openAPI []byte

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	rt := wire.Route{Right: wire.Administer, Fail: wire.PlainError}
	return wire.Protocol{OpenAPI: openAPI, Routes: []wire.Route{
		rt.At("GET /api/users", h.list),
		rt.At("GET /api/users/export", h.export),
		rt.At("DELETE /api/users", h.remove),
	}}
}

// list handles GET /api/users.
func (h *Handler) list(w http.ResponseWriter, r *wire.Request) error {
	all, err := h.users.Subjects(r.Context())
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, struct {
		Users []string `json:"users"`
	}{append([]string{}, all...)})
}

// userOf returns the user that a request names.
func userOf(r *wire.Request) string { return r.URL.Query().Get("user") }

// export handles GET /api/users/export.
func (h *Handler) export(w http.ResponseWriter, r *wire.Request) error {
	r.Changed = "user " + userOf(r) // nothing changes, but the audit log records who exported the data
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", `attachment; filename="user.zip"`)
	err := h.users.Export(r.Context(), w, userOf(r))
	if err != nil {
		w.Header().Del("Content-Disposition") // has no effect if the archive has begun
	}
	if errors.Is(err, users.ErrNotAUser) {
		return errNotAUser
	}
	return err
}

var errNotAUser = wire.Invalidf("user must name a user: GET /api/users lists them")

// remove handles DELETE /api/users.
func (h *Handler) remove(w http.ResponseWriter, r *wire.Request) error {
	r.Changed = "user " + userOf(r)
	report, err := h.users.Delete(r.Context(), userOf(r))
	busy, waits := errors.AsType[*documents.BusyError](err)
	switch {
	case errors.Is(err, users.ErrNotAUser):
		return errNotAUser
	case waits:
		return &chat.Error{Kind: chat.Conflict, Msg: "The job " + busy.Job + " of this user is still running. Please try again in a minute.", Err: err}
	case err != nil:
		return err
	}
	return wire.Reply(w, http.StatusOK, struct {
		Documents int            `json:"documents"`
		Records   map[string]int `json:"records"`
	}{report.Documents, report.Records})
}
