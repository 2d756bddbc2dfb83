package ingestapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/documents/ingest"
	"parley/internal/wire"
)

// sourceBody is a remote source in responses. It contains no secrets, which only the configuration has.
type sourceBody struct {
	Address      string                  `json:"address"`
	Kind         string                  `json:"kind"`
	State        string                  `json:"state"`
	Began        *string                 `json:"began"` // of the last run; null if there was none
	Ended        *string                 `json:"ended"` // null while it runs
	Next         *string                 `json:"next"`  // null if none is planned
	Indexed      int                     `json:"indexed"`
	Updated      int                     `json:"updated"`
	Unchanged    int                     `json:"unchanged"`
	Deleted      int                     `json:"deleted"`
	Skipped      int                     `json:"skipped"`
	Failed       int                     `json:"failed"`
	Error        string                  `json:"error"`
	FailingSince *string                 `json:"failing_since"`
	Failures     []documents.SourceFault `json:"failures"`
}

func sourceOf(r documents.RemoteSource, faults bool) sourceBody {
	at := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		text := stamp(t)
		return &text
	}
	b := sourceBody{Address: r.Address, Kind: r.Kind, State: r.State(), Began: at(r.Run.Began), Next: at(r.Next),
		Indexed: r.Run.Indexed, Updated: r.Run.Updated, Unchanged: r.Run.Unchanged, Deleted: r.Run.Deleted, Skipped: r.Run.Skipped, Failed: r.Run.Failed,
		Error: r.Run.Error, FailingSince: at(r.Run.FailingSince), Failures: []documents.SourceFault{}}
	if !r.Run.Ended.Before(r.Run.Began) {
		b.Ended = at(r.Run.Ended)
	}
	if faults {
		b.Failures = append(b.Failures, r.Run.Failures...)
	}
	return b
}

var (
	errSources  = &chat.Error{Kind: chat.Forbidden, Msg: "You may not manage the sources of this namespace."}
	errNoSource = &chat.Error{Kind: chat.NotFound, Msg: "There is no such source in the namespace."}
)

// managing returns the namespace of a request about sources. It is an error unless the caller may manage them, which
// requires the right to change documents that the server itself has added.
func (h *Handler) managing(r *wire.Request, namespace string) (string, error) {
	at, err := h.editing(r.Who, namespace)
	if err == nil && !r.Who.MayChange(at.Namespace, "") {
		err = errSources
	}
	return at.Namespace, err
}

// sources handles GET /api/sources?namespace=.
func (h *Handler) sources(w http.ResponseWriter, r *wire.Request) error {
	namespace, err := h.managing(r, queryNamespace(r))
	if err != nil {
		return err
	}
	all, err := h.listed(r, namespace)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, struct {
		Sources []sourceBody `json:"sources"`
	}{all})
}

// listed returns the sources of a namespace. Names of files that failed may reveal documents that the caller may not see,
// so only owners of the namespace, administrators and callers without sign-in get them.
func (h *Handler) listed(r *wire.Request, namespace string) ([]sourceBody, error) {
	all, err := h.cfg.Service.RemoteSources(r.Context(), namespace, h.cfg.Schedule)
	out := []sourceBody{}
	for _, one := range all {
		out = append(out, sourceOf(one, r.Who.Subject == "" || r.Who.MayManage(namespace)))
	}
	return out, err
}

// changingSource returns the handler of POST /api/sources/run, /pause or /resume. It calls change with the source that the body
// {"address": …, "namespace": …} names, and responds with the source.
func (h *Handler) changingSource(change func(ctx context.Context, namespace, address string) error) func(http.ResponseWriter, *wire.Request) error {
	return func(w http.ResponseWriter, r *wire.Request) error {
		namespace, address, err := h.namedSource(r)
		if err != nil {
			return err
		}
		r.Changed = "source " + address + " of " + namespace
		if err = change(r.Context(), namespace, address); errors.Is(err, documents.ErrNoSource) {
			return errNoSource
		} else if err != nil {
			return failure(err)
		}
		now, err := h.source(r, namespace, address)
		if err != nil {
			return err
		}
		return wire.Reply(w, http.StatusOK, now)
	}
}

// namedSource returns the source that a body {"address": …, "namespace": …} names. It is an error if there is no such
// source, or the caller may not manage it.
func (h *Handler) namedSource(r *wire.Request) (namespace, address string, err error) {
	object, err := r.Object()
	if err != nil {
		return "", "", err
	}
	var asked struct {
		Namespace wire.Value `json:"namespace"`
		Address   wire.Value `json:"address"`
	}
	object.Read(&asked)
	named, _ := asked.Namespace.Text()
	address, _ = asked.Address.Text()
	if namespace, err = h.managing(r, named); err != nil {
		return "", "", err
	}
	_, err = h.source(r, namespace, address)
	return namespace, address, err
}

// estimateSource handles POST /api/sources/estimate. It changes nothing.
func (h *Handler) estimateSource(w http.ResponseWriter, r *wire.Request) error {
	namespace, address, err := h.namedSource(r)
	if err != nil {
		return err
	}
	leave, err := h.surveying.Take(errBusy)
	if err != nil {
		return err
	}
	defer leave()
	e, err := h.cfg.Service.EstimateSource(r.Context(), namespace, address)
	if lost, ok := errors.AsType[*ingest.RemoteError](err); ok {
		return &chat.Error{Kind: chat.Invalid, Msg: "The source cannot be listed: " + lost.Reason}
	}
	if errors.Is(err, documents.ErrNoSource) {
		return errNoSource
	}
	if err != nil {
		return failure(err)
	}
	out := struct {
		Objects       int      `json:"objects"`
		Bytes         int64    `json:"bytes"`
		Seconds       int      `json:"seconds"`
		EmbeddingCost *float64 `json:"embedding_cost"` // null if the price is unknown
		Cut           bool     `json:"cut"`
	}{Objects: e.Objects, Bytes: e.Bytes, Seconds: int(e.Time.Seconds()) + 1, Cut: e.Cut}
	if cost, known := h.cfg.Cost(e.Tokens); known {
		out.EmbeddingCost = &cost
	}
	return wire.Reply(w, http.StatusOK, out)
}

// source returns the source with an address, as GET /api/sources shows it.
func (h *Handler) source(r *wire.Request, namespace, address string) (sourceBody, error) {
	all, err := h.listed(r, namespace)
	if err != nil {
		return sourceBody{}, err
	}
	if at := slices.IndexFunc(all, func(b sourceBody) bool { return b.Address == address }); at >= 0 {
		return all[at], nil
	}
	return sourceBody{}, errNoSource
}

func (h *Handler) runSource(ctx context.Context, namespace, address string) error {
	return h.cfg.Service.WantSource(ctx, namespace, address, false)
}

func (h *Handler) pauseSource(ctx context.Context, namespace, address string) error {
	return h.cfg.Service.PauseSource(ctx, namespace, address, true)
}

func (h *Handler) resumeSource(ctx context.Context, namespace, address string) error {
	return h.cfg.Service.PauseSource(ctx, namespace, address, false)
}
