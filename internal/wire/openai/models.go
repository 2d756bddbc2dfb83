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

// Models answers GET /v1/models.
func (h *Handler) Models(w http.ResponseWriter, r *http.Request) {
	names, err := h.list(r)
	if err != nil {
		h.fail(w, r, &exchange{}, err)
		return
	}
	body := h.appendModel([]byte(`{"object":"list","data":[`), ownModel)
	for _, name := range names {
		body = h.appendModel(append(body, ','), ownModel+"/"+name)
	}
	h.write(w, r, append(body, "]}"...))
}

// Model answers GET /v1/models/{id}; the id is unescaped.
func (h *Handler) Model(w http.ResponseWriter, r *http.Request, id string) {
	principal, err := h.cfg.Principal(r)
	if err == nil {
		_, err = h.namespaceOf(r.Context(), principal, id)
	}
	if err != nil {
		h.fail(w, r, &exchange{}, err)
		return
	}
	h.write(w, r, h.appendModel(nil, id))
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, body []byte) {
	if err := wire.WriteJSON(w, http.StatusOK, body); err != nil {
		h.log(r, &exchange{}, err)
	}
}

func (h *Handler) appendModel(dst []byte, id string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), id)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), h.since, 10)
	return append(dst, `,"owned_by":"parley"}`...)
}

// list returns what the caller may ask, the server's own namespace first.
func (h *Handler) list(r *http.Request) ([]string, error) {
	principal, err := h.cfg.Principal(r)
	if err != nil {
		return nil, err
	}
	names := []string{h.cfg.Namespace}
	others, err := h.others(r.Context(), principal)
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
