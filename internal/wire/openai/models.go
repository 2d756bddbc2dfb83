package openai

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/wire"
)

// ownModel is the model of the server's own namespace. With a slash and a name behind it, it is
// the model of the namespace of that name.
const ownModel = "parley"

// models answers GET /v1/models.
func (h *Handler) models(w http.ResponseWriter, r *wire.Request) error {
	names, err := h.list(r)
	if err != nil {
		return err
	}
	body := h.appendModel([]byte(`{"object":"list","data":[`), ownModel)
	for _, name := range names {
		body = h.appendModel(append(body, ','), ownModel+"/"+name)
	}
	return wire.WriteJSON(w, http.StatusOK, append(body, "]}"...))
}

// model answers GET /v1/models/{id}. Some clients escape the slash of an id, some do not.
func (h *Handler) model(w http.ResponseWriter, r *wire.Request) error {
	id := strings.TrimPrefix(r.URL.Path, "/v1/models/")
	if _, err := h.namespaceOf(r.Context(), r.Who, id); err != nil {
		return err
	}
	return wire.WriteJSON(w, http.StatusOK, h.appendModel(nil, id))
}

func (h *Handler) appendModel(dst []byte, id string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), id)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), h.since, 10)
	return append(dst, `,"owned_by":"parley"}`...)
}

// list returns what the caller may ask, the server's own namespace first.
func (h *Handler) list(r *wire.Request) ([]string, error) {
	names := []string{h.cfg.Namespace}
	others, err := h.others(r.Context(), r.Who)
	for _, name := range others {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

func (h *Handler) others(ctx context.Context, p access.Principal) ([]string, error) {
	if h.cfg.Namespaces == nil {
		return nil, nil
	}
	names, err := h.cfg.Namespaces(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list the namespaces: %w", err)
	}
	return names, nil
}

// namespaceOf returns the namespace whose model has the id.
func (h *Handler) namespaceOf(ctx context.Context, p access.Principal, id string) (string, error) {
	name, ok := strings.CutPrefix(id, ownModel+"/")
	if id == ownModel || ok && name == h.cfg.Namespace {
		return h.cfg.Namespace, nil
	}
	if ok {
		others, err := h.others(ctx, p)
		if err != nil {
			return "", err
		}
		if slices.Contains(others, name) {
			return name, nil
		}
	}
	return "", &paramError{param: "model", code: "model_not_found", err: &chat.Error{
		Kind: chat.NotFound,
		Msg:  "The model " + strconv.Quote(clip(id)) + " does not exist. GET /v1/models lists those that do.",
	}}
}

// clip shortens what a client sent to what belongs in a sentence.
func clip(s string) string {
	const most = 100
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
