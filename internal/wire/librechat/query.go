package librechat

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/shelf"
	"parley/internal/wire"
)

// The limits of requests.
const (
	defaultPassages = 4
	maxIDs          = 100     // ids of files in one request
	maxContext      = 8 << 20 // bytes of the response to GET /documents/{id}/context
)

// passage is a piece of a file, in the form of a LangChain document.
type passage struct {
	ID       *string  `json:"id"` // always null
	Metadata metadata `json:"metadata"`
	Content  string   `json:"page_content"`
	Type     string   `json:"type"`
}

// metadata describes where a passage is from.
type metadata struct {
	FileID string `json:"file_id"`
	UserID string `json:"user_id"`
	Source string `json:"source"`         // name of the file
	Page   int    `json:"page,omitempty"` // from 1; absent if the format has no pages
}

// place is a file that a caller may search, and the store that it is in.
type place struct {
	file   library.File
	store  library.Store
	userID string
}

func (p place) passage(text string, page int) passage {
	return passage{Content: text, Type: "Document", Metadata: metadata{FileID: p.file.ID, UserID: p.userID, Source: p.file.Name, Page: page}}
}

// find returns a file of the caller, or one that its owner has shared with the entity. entity may be "".
func (h *Handler) find(ctx context.Context, who access.Principal, id, entity string) (place, error) {
	owner, userID := who.Subject, strings.TrimPrefix(who.Subject, SubjectPrefix)
	f, err := h.cfg.Library.File(ctx, owner, id)
	if errors.Is(err, library.ErrNotFound) && entity != "" {
		if owner, err = h.cfg.Library.OwnerIn(ctx, entity, id); err == nil {
			f, err = h.cfg.Library.File(ctx, owner, id)
		}
		userID = entity
	}
	if err != nil {
		return place{}, err
	}
	s, err := h.home(ctx, owner)
	return place{f, s, userID}, err
}

// query handles POST /query, which finds passages in one file.
func (h *Handler) query(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	in, err := queryOf(object)
	if err != nil {
		return err
	}
	file, ok := in.File.Text()
	if !ok || file == "" {
		return wire.Invalidf(`"file_id" must be a string that is not empty.`)
	}
	entity, _ := in.Entity.Text()
	at, err := h.find(r.Context(), r.Who, file, entity)
	if errors.Is(err, library.ErrNotFound) {
		return wire.WriteJSON(w, http.StatusOK, []byte("[]")) // as rag_api does
	}
	if err != nil {
		return err
	}
	found, err := h.search(r.Context(), []place{at}, in)
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, found)
}

// queryMultiple handles POST /query_multiple, which finds passages in several files of the caller.
func (h *Handler) queryMultiple(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	in, err := queryOf(object)
	if err != nil {
		return err
	}
	files, err := idsOf(in.Files, "file_ids")
	if err != nil {
		return err
	}
	var all []place
	for _, id := range files {
		at, err := h.find(r.Context(), r.Who, id, "")
		if errors.Is(err, library.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, at)
	}
	found, err := h.search(r.Context(), all, in)
	if err == nil && len(found) == 0 {
		err = &chat.Error{Kind: chat.NotFound, Msg: "No documents found for the given query"}
	}
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, found)
}

// question is the decoded body of a query.
type question struct {
	text  string
	limit int // number of passages

	File, Files, Entity wire.Value // members whose meaning depends on the route
}

func queryOf(object wire.Object) (in question, err error) {
	var body struct {
		Query  wire.Value `json:"query"`
		File   wire.Value `json:"file_id"`
		Files  wire.Value `json:"file_ids"`
		K      wire.Value `json:"k"`
		Entity wire.Value `json:"entity_id"`
	}
	object.Read(&body)
	in = question{File: body.File, Files: body.Files, Entity: body.Entity, limit: defaultPassages}
	var ok bool
	in.text, ok = body.Query.Text()
	if in.text = strings.TrimSpace(in.text); !ok || in.text == "" {
		return in, wire.Invalidf(`"query" must be a string that is not empty.`)
	}
	if err := chat.CheckQuestion(in.text); err != nil {
		return in, err
	}
	if body.K.IsGiven() {
		n, ok := body.K.Number()
		if !ok || n < 1 || n != float64(int64(n)) {
			return in, wire.Invalidf(`"k" must be a whole number of at least 1.`)
		}
		in.limit = int(min(n, chat.MaxTop))
	}
	return in, nil
}

// idsOf reads a list of ids of files.
func idsOf(v wire.Value, name string) (all []string, err error) {
	elements, ok := v.Elements()
	if _, few := wire.AtMost(maxIDs, elements); !ok || !few {
		return nil, wire.Invalidf("%q must be a list of at most %d ids of files.", name, maxIDs)
	}
	for v := range elements {
		id, ok := v.Text()
		if !ok {
			return nil, wire.Invalidf("%q must be a list of at most %d ids of files.", name, maxIDs)
		}
		all = append(all, id)
	}
	return all, nil
}

