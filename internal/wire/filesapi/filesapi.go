// Package filesapi implements the part of OpenAI's API with which clients add documents: /v1/files, /v1/uploads
// and /v1/vector_stores. A vector store is a namespace of Parley, so its content is found by the tool
// file_search of the Responses API, by the search route of this package, and by every other protocol that can name
// a namespace.
//
// Package library does the work; this package decodes requests and encodes responses in the form of the
// API. README.md in this directory describes the protocol as implemented.
package filesapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/library"
	"parley/internal/lru"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/ingestapi"
	"parley/internal/wire/openai"
)

// Config configures a Handler. Library, Search and Corpus are required.
type Config struct {
	Library *library.Library
	// Search finds passages in a namespace.
	Search func(context.Context, retrieval.Query) (retrieval.Result, error)

	// Read returns the title and the text of the file at a path, which may be hostile. The error for a file that
	// cannot be read is an *extract.Error. Required only if Give is used.
	Read func(ctx context.Context, name, path string) (title string, chunks []retrieval.Chunk, err error)

	Corpus Corpus

	// Namespaces returns the namespaces that a caller may search, in addition to Namespace. Optional.
	Namespaces func(context.Context, access.Principal) ([]string, error)

	Mode      retrieval.Mode // of searches; "" means hybrid
	Namespace string         // of the server; "" means "default"
	PublicURL string         // the URL of the server for clients; "" means the URL of each request
	MaxUpload int64          // bytes of a file; 0 means 200 MiB
	Temp      string         // directory for files of questions while they are read; "" means the system's
}

// Corpus reads documents and their pages.
type Corpus interface {
	// Pages returns the pages of a revision of a document, in order.
	Pages(ctx context.Context, revision int64) ([]retrieval.Page, error)
	// VisibleStats counts the documents that a filter admits.
	VisibleStats(ctx context.Context, f retrieval.Filter) (retrieval.Stats, error)
	// DocumentsByAge returns documents that a filter admits, in the order of their first indexing.
	DocumentsByAge(ctx context.Context, f retrieval.Filter, l retrieval.ByAge) ([]retrieval.Document, error)
	// DocumentByID returns a document that a filter admits, or retrieval.ErrNotFound.
	DocumentByID(ctx context.Context, f retrieval.Filter, id string) (retrieval.Document, error)
}

// Handler handles the requests of the API. It is safe for concurrent use.
type Handler struct {
	cfg       Config
	catalog   openai.Catalog
	since     time.Time  // when the server started; returned as the creation time of namespaces
	receiving wire.Slots // for uploads
	giving    wire.Slots // for requests whose files are being read
	readings  *lru.Cache[string, reading]
}

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.MaxUpload = wire.MaxUpload(cfg.MaxUpload)
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	return &Handler{cfg: cfg, catalog: openai.Catalog{Namespaces: cfg.Namespaces, Own: cfg.Namespace}, receiving: wire.Receiving(), giving: make(wire.Slots, maxGiving), readings: newReadings(), since: time.Now()}
}

// Protocol returns the routes of the API.
func (h *Handler) Protocol() wire.Protocol {
	get := wire.Route{Right: wire.Ask, Fail: openai.Fail}
	ask := wire.Route{Right: wire.Ask, Fail: openai.Fail, Body: wire.JSON}
	change := wire.Route{Right: wire.Change, Fail: openai.Fail}
	post, empty, upload := change, change, change
	post.Body, empty.Body, upload.Body = wire.JSON, wire.Ignored, wire.Unread
	const (
		file    = "/v1/files/{id}"
		parts   = "/v1/uploads/{id}"
		store   = "/v1/vector_stores/{id}"
		member  = store + "/files/{file}"
		batches = store + "/file_batches"
		batch   = batches + "/{batch}"
	)
	routes := []wire.Route{
		upload.At("POST /v1/files", h.upload),
		get.At("GET /v1/files", h.files),
		get.At("GET "+file, h.file),
		change.At("DELETE "+file, h.deleteFile),
		get.At("GET "+file+"/content", h.content),
		post.At("POST /v1/uploads", h.createUpload),
		upload.At("POST "+parts+"/parts", h.addPart),
		post.At("POST "+parts+"/complete", h.completeUpload),
		empty.At("POST "+parts+"/cancel", h.cancelUpload),
		post.At("POST /v1/vector_stores", h.createStore),
		get.At("GET /v1/vector_stores", h.stores),
		get.At("GET "+store, h.store),
		post.At("POST "+store, h.changeStore),
		change.At("DELETE "+store, h.deleteStore),
		ask.At("POST "+store+"/search", h.search),
		post.At("POST "+store+"/files", h.attach),
		get.At("GET "+store+"/files", h.members),
		get.At("GET "+member, h.member),
		get.At("GET "+member+"/content", h.memberContent),
		post.At("POST "+member, h.changeMember),
		change.At("DELETE "+member, h.detach),
		post.At("POST "+batches, h.createBatch),
		get.At("GET "+batch, h.batch),
		empty.At("POST "+batch+"/cancel", h.cancelBatch),
		get.At("GET "+batch+"/files", h.batchFiles),
	}
	for i, rt := range routes {
		routes[i].Handle = func(w http.ResponseWriter, r *wire.Request) error {
			err := rt.Handle(w, r)
			if errors.Is(err, library.ErrNotFound) && strings.Contains(rt.Pattern, store) {
				err = h.notStore(r, err)
			}
			return Failure(err)
		}
	}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: wire.Slashed(routes...)}
}

// Failure converts an error of package library to one with a status and a sentence for clients.
func Failure(err error) error {
	name, badName := errors.AsType[*upload.NameError](err)
	quota, exceeded := errors.AsType[*documents.QuotaError](err)
	queue, queued := errors.AsType[*job.QueueError](err)
	gone, missing := errors.AsType[*library.MissingError](err)
	switch {
	case badName:
		return openai.Refuse(chat.Invalid, "file", openai.Invalid, "The file was refused: "+name.Error()+".")
	case exceeded:
		return ingestapi.OverQuota(quota)
	case queued:
		return ingestapi.TooManyJobs(queue)
	case errors.Is(err, library.ErrExpired):
		return openai.Refuse(chat.Invalid, "vector_store_id", "vector_store_expired", "The vector store has expired and no longer contains any files.")
	case errors.Is(err, library.ErrState):
		return openai.Refuse(chat.Invalid, "upload_id", openai.Invalid, "The upload has been completed or cancelled.")
	case errors.Is(err, library.ErrSize):
		return openai.Refuse(chat.Invalid, "bytes", openai.Invalid, "The parts do not have the size that was announced for the upload.")
	case errors.Is(err, library.ErrPart):
		return openai.Refuse(chat.Invalid, "part_ids", openai.Invalid, "Each id must name a part of this upload and must not be repeated.")
	case errors.Is(err, library.ErrChecksum):
		return openai.Refuse(chat.Invalid, "md5", openai.Invalid, "The parts do not have this checksum.")
	case missing:
		return openai.Refuse(chat.NotFound, "file_id", "not_found", "There is no file with the id "+quoted(gone.File)+".")
	case errors.Is(err, documents.ErrFull):
		return &chat.Error{Kind: chat.Full, Err: err}
	case errors.Is(err, library.ErrTooMany):
		return wire.Refuse(http.StatusInsufficientStorage, "quota_exceeded",
			"Nothing was stored: that would be more files or vector stores than one caller may have. Delete some first.")
	case errors.Is(err, library.ErrNotFound):
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such file, vector store or batch.", Err: err}
	}
	return err
}
