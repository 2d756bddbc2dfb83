package filesapi

import (
	"encoding/json"
	"net/http"

	"parley/internal/library"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// otherChunking is the chunking strategy in responses: one that the API does not define.
var otherChunking = json.RawMessage(`{"type":"other"}`)

// memberBody is a file of a store in responses.
type memberBody struct {
	ID         string          `json:"id"`
	Object     string          `json:"object"`
	UsageBytes int64           `json:"usage_bytes"`
	CreatedAt  int64           `json:"created_at"`
	StoreID    string          `json:"vector_store_id"`
	Status     string          `json:"status"`
	LastError  *lastError      `json:"last_error"`
	Chunking   json.RawMessage `json:"chunking_strategy"`
	Attributes json.RawMessage `json:"attributes"`
	Filename   string          `json:"filename"` // Parley's own
}

// lastError says why a file could not be read.
type lastError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"` // Parley's own, from the list in docs/ingestion.md
}

func memberBodyOf(m library.Member) memberBody {
	b := memberBody{
		ID: m.File, Object: "vector_store.file", CreatedAt: m.CreatedAt.Unix(), StoreID: m.Store, Status: m.State,
		Chunking: otherChunking, Attributes: objectOrEmpty(m.Attributes), Filename: m.Filename,
	}
	switch m.State {
	case library.Completed:
		b.UsageBytes = m.Size
	case library.Failed:
		b.LastError = &lastError{Code: "invalid_file", Message: m.Detail, Reason: m.Reason}
		if m.Reason == "unsupported" {
			b.LastError.Code = "unsupported_file"
		}
	}
	return b
}

// attach handles POST /v1/vector_stores/{id}/files.
func (h *Handler) attach(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	a, err := attachmentOf(object, "")
	if err != nil {
		return err
	}
	if err := checkChunking(object); err != nil {
		return err
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	members, err := h.cfg.Library.Attach(r.Context(), s, []library.Attachment{a}, "")
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, memberBodyOf(members[0]))
}

// attachmentOf reads file_id and attributes; in precedes their names in errors.
func attachmentOf(object wire.Object, in string) (a library.Attachment, err error) {
	var given struct {
		File       wire.Value `json:"file_id"`
		Attributes wire.Value `json:"attributes"`
	}
	object.Read(&given)
	var ok bool
	if a.File, ok = given.File.Text(); !ok || a.File == "" {
		return a, openai.Refusef(in+"file_id", openai.Missing, "%q must be the id of a file.", in+"file_id")
	}
	a.Attributes, err = attributesOf(given.Attributes, in+"attributes")
	return a, err
}

// members handles GET /v1/vector_stores/{id}/files?limit=&order=&after=&before=&filter=.
func (h *Handler) members(w http.ResponseWriter, r *wire.Request) error { return h.list(w, r, "") }

func (h *Handler) list(w http.ResponseWriter, r *wire.Request, batch string) error {
	list, err := listOf(r, 20)
	if err != nil {
		return err
	}
	list.Group, list.State = batch, r.URL.Query().Get("filter")
	if states := []string{"", library.InProgress, library.Completed, library.Failed, library.Cancelled}; !has(states, list.State) {
		return openai.Refusef("filter", openai.Invalid, `"filter" must be in_progress, completed, failed or cancelled.`)
	}
	if !library.IsStore(r.PathValue("id")) {
		return h.documents(w, r, list)
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	all, err := h.cfg.Library.Members(r.Context(), s, list)
	if err != nil {
		return badCursor(err)
	}
	return reply(w, list, all, memberBodyOf, func(b memberBody) string { return b.ID })
}

func (h *Handler) member(w http.ResponseWriter, r *wire.Request) error {
	if !library.IsStore(r.PathValue("id")) {
		d, err := h.documentIn(r)
		if err != nil {
			return err
		}
		return wire.Reply(w, http.StatusOK, documentBodyOf(d))
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	m, err := h.cfg.Library.Member(r.Context(), s, r.PathValue("file"))
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, memberBodyOf(m))
}

// pageBody is the extracted text of a page of a file.
type pageBody struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Page int    `json:"page,omitempty"` // Parley's own
}

// memberContent handles GET /v1/vector_stores/{id}/files/{file}/content. It returns the extracted text by pages: none
// if the file has not been read yet.
func (h *Handler) memberContent(w http.ResponseWriter, r *wire.Request) error {
	revisions, err := h.revisionsIn(r)
	if err != nil {
		return err
	}
	data := []pageBody{}
	for _, revision := range revisions {
		pages, err := h.cfg.Corpus.Pages(r.Context(), revision)
		if err != nil {
			return err
		}
		for _, p := range pages {
			data = append(data, pageBody{"text", p.Text, p.Number})
		}
	}
	return wire.Reply(w, http.StatusOK, struct {
		Object   string     `json:"object"`
		Data     []pageBody `json:"data"`
		HasMore  bool       `json:"has_more"`
		NextPage *string    `json:"next_page"`
	}{Object: "vector_store.file_content.page", Data: data})
}

// revisionsIn returns the revisions of the file that the path of a request names.
func (h *Handler) revisionsIn(r *wire.Request) ([]int64, error) {
	if !library.IsStore(r.PathValue("id")) {
		d, err := h.documentIn(r)
		return []int64{d.Revision}, err
	}
	s, err := h.find(r)
	if err != nil {
		return nil, err
	}
	return h.cfg.Library.Revisions(r.Context(), s, []string{r.PathValue("file")})
}