// search returns pairs of a passage and its distance from the question, the nearest first. All places must be in
// the same store.
func (h *Handler) search(ctx context.Context, all []place, in question) ([][2]any, error) {
	pairs := [][2]any{}
	if len(all) == 0 {
		return pairs, nil
	}
	s, byID, files := all[0].store, map[string]place{}, []string{}
	for _, at := range all {
		byID[at.file.ID] = at
		files = append(files, at.file.ID)
	}
	within, err := h.cfg.Library.WithinFiles(ctx, s, files)
	if errors.Is(err, library.ErrNotFound) {
		return pairs, nil // the files are no longer in the store
	}
	if err != nil {
		return nil, err
	}
	found, err := h.cfg.Search(ctx, retrieval.Query{
		Filter: retrieval.Filter{Principal: access.Principal{Subject: s.Owner}, Namespace: s.ID, Within: within},
		Text:   in.text, Mode: h.cfg.Mode, Limit: in.limit, Captions: true,
	})
	if err != nil {
		return nil, err
	}
	finder, err := h.cfg.Library.Finder(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, p := range found.Passages {
		m, err := finder.Find(ctx, p.Document.ID)
		if errors.Is(err, library.ErrNotFound) || len(p.Chunk.Spans) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]any{byID[m.File].passage(p.Chunk.Text, p.BestPage()), 1 - p.Score})
	}
	return pairs, nil
}

// ids handles GET /ids, which lists the ids of the caller's files.
func (h *Handler) ids(w http.ResponseWriter, r *wire.Request) error {
	s, err := h.home(r.Context(), r.Who.Subject)
	if err != nil {
		return err
	}
	members, err := h.cfg.Library.Members(r.Context(), s, shelf.List{Oldest: true})
	if err != nil {
		return err
	}
	all := make([]string, len(members))
	for i, m := range members {
		all[i] = m.File
	}
	return wire.Reply(w, http.StatusOK, all)
}

// documents handles GET /documents?ids=…&ids=…, which returns all passages of files.
func (h *Handler) documents(w http.ResponseWriter, r *wire.Request) error {
	given := r.URL.Query()["ids"]
	if len(given) == 0 || len(given) > maxIDs {
		return wire.Invalidf("The query must have 1 to %d parameters named ids.", maxIDs)
	}
	type piece struct {
		Content  string   `json:"page_content"`
		Metadata metadata `json:"metadata"`
	}
	all := []piece{}
	for _, id := range given {
		err := h.each(r, id, func(at place, revision int64) error {
			chunks, err := h.cfg.Chunks(r.Context(), revision)
			for _, c := range chunks {
				if len(c.Spans) > 0 {
					p := at.passage(c.Text, c.PageAt(0))
					all = append(all, piece{p.Content, p.Metadata})
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return wire.Reply(w, http.StatusOK, all)
}

// each calls visit with the revisions of the documents that were made from a file of the caller.
func (h *Handler) each(r *wire.Request, id string, visit func(at place, revision int64) error) error {
	at, err := h.find(r.Context(), r.Who, id, "")
	if err != nil {
		return err
	}
	revisions, err := h.cfg.Library.Revisions(r.Context(), at.store, []string{id})
	if err != nil {
		return err
	}
	for _, revision := range revisions {
		if err := visit(at, revision); err != nil {
			return err
		}
	}
	return nil
}

// context handles GET /documents/{id}/context. It returns the text of a file, with a heading for each page.
func (h *Handler) context(w http.ResponseWriter, r *wire.Request) error {
	var all strings.Builder
	full := false
	err := h.each(r, r.PathValue("id"), func(at place, revision int64) error {
		if full {
			return nil
		}
		if all.Len() == 0 {
			all.WriteString(at.file.Name + "\n")
		}
		pages, err := h.cfg.Pages(r.Context(), revision)
		for _, p := range pages {
			if full = all.Len()+len(p.Text) > maxContext; full {
				break // for good: a later page must not follow a gap
			}
			if p.Number > 0 {
				all.WriteString("\n# PAGE " + strconv.Itoa(p.Number) + "\n\n")
			}
			all.WriteString(p.Text)
		}
		return err
	})
	if errors.Is(err, library.ErrNotFound) {
		return &chat.Error{Kind: chat.NotFound, Msg: "The specified file_id was not found"}
	}
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, strings.TrimSpace(all.String()))
}

// remove handles DELETE /documents. The body is a list of ids.
func (h *Handler) remove(w http.ResponseWriter, r *wire.Request) error {
	v, err := wire.ParseValue(r.Body)
	if err != nil {
		return err
	}
	ids, err := idsOf(v, "document_ids")
	if err != nil {
		return err
	}
	missing := false
	var deleted []string
	for _, id := range ids {
		err := h.cfg.Library.DeleteFile(r.Context(), r.Who.Subject, id)
		switch {
		case errors.Is(err, library.ErrNotFound):
			missing = true
		case err != nil:
			return err
		default:
			deleted = append(deleted, id)
			r.Changed = strings.Join(deleted, ", ") // also if a later id fails
		}
	}
	if missing || len(ids) == 0 {
		return errMissing
	}
	what := "file"
	if len(ids) > 1 {
		what = "files"
	}
	return wire.Reply(w, http.StatusOK, map[string]string{
		"message": "Documents for " + strconv.Itoa(len(ids)) + " " + what + " deleted successfully",
	})
}
