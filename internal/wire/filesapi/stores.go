package filesapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/shelf"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// storeBody is a vector store in responses.
type storeBody struct {
	ID           string          `json:"id"`
	Object       string          `json:"object"`
	CreatedAt    int64           `json:"created_at"`
	Name         string          `json:"name"`
	Description  *string         `json:"description,omitempty"`
	UsageBytes   int64           `json:"usage_bytes"`
	FileCounts   counts          `json:"file_counts"`
	Status       string          `json:"status"`
	ExpiresAfter *storeExpiry    `json:"expires_after,omitempty"`
	ExpiresAt    *int64          `json:"expires_at,omitempty"`
	LastActiveAt int64           `json:"last_active_at"`
	Metadata     json.RawMessage `json:"metadata"`
}

// counts are the numbers of files by state.
type counts struct {
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
	Total      int `json:"total"`
}

func countsOf(tallies map[string]shelf.Tally) (c counts, bytes int64) {
	c = counts{
		InProgress: tallies[library.InProgress].N, Completed: tallies[library.Completed].N,
		Failed: tallies[library.Failed].N, Cancelled: tallies[library.Cancelled].N,
	}
	c.Total = c.InProgress + c.Completed + c.Failed + c.Cancelled
	return c, tallies[library.Completed].Size
}

// state returns the status of a store or batch. It is in_progress while any of its files is.
func (c counts) state() string {
	if c.InProgress > 0 {
		return library.InProgress
	}
	return library.Completed
}

func (h *Handler) storeBody(ctx context.Context, s library.Store) (b storeBody, err error) {
	tallies, err := h.cfg.Library.Counts(ctx, s, "")
	if err != nil {
		return b, err
	}
	b = storeBody{
		ID: s.ID, Object: "vector_store", CreatedAt: s.CreatedAt.Unix(), Name: s.Name, LastActiveAt: s.ActiveAt.Unix(),
		Metadata: objectOrEmpty(s.Metadata), ExpiresAfter: storeExpiryOf(s), ExpiresAt: unixOf(s.ExpiresAt()),
	}
	if s.Description != "" {
		b.Description = &s.Description
	}
	b.FileCounts, b.UsageBytes = countsOf(tallies)
	b.Status = b.FileCounts.state()
	if h.cfg.Library.Expired(s) {
		b.Status = "expired"
	}
	return b, nil
}

func objectOrEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}

func (h *Handler) replyStore(ctx context.Context, w http.ResponseWriter, s library.Store) error {
	b, err := h.storeBody(ctx, s)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, b)
}

// find returns the store in the path of a request.
func (h *Handler) find(r *wire.Request) (library.Store, error) {
	return h.cfg.Library.Store(r.Context(), r.Who.Subject, r.PathValue("id"))
}

// storeChange has the members of a request that creates or changes a store.
type storeChange struct {
	Name        wire.Value `json:"name"`
	Description wire.Value `json:"description"`
	Metadata    wire.Value `json:"metadata"`
	Files       wire.Value `json:"file_ids"`
	Expires     wire.Value `json:"expires_after"`
}

// changeOf reads the changes to a store. Absent members change nothing.
func changeOf(object wire.Object) (in storeChange, change func(*library.Store), err error) {
	object.Read(&in)
	name, err := textOf(in.Name, "name", maxName)
	if err != nil {
		return in, nil, err
	}
	description, err := textOf(in.Description, "description", maxDescription)
	if err != nil {
		return in, nil, err
	}
	metadata, err := metadataOf(in.Metadata)
	if err != nil {
		return in, nil, err
	}
	expiry, err := expiryOf(in.Expires, "days", errStoreExpiry)
	if err != nil {
		return in, nil, err
	}
	days, err := expiry.days()
	if err != nil {
		return in, nil, err
	}
	return in, func(s *library.Store) {
		if in.Expires != nil {
			s.Days = days
		}
		if in.Name != nil {
			s.Name = name
		}
		if in.Description != nil {
			s.Description = description
		}
		if in.Metadata != nil {
			s.Metadata = metadata
		}
	}, checkChunking(object)
}

// createStore handles POST /v1/vector_stores.
func (h *Handler) createStore(w http.ResponseWriter, r *wire.Request) error {
	if r.Who.Namespaces != nil {
		return &chat.Error{Kind: chat.Forbidden, Msg: "A vector store is a namespace of its own, and this key is limited to some namespaces."}
	}
	object, err := r.Object()
	if err != nil {
		return err
	}
	in, change, err := changeOf(object)
	if err != nil {
		return err
	}
	files, err := fileIDs(in.Files, "file_ids", nil)
	if err != nil {
		return err
	}
	var s library.Store
	change(&s)
	if s, err = h.cfg.Library.AddStore(r.Context(), r.Who.Subject, s); err != nil {
		return err
	}
	if len(files) > 0 {
		if _, err := h.cfg.Library.Attach(r.Context(), s, files, ""); err != nil {
			return errors.Join(err, h.cfg.Library.DeleteStore(r.Context(), s.Owner, s.ID))
		}
	}
	r.Changed = s.ID
	return h.replyStore(r.Context(), w, s)
}

// fileIDs reads a list of file ids without duplicates. All files get the same attributes.
func fileIDs(v wire.Value, param string, attributes json.RawMessage) ([]library.Attachment, error) {
	if !v.IsGiven() {
		return nil, nil
	}
	elements, ok := v.Elements()
	if _, few := wire.AtMost(maxBatch, elements); !ok || !few {
		return nil, openai.Refusef(param, openai.Invalid, "%q must be a list of at most %d ids of files.", param, maxBatch)
	}
	seen := map[string]bool{}
	var files []library.Attachment
	for v := range elements {
		id, ok := v.Text()
		if !ok {
			return nil, openai.Refusef(param, openai.Invalid, "%q must be a list of at most %d ids of files.", param, maxBatch)
		}
		if !seen[id] {
			files = append(files, library.Attachment{File: id, Attributes: attributes})
		}
		seen[id] = true
	}
	return files, nil
}

// store handles GET /v1/vector_stores/{id}.
func (h *Handler) store(w http.ResponseWriter, r *wire.Request) error {
	if !library.IsStore(r.PathValue("id")) {
		return h.replyNamespace(w, r)
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	return h.replyStore(r.Context(), w, s)
}

// stores handles GET /v1/vector_stores?limit=&order=&after=&before=.
func (h *Handler) stores(w http.ResponseWriter, r *wire.Request) error {
	list, err := listOf(r, 20)
	if err != nil {
		return err
	}
	all, err := h.cfg.Library.Stores(r.Context(), r.Who.Subject, list)
	if err != nil {
		return badCursor(err)
	}
	bodies := make([]storeBody, len(all))
	for i, s := range all {
		if bodies[i], err = h.storeBody(r.Context(), s); err != nil {
			return err
		}
	}
	return reply(w, list, bodies, func(b storeBody) storeBody { return b }, func(b storeBody) string { return b.ID })
}

// changeStore handles POST /v1/vector_stores/{id}.
func (h *Handler) changeStore(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	_, change, err := changeOf(object)
	if err != nil {
		return err
	}
	s, err := h.cfg.Library.ChangeStore(r.Context(), r.Who.Subject, r.PathValue("id"), change)
	if err != nil {
		return err
	}
	return h.replyStore(r.Context(), w, s)
}

func (h *Handler) deleteStore(w http.ResponseWriter, r *wire.Request) error {
	id := r.PathValue("id")
	if err := h.cfg.Library.DeleteStore(r.Context(), r.Who.Subject, id); err != nil {
		return err
	}
	return deleted(w, id, "vector_store.deleted")
}