// changeMember handles POST /v1/vector_stores/{id}/files/{file} {"attributes"}.
func (h *Handler) changeMember(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	given, ok := object.Get("attributes")
	if !ok {
		return openai.Refusef("attributes", openai.Missing, `"attributes" must be an object, or null for none.`)
	}
	attributes, err := attributesOf(given, "attributes")
	if err != nil {
		return err
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	m, err := h.cfg.Library.Describe(r.Context(), s, r.PathValue("file"), attributes)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, memberBodyOf(m))
}

func (h *Handler) detach(w http.ResponseWriter, r *wire.Request) error {
	id := r.PathValue("file")
	if err := h.cfg.Library.Detach(r.Context(), r.Who.Subject, r.PathValue("id"), id); err != nil {
		return err
	}
	return deleted(w, id, "vector_store.file.deleted")
}

// batchBody is a batch in responses.
type batchBody struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	CreatedAt  int64  `json:"created_at"`
	StoreID    string `json:"vector_store_id"`
	Status     string `json:"status"`
	FileCounts counts `json:"file_counts"`
}

func (h *Handler) replyBatch(w http.ResponseWriter, r *wire.Request, s library.Store, b library.Batch) error {
	tallies, err := h.cfg.Library.Counts(r.Context(), s, b.ID)
	if err != nil {
		return err
	}
	c, _ := countsOf(tallies)
	body := batchBody{ID: b.ID, Object: "vector_store.files_batch", CreatedAt: b.CreatedAt.Unix(), StoreID: s.ID, Status: c.state(), FileCounts: c}
	switch {
	case c.InProgress > 0:
	case c.Cancelled > 0:
		body.Status = library.Cancelled
	case c.Failed > 0 && c.Completed == 0:
		body.Status = library.Failed
	}
	return wire.Reply(w, http.StatusOK, body)
}

// createBatch handles POST /v1/vector_stores/{id}/file_batches {"file_ids", "attributes"} or {"files"}.
func (h *Handler) createBatch(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	files, err := batchOf(object)
	if err != nil {
		return err
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	b, err := h.cfg.Library.AddBatch(r.Context(), s, files)
	if err != nil {
		return err
	}
	return h.replyBatch(w, r, s, b)
}

func batchOf(object wire.Object) ([]library.Attachment, error) {
	if err := checkChunking(object); err != nil {
		return nil, err
	}
	var in struct {
		IDs        wire.Value `json:"file_ids"`
		Files      wire.Value `json:"files"`
		Attributes wire.Value `json:"attributes"`
	}
	object.Read(&in)
	if in.IDs.IsGiven() == in.Files.IsGiven() {
		return nil, openai.Refusef("file_ids", openai.Missing, `One of "file_ids" and "files" must list the files.`)
	}
	attributes, err := attributesOf(in.Attributes, "attributes")
	if err != nil {
		return nil, err
	}
	if in.IDs.IsGiven() {
		files, err := fileIDs(in.IDs, "file_ids", attributes)
		if err == nil && len(files) == 0 {
			err = openai.Refusef("file_ids", openai.Invalid, `"file_ids" must name at least one file.`)
		}
		return files, err
	}
	return filesOf(in.Files)
}

// filesOf reads a list of files, each with its own attributes.
func filesOf(v wire.Value) ([]library.Attachment, error) {
	elements, ok := v.Elements()
	if n, few := wire.AtMost(maxBatch, elements); !ok || !few || n == 0 {
		return nil, openai.Refusef("files", openai.Invalid, `"files" must be a list of 1 to %d objects with a file_id.`, maxBatch)
	}
	var files []library.Attachment
	seen := map[string]bool{}
	for v := range elements {
		object, _ := v.Object()
		a, err := attachmentOf(object, "files[].")
		if err == nil {
			err = checkChunking(object)
		}
		if err != nil {
			return nil, err
		}
		if !seen[a.File] {
			files = append(files, a)
		}
		seen[a.File] = true
	}
	return files, nil
}

// findBatch returns the store and the batch in the path of a request.
func (h *Handler) findBatch(r *wire.Request) (s library.Store, b library.Batch, err error) {
	if s, err = h.find(r); err == nil {
		b, err = h.cfg.Library.Batch(r.Context(), s, r.PathValue("batch"))
	}
	return s, b, err
}

func (h *Handler) batch(w http.ResponseWriter, r *wire.Request) error {
	s, b, err := h.findBatch(r)
	if err != nil {
		return err
	}
	return h.replyBatch(w, r, s, b)
}

func (h *Handler) cancelBatch(w http.ResponseWriter, r *wire.Request) error {
	s, b, err := h.findBatch(r)
	if err == nil {
		err = h.cfg.Library.CancelBatch(r.Context(), s, b)
	}
	if err != nil {
		return err
	}
	return h.replyBatch(w, r, s, b)
}

func (h *Handler) batchFiles(w http.ResponseWriter, r *wire.Request) error {
	_, b, err := h.findBatch(r)
	if err != nil {
		return err
	}
	return h.list(w, r, b.ID)
}
