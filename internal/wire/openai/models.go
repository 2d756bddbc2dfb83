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

// ownModel is the id of the model for the server's own namespace. The model for another namespace has the id
// "parley/NAMESPACE".
const ownModel = "parley"

// Catalog maps the ids of models to namespaces.
type Catalog struct {
	// Namespaces returns the namespaces that a caller may ask, in addition to Own, which every caller may ask. Nil
	// means that there are no others.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	Own string // namespace of the model "parley"
}

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

// model answers GET /v1/models/{id}. Some clients escape the slash in an id, others do not.
func (h *Handler) model(w http.ResponseWriter, r *wire.Request) error {
	id := strings.TrimPrefix(r.URL.Path, "/v1/models/")
	if _, err := h.catalog.NamespaceOf(r.Context(), r.Who, strings.TrimSuffix(id, linksSuffix)); err != nil {
		return err
	}
	return wire.WriteJSON(w, http.StatusOK, h.appendModel(nil, id))
}

func (h *Handler) appendModel(dst []byte, id string) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), id)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), h.since, 10)
	name, description := describe(id)
	dst = wire.AppendString(append(dst, `,"owned_by":"parley","name":`...), name)
	return append(wire.AppendString(append(dst, `,"description":`...), description), '}')
}

// describe returns the name and the description that model pickers show.
func describe(id string) (name, description string) {
	id, links := strings.CutSuffix(id, linksSuffix)
	name, description = "Parley", "Answers from this server's documents, with citations"
	if namespace, ok := strings.CutPrefix(id, ownModel+"/"); ok {
		name, description = "Parley: "+namespace, "Answers from the documents in "+namespace+", with citations"
	}
	if links {
		return name + " (links)", description + " as links."
	}
	return name, description + "."
}

// storePrefix is the prefix of namespaces that are vector stores. They are models too, but are not listed, because they
// would clutter the lists from which people choose.
const storePrefix = "vs_"

// list returns the namespaces that the caller may ask, except vector stores. The server's own namespace is the first.
func (h *Handler) list(r *wire.Request) ([]string, error) {
	names := []string{h.cfg.Namespace}
	others, err := h.catalog.others(r.Context(), r.Who)
	for _, name := range others {
		if !slices.Contains(names, name) && !strings.HasPrefix(name, storePrefix) {
			names = append(names, name)
		}
	}
	return names, err
}

func (c Catalog) others(ctx context.Context, p access.Principal) ([]string, error) {
	if c.Namespaces == nil {
		return nil, nil
	}
	names, err := c.Namespaces(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list the namespaces: %w", err)
	}
	return names, nil
}

// NamespaceOf returns the namespace of the model with the id, without linksSuffix. The error is a ParamError if the caller has
// no such model.
func (c Catalog) NamespaceOf(ctx context.Context, p access.Principal, id string) (string, error) {
	if id == ownModel {
		return c.Own, nil
	}
	if name, ok := strings.CutPrefix(id, ownModel+"/"); ok {
		ok, err := c.Has(ctx, p, name)
		if ok || err != nil {
			return name, err
		}
	}
	return "", &ParamError{Param: "model", Code: "model_not_found", err: &chat.Error{
		Kind: chat.NotFound,
		Msg:  "The model " + strconv.Quote(wire.Clip(id)) + " does not exist. GET /v1/models lists those that do.",
	}}
}

// Has reports whether a caller may ask the namespace of that name.
func (c Catalog) Has(ctx context.Context, p access.Principal, name string) (bool, error) {
	if name == c.Own {
		return true, nil
	}
	others, err := c.others(ctx, p)
	return slices.Contains(others, name), err
}
