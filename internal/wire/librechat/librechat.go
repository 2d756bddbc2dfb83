// Package librechat replaces LibreChat's rag_api, to which LibreChat sends the files that its users attach, to index them,
// search in them and extract their text. LibreChat's RAG_API_URL must be the URL of the server followed by Mount.
//
// The files of a user are in a vector store of the user (package library). README.md in this directory describes
// the protocol as implemented.
package librechat

import (
	"context"
	"errors"
	"net/http"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/extract"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
)

// Mount is the path of the routes, without a trailing slash. The tokens of LibreChat's users are valid only
// there.
const Mount = "/p/librechat"

// SubjectPrefix begins the subjects of LibreChat's users.
const SubjectPrefix = access.LibreChatPrefix

// Config configures a Handler. All functions are required.
type Config struct {
	Library *library.Library
	// Search finds passages in a namespace.
	Search func(context.Context, retrieval.Query) (retrieval.Result, error)
	// Pages returns the pages of a revision of a document, in order.
	Pages func(ctx context.Context, revision int64) ([]retrieval.Page, error)
	// Chunks returns the chunks of a revision of a document, in order.
	Chunks func(ctx context.Context, revision int64) ([]retrieval.Chunk, error)
	// Extract returns the text of a file, which may be hostile.
	Extract func(context.Context, extract.Request) (*extract.Result, error)

	Mode      retrieval.Mode // of searches; "" means hybrid
	MaxUpload int64          // bytes of a file; 0 means 200 MiB
	Temp      string         // directory for files of POST /text; "" means the system's
}

// Handler handles LibreChat's requests. It is safe for concurrent use.
type Handler struct {
	cfg       Config
	receiving wire.Slots // for uploads
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.MaxUpload = wire.MaxUpload(cfg.MaxUpload)
	return &Handler{cfg: cfg, receiving: wire.Receiving()}
}

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	health := wire.Route{Right: wire.Anybody, Fail: wire.DetailError, Quiet: true}
	get := wire.Route{Right: wire.Ask, Fail: wire.DetailError}
	ask := wire.Route{Right: wire.Ask, Fail: wire.DetailError, Body: wire.JSON}
	upload := wire.Route{Right: wire.Change, Fail: wire.DetailError, Body: wire.Unread}
	read := wire.Route{Right: wire.Ask, Fail: wire.DetailError, Body: wire.Unread}
	remove := wire.Route{Right: wire.Change, Fail: wire.DetailError, Body: wire.JSON}
	routes := []wire.Route{
		health.At("GET "+Mount+"/health", h.health),
		get.At("GET "+Mount+"/ids", h.ids),
		get.At("GET "+Mount+"/documents", h.documents),
		remove.At("DELETE "+Mount+"/documents", h.remove),
		get.At("GET "+Mount+"/documents/{id}/context", h.context),
		upload.At("POST "+Mount+"/embed", h.embed),
		upload.At("POST "+Mount+"/embed-upload", h.embed),
		read.At("POST "+Mount+"/text", h.text),
		ask.At("POST "+Mount+"/query", h.query),
		ask.At("POST "+Mount+"/query_multiple", h.queryMultiple),
	}
	for i, rt := range routes {
		routes[i].Handle = func(w http.ResponseWriter, r *wire.Request) error {
			if r.Who.Namespaces != nil {
				return &chat.Error{Kind: chat.Forbidden, Msg: "The files are in a namespace of their own, and this key is limited to some namespaces."}
			}
			return failure(rt.Handle(w, r))
		}
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: routes}
}

// failure converts an error of package library to one with a status and a sentence for clients.
func failure(err error) error {
	switch {
	case errors.Is(err, library.ErrBadID):
		return wire.Invalidf(`"file_id" must be 1 to 128 letters, digits, dots, dashes and underscores.`)
	case errors.Is(err, library.ErrTaken):
		return &chat.Error{Kind: chat.Conflict, Msg: "The agent already has a file with this id from another user."}
	case errors.Is(err, library.ErrNotFound):
		return errMissing
	}
	return filesapi.Failure(err)
}

var errMissing = &chat.Error{Kind: chat.NotFound, Msg: "One or more IDs not found"}

// health handles GET /health.
func (h *Handler) health(w http.ResponseWriter, _ *wire.Request) error {
	return wire.WriteJSON(w, http.StatusOK, []byte(`{"status":"UP"}`))
}
