// Package auditapi lets administrators export the audit log: GET /api/audit, one entry per line.
package auditapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"parley/internal/audit"
	"parley/internal/wire"
)

// Entries reads the log.
type Entries interface {
	// Audit returns the entries that q selects, oldest first.
	Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error)
}

// Handler handles the route.
type Handler struct{ entries Entries }

// New returns a handler.
func New(entries Entries) *Handler { return &Handler{entries} }

// Protocol returns the route.
func (h *Handler) Protocol() wire.Protocol {
	rt := wire.Route{Right: wire.Administer, Fail: wire.PlainError}
	return wire.Protocol{OpenAPI: openAPI, Types: types, Routes: []wire.Route{rt.At("GET /api/audit", h.export)}}
}

// The default and maximum number of entries on a page of an export.
const (
	pageSize = 1_000
	maxPage  = 10_000
)

// export handles GET /api/audit. It responds with JSON Lines. If there are more entries, the Link header has the URL of the next
// page.
func (h *Handler) export(w http.ResponseWriter, r *wire.Request) error {
	values := r.URL.Query()
	q, err := ParseQuery(values.Get("from"), values.Get("to"), values.Get("user"), values.Get("action"))
	if err != nil {
		return wire.Invalidf("%s", err)
	}
	q.After, q.Limit = values.Get("after"), pageSize
	if text := values.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxPage {
			return wire.Invalidf("limit must be a number from 1 to %d", maxPage)
		}
	}
	q.Limit++ // to see whether there are more
	all, err := h.entries.Audit(r.Context(), q)
	if err != nil {
		return err
	}
	if len(all) == q.Limit {
		all = all[:len(all)-1]
		next := *r.URL
		values.Set("after", all[len(all)-1].ID)
		next.RawQuery = values.Encode()
		w.Header().Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", next.RequestURI()))
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	return Write(w, all)
}

// ParseQuery returns the query with the given filters; "" means no filter. from and to are days, which begin at midnight UTC, or
// RFC 3339 times; entries at to are not included. The error is a sentence for the user.
func ParseQuery(from, to, user, action string) (q audit.Query, err error) {
	q = audit.Query{Subject: user, Action: audit.Action(action)}
	if action != "" && !slices.Contains(audit.Actions, q.Action) {
		return q, fmt.Errorf("action must be one of %q", audit.Actions)
	}
	for _, t := range []struct {
		name, text string
		into       *time.Time
	}{{"from", from, &q.From}, {"to", to, &q.To}} {
		if t.text == "" {
			continue
		}
		if *t.into, err = time.Parse(time.RFC3339, t.text); err != nil {
			*t.into, err = time.Parse(time.DateOnly, t.text)
		}
		if err != nil {
			return q, fmt.Errorf("%s must be a day such as 2026-11-01, or a time such as 2026-11-01T10:00:00Z", t.name)
		}
	}
	return q, nil
}

// Write writes entries as JSON Lines.
func Write(w io.Writer, all []audit.Entry) error {
	for _, e := range all {
		line, err := wire.AppendJSON(nil, e)
		if err != nil {
			return fmt.Errorf("write an entry: %w", err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("%w: %w", wire.ErrClientGone, err)
		}
	}
	return nil
}
