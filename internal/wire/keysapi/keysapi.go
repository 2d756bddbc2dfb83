// Package keysapi lets administrators manage API keys over HTTP, as `parley keys` does on the server's machine.
//
//	POST   /api/keys       creates a key and returns it with its secret, which is shown only once
//	GET    /api/keys       lists the keys, without their secrets
//	DELETE /api/keys/{id}  revokes a key
package keysapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/internal/access"
	"parley/internal/auth/apikey"
	"parley/internal/chat"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Keys stores keys.
type Keys interface {
	// AddKey stores a new key.
	AddKey(ctx context.Context, k apikey.Key) error
	// Keys returns all keys, newest first.
	Keys(ctx context.Context) ([]apikey.Key, error)
	// RevokeKey marks a key as revoked at the given time. It returns apikey.ErrNotFound if there is no such key.
	RevokeKey(ctx context.Context, id string, at time.Time) error
}

// Handler handles the routes.
type Handler struct{ keys Keys }

// New returns a handler.
func New(keys Keys) *Handler { return &Handler{keys} }

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	read := wire.Route{Right: wire.Administer, Fail: wire.PlainError}
	create := read
	create.Body = wire.JSON
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: []wire.Route{
		create.At("POST /api/keys", h.create),
		read.At("GET /api/keys", h.list),
		read.At("DELETE /api/keys/{id}", h.revoke),
	}}
}

// shown is a key in responses. A null list of namespaces or routes means all.
type shown struct {
	ID         string      `json:"id"`
	Key        string      `json:"key,omitempty"` // the secret; only in the response to POST /api/keys
	Name       string      `json:"name"`
	State      string      `json:"state"`
	Role       access.Role `json:"role"`
	Namespaces []string    `json:"namespaces"`
	Routes     []string    `json:"routes"`
	CreatedAt  *time.Time  `json:"created_at"`
	ExpiresAt  *time.Time  `json:"expires_at"`
	RevokedAt  *time.Time  `json:"revoked_at"`
	UsedAt     *time.Time  `json:"used_at"`
}

func show(k apikey.Key, now time.Time) shown {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC().Truncate(time.Millisecond)
		return &t
	}
	return shown{ID: k.ID, Name: k.Name, State: k.State(now), Role: k.Role, Namespaces: k.Namespaces, Routes: k.Routes,
		CreatedAt: at(k.CreatedAt), ExpiresAt: at(k.ExpiresAt), RevokedAt: at(k.RevokedAt), UsedAt: at(k.UsedAt)}
}

// create handles POST /api/keys.
func (h *Handler) create(w http.ResponseWriter, r *wire.Request) error {
	var body struct {
		Name       string      `json:"name"`
		Role       access.Role `json:"role"`
		Namespaces []string    `json:"namespaces"`
		Routes     []string    `json:"routes"`
		ExpiresAt  time.Time   `json:"expires_at"`
	}
	const expected = "expected role, and optionally name, namespaces and routes (lists of strings) " +
		"and expires_at (a time such as 2027-03-31T00:00:00Z)"
	if err := r.Decode(&body, expected); err != nil {
		return err
	}
	for _, name := range body.Namespaces {
		if err := retrieval.CheckNamespace(name); err != nil {
			return wire.Invalidf("namespaces: %.80q: %s", name, err)
		}
	}
	now := time.Now()
	k, text, err := apikey.New(apikey.Key{Name: body.Name, Role: body.Role, Namespaces: body.Namespaces, Routes: body.Routes, ExpiresAt: body.ExpiresAt}, now)
	if err != nil {
		return wire.Invalidf("%s", err)
	}
	if err := h.keys.AddKey(r.Context(), k); err != nil {
		return fmt.Errorf("store a key: %w", err)
	}
	r.Changed = fmt.Sprintf("key %s: %s", k.ID, k.Role)
	answer := show(k, now)
	answer.Key = text
	return wire.Reply(w, http.StatusCreated, answer)
}

// list handles GET /api/keys.
func (h *Handler) list(w http.ResponseWriter, r *wire.Request) error {
	all, err := h.keys.Keys(r.Context())
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	now, list := time.Now(), make([]shown, len(all))
	for i, k := range all {
		list[i] = show(k, now)
	}
	return wire.Reply(w, http.StatusOK, struct {
		Keys []shown `json:"keys"`
	}{list})
}

// revoke handles DELETE /api/keys/{id}.
func (h *Handler) revoke(w http.ResponseWriter, r *wire.Request) error {
	id := r.PathValue("id")
	err := h.keys.RevokeKey(r.Context(), id, time.Now())
	if errors.Is(err, apikey.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such key."}
	}
	if err != nil {
		return fmt.Errorf("revoke a key: %w", err)
	}
	return wire.Reply(w, http.StatusOK, struct {
		Message string `json:"message"`
	}{"The key is revoked."})
}
