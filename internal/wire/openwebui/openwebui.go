// Package openwebui implements the routes of Open WebUI that programs such as oikb use to keep a knowledge base
// up to date: they send a list of files, learn which ones differ, and upload those. A knowledge base is a vector
// store of the caller (package library).
//
// README.md in this directory describes the protocol as implemented.
package openwebui

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/shelf"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
)

// Config configures a Handler. Library is required.
type Config struct {
	Library   *library.Library
	MaxUpload int64 // bytes of a file; 0 means 200 MiB
}

// patience is the maximum time that an upload waits for its file to be read. Clients wait for two minutes.
const patience = 90 * time.Second

// Handler handles the requests. It is safe for concurrent use.
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
	get := wire.Route{Right: wire.Ask, Fail: wire.DetailError}
	post := wire.Route{Right: wire.Change, Fail: wire.DetailError, Body: wire.JSON}
	upload, empty := post, post
	upload.Body, empty.Body = wire.Unread, wire.Ignored
	const base = "/api/v1/knowledge/{id}"
	routes := []wire.Route{
		post.At("POST /api/v1/knowledge/create", h.create),
		get.At("GET "+base, h.knowledge),
		get.At("GET "+base+"/files", h.files),
		post.At("POST "+base+"/sync/diff", h.diff),
		post.At("POST "+base+"/sync/cleanup", h.cleanup),
		post.At("POST "+base+"/dirs/create", h.makeDirectory),
		empty.At("POST "+base+"/reset", h.reset),
		upload.At("POST /api/v1/files", h.upload),
	}
	for i, rt := range routes {
		routes[i].Handle = func(w http.ResponseWriter, r *wire.Request) error { return filesapi.Failure(rt.Handle(w, r)) }
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: wire.Slashed(routes...)}
}

// knowledgeBody is a knowledge base in responses.
type knowledgeBody struct {
	ID          string `json:"id"`
	UserID      string `json:"user_id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedAt   int64  `json:"created_at"`
	UpdatedAt   int64  `json:"updated_at"`
}

func replyKnowledge(w http.ResponseWriter, s library.Store) error {
	return wire.Reply(w, http.StatusOK, knowledgeBody{
		ID: s.ID, UserID: s.Owner, Name: s.Name, Description: s.Description, CreatedAt: s.CreatedAt.Unix(), UpdatedAt: s.ActiveAt.Unix(),
	})
}

// create handles POST /api/v1/knowledge/create.
func (h *Handler) create(w http.ResponseWriter, r *wire.Request) error {
	if r.Who.Namespaces != nil {
		return &chat.Error{Kind: chat.Forbidden, Msg: "This key is limited to certain namespaces, " +
			"so it cannot create a knowledge base, which is a separate namespace."}
	}
	object, err := r.Object()
	if err != nil {
		return err
	}
	var in struct {
		Name        wire.Value `json:"name"`
		Description wire.Value `json:"description"`
	}
	object.Read(&in)
	const maxName, maxDescription = 256, 4096
	name, ok := in.Name.Text()
	if !ok || name == "" || utf8.RuneCountInString(name) > maxName {
		return wire.Invalidf(`"name" must be a string of 1 to %d characters.`, maxName)
	}
	description, ok := in.Description.Text()
	if in.Description.IsGiven() && !ok || utf8.RuneCountInString(description) > maxDescription {
		return wire.Invalidf(`"description" must be a string of at most %d characters.`, maxDescription)
	}
	s, err := h.cfg.Library.AddStore(r.Context(), r.Who.Subject, library.Store{Name: name, Description: description})
	if err != nil {
		return err
	}
	r.Changed = s.ID
	return replyKnowledge(w, s)
}

// find returns the knowledge base in the path of a request.
func (h *Handler) find(r *wire.Request) (library.Store, error) {
	return h.cfg.Library.Store(r.Context(), r.Who.Subject, r.PathValue("id"))
}

// knowledge handles GET /api/v1/knowledge/{id}.
func (h *Handler) knowledge(w http.ResponseWriter, r *wire.Request) error {
	s, err := h.find(r)
	if err != nil {
		return err
	}
	return replyKnowledge(w, s)
}

// origin says where a synchronised file comes from. It is stored in the file's attributes.
type origin struct {
	Path string `json:"path"`      // in the source, with directories; "" if no client has synchronised the file
	Hash string `json:"file_hash"` // of the content, as the client sent it
}

func originOf(m library.Member) (o origin) {
	if len(m.Attributes) > 0 {
		_ = json.Unmarshal(m.Attributes, &o) // other attributes mean that there is no origin
	}
	return o
}

// fileBody is a file in responses.
type fileBody struct {
	ID        string   `json:"id"`
	UserID    string   `json:"user_id"`
	Hash      string   `json:"hash"`
	Filename  string   `json:"filename"`
	Meta      metaBody `json:"meta"`
	CreatedAt int64    `json:"created_at"`
	UpdatedAt int64    `json:"updated_at"`
}

type metaBody struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	FileHash string `json:"file_hash"`
	Path     string `json:"path"` // Parley's own member: the path with directories
	Status   string `json:"status"`
}

func bodyOf(s library.Store, m library.Member) fileBody {
	o := originOf(m)
	return fileBody{
		ID: m.File, UserID: s.Owner, Hash: o.Hash, Filename: m.Filename, CreatedAt: m.CreatedAt.Unix(), UpdatedAt: m.CreatedAt.Unix(),
		Meta: metaBody{Name: m.Filename, Size: m.Size, FileHash: o.Hash, Path: o.Path, Status: m.State},
	}
}

// pageSize is the number of files on a page.
const pageSize = 30

// files handles GET /api/v1/knowledge/{id}/files. Without a page it lists all files.
func (h *Handler) files(w http.ResponseWriter, r *wire.Request) error {
	s, err := h.find(r)
	if err != nil {
		return err
	}
	all, err := h.cfg.Library.Members(r.Context(), s, shelf.List{Oldest: true})
	if err != nil {
		return err
	}
	total := len(all)
	if text := r.URL.Query().Get("page"); text != "" {
		page, err := strconv.Atoi(text)
		if err != nil || page < 1 {
			return wire.Invalidf(`"page" must be a whole number of at least 1.`)
		}
		from := min(total, (min(page, total+1)-1)*pageSize)
		all = all[from:min(total, from+pageSize)]
	}
	items := make([]fileBody, len(all))
	for i, m := range all {
		items[i] = bodyOf(s, m)
	}
	return wire.Reply(w, http.StatusOK, struct {
		Items []fileBody `json:"items"`
		Total int        `json:"total"`
	}{items, total})
}

// reset handles POST /api/v1/knowledge/{id}/reset. It deletes all files of a knowledge base.
func (h *Handler) reset(w http.ResponseWriter, r *wire.Request) error {
	s, err := h.find(r)
	if err != nil {
		return err
	}
	all, err := h.cfg.Library.Members(r.Context(), s, shelf.List{})
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := h.delete(r, s, m.File); err != nil {
			return err
		}
	}
	return replyKnowledge(w, s)
}
