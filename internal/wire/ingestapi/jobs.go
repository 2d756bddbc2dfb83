package ingestapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"parley/internal/chat"
	"parley/internal/documents/job"
	"parley/internal/wire"
)

// The default and maximum number of jobs on a page.
const (
	defaultJobs = 20
	maxJobs     = 100
)

// jobsPage is a page of jobs, newest first.
type jobsPage struct {
	Jobs []jobBody `json:"jobs"`
	Next *string   `json:"next"` // value of the parameter "before" for the next page; null on the last page
}

// jobs handles GET /api/jobs?limit=&before=&namespace=. It returns a page of the caller's jobs.
func (h *Handler) jobs(w http.ResponseWriter, r *wire.Request) error {
	q := r.URL.Query()
	list := job.List{Owner: r.Who.Subject, Namespace: q.Get("namespace"), Before: q.Get("before"), Limit: defaultJobs}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return wire.Invalidf(`"limit" must be a whole number over 0.`)
		}
		list.Limit = min(n, maxJobs)
	}
	list.Limit++ // one more, to find out whether there is another page
	all, err := h.cfg.Service.Jobs().Jobs(r.Context(), list)
	if err != nil {
		return err
	}
	page := jobsPage{Jobs: []jobBody{}}
	for i, j := range all {
		if i == list.Limit-1 {
			page.Next = &all[i-1].ID
			break
		}
		page.Jobs = append(page.Jobs, bodyOf(j))
	}
	return wire.Reply(w, http.StatusOK, page)
}

// job handles GET /api/jobs/{id}.
func (h *Handler) job(w http.ResponseWriter, r *wire.Request) error {
	j, err := h.find(r)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, bodyOf(j))
}

func (h *Handler) find(r *wire.Request) (job.Job, error) {
	j, err := h.cfg.Service.Jobs().Job(r.Context(), r.Who.Subject, r.PathValue("id"))
	return j, failure(err)
}

// cancel handles POST /api/jobs/{id}/cancel and DELETE /api/jobs/{id}. It responds with the job; a running job
// ends soon after.
func (h *Handler) cancel(w http.ResponseWriter, r *wire.Request) error {
	j, err := h.cfg.Service.Jobs().Cancel(r.Context(), r.Who.Subject, r.PathValue("id"))
	if errors.Is(err, job.ErrState) {
		return &chat.Error{Kind: chat.Conflict, Msg: "The job has ended already."}
	}
	if err != nil {
		return failure(err)
	}
	return wire.Reply(w, http.StatusOK, bodyOf(j))
}

// retry handles POST /api/jobs/{id}/retry. It queues the job again and responds with it.
func (h *Handler) retry(w http.ResponseWriter, r *wire.Request) error {
	waits, err := h.find(r)
	if err != nil {
		return err
	}
	if !r.Who.MayEdit(waits.Namespace) { // may have lost the right since
		return errNoEditor
	}
	j, err := h.cfg.Service.Jobs().Retry(r.Context(), r.Who.Subject, r.PathValue("id"))
	if errors.Is(err, job.ErrState) {
		return &chat.Error{Kind: chat.Conflict, Msg: "Only a job that failed, wholly or partly, or was cancelled can be retried."}
	}
	if err != nil {
		return failure(err)
	}
	return wire.Reply(w, http.StatusOK, bodyOf(j))
}

const keepAlive = 12 * time.Second

// finalEvent is the id of the last event of a job. A browser that reconnects after it gets status 204, which tells it to
// stop reconnecting (HTML standard, section 9.2.2).
const finalEvent = 1

// events handles GET /api/jobs/{id}/events. It sends the job's current state and each change as
// server-sent events, until the job has ended.
func (h *Handler) events(w http.ResponseWriter, r *wire.Request) error {
	j, err := h.find(r)
	if err != nil {
		return err
	}
	if j.State.Final() && r.Header.Get("Last-Event-ID") == strconv.Itoa(finalEvent) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	stream, last := wire.SSE(w), ""
	for now, err := range h.cfg.Service.Jobs().Watch(r.Context(), j.Owner, j.ID, keepAlive) {
		if err != nil {
			return failure(err) // for example, the job was deleted; after the first event the client does not see the error
		}
		raw, err := encode(now)
		switch {
		case err != nil:
			return err
		case now.State.Final():
			err = stream.SendNumbered(finalEvent, append(stream.Line(), raw...))
		case string(raw) == last:
			err = stream.Comment("keep-alive")
		default:
			err = stream.Send(append(stream.Line(), raw...))
		}
		if err != nil {
			return nil // the client is gone
		}
		last = string(raw)
	}
	return nil
}
