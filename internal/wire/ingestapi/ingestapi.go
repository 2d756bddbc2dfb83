// Package ingestapi has the routes with which clients add and delete documents and follow the progress: the
// uploads of the Azure front ends, the ingestion routes of the Chat-with-RAG API, and Parley's own routes for
// jobs and remote sources. README.md lists them, and says how they differ from the originals.
package ingestapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/job"
	"parley/internal/documents/upload"
	"parley/internal/retrieval"
	"parley/internal/wire"
	"parley/internal/wire/ragchat"
)

// Config configures a Handler. Service is required.
type Config struct {
	Service   *documents.Service
	Namespace string // "" means "default"
	PublicURL string // as in wire.BaseURL; "" means the URL of each request
	MaxUpload int64  // bytes of an upload, all files together; 0 means 200 MiB
	MaxBody   int64  // bytes of a JSON body without a file in it; 0 means wire.DefaultBodyLimit
	// Cost returns the price in US dollars of embedding a number of tokens, or false if the price is
	// unknown. Optional; without it, embedding is free.
	Cost     func(tokens int) (float64, bool)
	Schedule time.Duration // interval at which remote sources are read; 0 means never
	Wait     time.Duration // how long to wait for the end of a job before responding with 202; 0 means 25 s
}

// Handler handles the routes. It is safe for concurrent use.
type Handler struct {
	cfg       Config
	receiving wire.Slots // for uploads
	surveying wire.Slots // for estimates
}

// maxSurveying limits concurrent estimates, since each starts its own processes.
const maxSurveying = 2

// New returns a Handler with the defaults of cfg filled in.
func New(cfg Config) *Handler {
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.MaxUpload = wire.MaxUpload(cfg.MaxUpload)
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = wire.DefaultBodyLimit
	}
	if cfg.Wait <= 0 {
		cfg.Wait = 25 * time.Second
	}
	if cfg.Cost == nil {
		cfg.Cost = func(int) (float64, bool) { return 0, true }
	}
	return &Handler{cfg: cfg, receiving: wire.Receiving(), surveying: make(wire.Slots, maxSurveying)}
}

// Protocol returns the routes.
func (h *Handler) Protocol() wire.Protocol {
	read := wire.Route{Right: wire.Ask, Fail: wire.PlainError}
	change := wire.Route{Right: wire.Edit, Fail: wire.PlainError, Limit: h.cfg.MaxBody}
	events, upload, withBody, ignoring := read, change, change, change
	events.Events, upload.Body, withBody.Body, ignoring.Body = true, wire.Unread, wire.JSON, wire.Ignored
	rag := withBody // for routes of the Chat-with-RAG API
	rag.Fail = ragchat.Fail
	pdf, deletion := rag, rag
	pdf.Body, deletion.Body, deletion.Verbatim = wire.UnreadJSON, wire.NoBody, true
	const one = " /api/jobs/{id}"
	return wire.Protocol{OpenAPI: openAPI, Types: types, Drain: h.cfg.Service.Jobs().Drain, Routes: append(wire.Slashed(
		rag.At("POST /index", h.index),
		pdf.At("POST /pdf", h.pdf),
		rag.At("POST /mediawiki/url", h.mediaWiki),
		upload.At("POST /upload", h.upload),
		read.At("GET /list_uploaded", h.uploaded),
		withBody.At("POST /delete_uploaded", h.deleteUploaded),
	),
		deletion.At("DELETE "+deletePath+"{url...}", h.delete),
		change.At("GET /api/sources", h.sources),
		withBody.At("POST /api/sources/run", h.changingSource(h.runSource)),
		withBody.At("POST /api/sources/estimate", h.estimateSource),
		withBody.At("POST /api/sources/pause", h.changingSource(h.pauseSource)),
		withBody.At("POST /api/sources/resume", h.changingSource(h.resumeSource)),
		read.At("GET /api/jobs", h.jobs),
		read.At("GET"+one, h.job),
		change.At("DELETE"+one, h.cancel),
		ignoring.At("POST"+one+"/cancel", h.cancel),
		ignoring.At("POST"+one+"/retry", h.retry),
		events.At("GET"+one+"/events", h.events),
	)}
}

// deletePath is the path before the address of a document to delete.
const deletePath = "/delete/"

var errBusy = &chat.Error{Kind: chat.RateLimited, Msg: "Too many requests of this kind are in progress. Please try again later."}

// scope returns the scope of a request: the caller's files in namespace, or in the server's namespace if that is
// "". It is an error if the caller may not use the namespace.
func (h *Handler) scope(who access.Principal, namespace string) (upload.Scope, error) {
	namespace = cmp.Or(namespace, h.cfg.Namespace)
	if err := retrieval.CheckNamespace(namespace); err != nil {
		return upload.Scope{}, wire.Invalidf("%s", err)
	}
	if !who.MayUse(namespace) {
		return upload.Scope{}, &chat.Error{Kind: chat.NotFound, Msg: "There is no such namespace."}
	}
	return upload.Scope{Namespace: namespace, Owner: who.Subject}, nil
}

// editing is like scope, for requests that change documents. The caller must be allowed to edit the namespace.
func (h *Handler) editing(who access.Principal, namespace string) (upload.Scope, error) {
	at, err := h.scope(who, namespace)
	if err == nil && !who.MayEdit(at.Namespace) {
		err = errNoEditor
	}
	return at, err
}

var errNoEditor = &chat.Error{Kind: chat.Forbidden, Msg: "You may read this namespace, but not change its documents."}

// queryNamespace returns the namespace that the query of a request names, or "".
func queryNamespace(r *wire.Request) string {
	q := r.URL.Query()
	if ns := q.Get("namespace"); ns != "" {
		return ns
	}
	return q.Get("active_domain") // the name in the Chat-with-RAG API
}

// unprocessable returns the error, with status 422, for a body that is well-formed but invalid.
func unprocessable(format string, args ...any) error {
	return wire.Refuse(http.StatusUnprocessableEntity, "validation_error", fmt.Sprintf(format, args...))
}

// OverQuota returns the error for an upload that exceeds a quota.
func OverQuota(e *documents.QuotaError) error {
	whose := "your uploaded files"
	if e.All {
		whose = "all uploaded files of this server"
	}
	return wire.Refuse(http.StatusInsufficientStorage, "quota_exceeded",
		fmt.Sprintf("With this upload %s would take more than %d bytes. Nothing was stored; delete some first.", whose, e.Limit))
}

// TooManyJobs returns the error for a request that is refused because too many jobs are waiting.
func TooManyJobs(e *job.QueueError) error {
	if e.All {
		return &chat.Error{Kind: chat.Unavailable, RetryAfter: time.Minute,
			Msg: fmt.Sprintf("The server has %d unfinished jobs and accepts no more at the moment. Please try again later.", e.Limit)}
	}
	return &chat.Error{Kind: chat.RateLimited, RetryAfter: time.Minute,
		Msg: fmt.Sprintf("You have %d unfinished jobs. Wait until some have ended, or cancel some with DELETE /api/jobs/{id}.", e.Limit)}
}

// failure converts an error of documents.Service to one with a status and a sentence for the client. It returns others unchanged.
func failure(err error) error {
	name, badName := errors.AsType[*upload.NameError](err)
	quota, exceeded := errors.AsType[*documents.QuotaError](err)
	queue, queued := errors.AsType[*job.QueueError](err)
	switch {
	case err == nil:
		return nil
	case badName:
		return wire.Invalidf("%s", sentence(name.Error()))
	case exceeded:
		return OverQuota(quota)
	case errors.Is(err, documents.ErrFull):
		return &chat.Error{Kind: chat.Full, Err: err}
	case errors.Is(err, documents.ErrTooMany):
		return &chat.Error{Kind: chat.TooLarge, Msg: fmt.Sprintf("An upload may have %d files at most.", documents.MaxFiles)}
	case queued:
		return TooManyJobs(queue)
	case errors.Is(err, documents.ErrTwice):
		return wire.Invalidf("Two files of the upload would have the same name.")
	case errors.Is(err, documents.ErrNotFound):
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such document."}
	case errors.Is(err, job.ErrNotFound):
		return &chat.Error{Kind: chat.NotFound, Msg: "There is no such job."}
	}
	return err
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// message is the response of routes that report what they did in a sentence.
type message struct {
	Message string `json:"message"`
	JobID   string `json:"job_id,omitempty"`
}

// jobBody is a job in responses.
type jobBody struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	State      job.State  `json:"state"`
	Namespace  string     `json:"namespace"`
	CreatedAt  string     `json:"created_at"`
	StartedAt  *string    `json:"started_at"`
	EndedAt    *string    `json:"ended_at"`
	FilesTotal int        `json:"files_total"`
	FilesDone  int        `json:"files_done"`
	Indexed    int        `json:"indexed"`
	Unchanged  int        `json:"unchanged"`
	Skipped    int        `json:"skipped"`
	Failed     int        `json:"failed"`
	Partly     int        `json:"partly"`
	Chunks     int        `json:"chunks"`
	Message    string     `json:"message"`
	Error      *string    `json:"error"`
	Cancelling bool       `json:"cancelling"`
	Files      []job.File `json:"files,omitempty"`
}

func bodyOf(j job.Job) jobBody {
	b := jobBody{
		ID: j.ID, Kind: j.Kind, State: j.State, Namespace: j.Namespace, CreatedAt: stamp(j.CreatedAt),
		FilesTotal: j.Counts.Total, FilesDone: j.Counts.Done, Indexed: j.Counts.Indexed, Unchanged: j.Counts.Unchanged,
		Skipped: j.Counts.Skipped, Failed: j.Counts.Failed, Partly: j.Counts.Partly, Chunks: j.Counts.Chunks,
		Message: j.Message, Cancelling: j.Asked, Files: j.Files,
	}
	if !j.StartedAt.IsZero() {
		at := stamp(j.StartedAt)
		b.StartedAt = &at
	}
	if !j.EndedAt.IsZero() {
		at := stamp(j.EndedAt)
		b.EndedAt = &at
	}
	if j.Error != "" {
		b.Error = &j.Error
	}
	return b
}

// stamp formats a time in UTC with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// encode encodes a job as JSON on one line.
func encode(j job.Job) (json.RawMessage, error) { return wire.AppendJSON(nil, bodyOf(j)) }

// ended waits until the job ends, ctx ends or patience has passed, and returns the job's last known state.
func (h *Handler) ended(ctx context.Context, j job.Job, patience time.Duration) job.Job {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for now, err := range h.cfg.Service.Jobs().Watch(ctx, j.Owner, j.ID, patience) {
		if err != nil {
			break
		}
		j = now
	}
	return j
}
