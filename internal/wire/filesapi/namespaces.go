package filesapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strings"

	"parley/internal/attribute"
	"parley/internal/ident"
	"parley/internal/library"
	"parley/internal/retrieval"
	"parley/internal/shelf"
	"parley/internal/wire"
	"parley/internal/wire/openai"
)

// A namespace that is not a vector store is presented as one. Its files are the documents that the caller may see; their ids
// are those of the documents.

// namespace returns the filter for the documents of the namespace in the path of a request.
func (h *Handler) namespace(r *wire.Request) (f retrieval.Filter, err error) {
	id := r.PathValue("id")
	ok, err := h.catalog.Has(r.Context(), r.Who, id)
	if err == nil && !ok {
		err = library.ErrNotFound
	}
	return retrieval.Filter{Principal: r.Who, Namespace: id}, err
}

// replyNamespace replies with the number and size of the documents.
func (h *Handler) replyNamespace(w http.ResponseWriter, r *wire.Request) error {
	f, err := h.namespace(r)
	if err != nil {
		return err
	}
	stats, err := h.cfg.Corpus.VisibleStats(r.Context(), f)
	if err != nil {
		return err
	}
	since := h.since.Unix()
	return wire.Reply(w, http.StatusOK, storeBody{
		ID: f.Namespace, Object: "vector_store", CreatedAt: since, Name: f.Namespace, LastActiveAt: since, Metadata: objectOrEmpty(nil),
		UsageBytes: stats.Bytes, FileCounts: counts{Completed: stats.Documents, Total: stats.Documents}, Status: library.Completed,
	})
}

// documents replies with a page of the documents, whose status is always completed.
func (h *Handler) documents(w http.ResponseWriter, r *wire.Request, l shelf.List) error {
	f, err := h.namespace(r)
	if err != nil {
		return err
	}
	for _, id := range []string{l.After, l.Before} {
		if id == "" {
			continue
		}
		if _, err := h.document(r, f, id); err != nil {
			return badCursor(err)
		}
	}
	var all []retrieval.Document
	if l.State == "" || l.State == library.Completed {
		all, err = h.cfg.Corpus.DocumentsByAge(r.Context(), f, retrieval.ByAge{Oldest: l.Oldest, After: l.After, Before: l.Before, Limit: l.Limit})
		if err != nil {
			return err
		}
	}
	return reply(w, l, all, documentBodyOf, func(b memberBody) string { return b.ID })
}

// document returns a document of a namespace.
func (h *Handler) document(r *wire.Request, f retrieval.Filter, id string) (retrieval.Document, error) {
	d, err := h.cfg.Corpus.DocumentByID(r.Context(), f, id)
	if errors.Is(err, retrieval.ErrNotFound) {
		err = library.ErrNotFound
	}
	return d, err
}

func documentBodyOf(d retrieval.Document) memberBody {
	created, ok := ident.Time(d.ID)
	if !ok {
		created = d.IndexedAt
	}
	return memberBody{
		ID: d.ID, Object: "vector_store.file", UsageBytes: d.Size, CreatedAt: created.Unix(), StoreID: d.Namespace, Status: library.Completed,
		Chunking: otherChunking, Attributes: objectOrEmpty(plainAttributes(d)), Filename: path.Base(d.Name),
	}
}

// plainAttributes returns the attributes of a document in the form of OpenAI's API, which has no lists: a list becomes one
// string, with commas between the values.
func plainAttributes(d retrieval.Document) json.RawMessage {
	all := attribute.Decode(d.Attributes)
	for key, value := range all {
		list, ok := value.([]any)
		if !ok {
			continue
		}
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i] = attribute.Written(v)
		}
		joined := []rune(strings.Join(texts, ", "))
		all[key] = string(joined[:min(len(joined), maxValueRunes)])
	}
	return all.Encode()
}

// notStore replaces a not-found error if the path names a namespace and, if it names a file, a document in that: both can be
// read here, but not changed. A namespace has no batches.
func (h *Handler) notStore(r *wire.Request, missing error) error {
	id, file := r.PathValue("id"), r.PathValue("file")
	if library.IsStore(id) || r.PathValue("batch") != "" {
		return missing
	}
	_, err := h.namespace(r)
	if err == nil && file != "" {
		_, err = h.documentIn(r)
	}
	if err != nil {
		return err
	}
	return openai.Refusef("vector_store_id", openai.Invalid, "%s is a namespace, not a vector store, and cannot be changed here. "+
		"Its documents change with the files and pages they were read from; DELETE /delete/{URL} removes a page, POST /delete_uploaded an uploaded file.", quoted(id))
}

// documentIn returns the document that the path of a request names.
func (h *Handler) documentIn(r *wire.Request) (retrieval.Document, error) {
	f, err := h.namespace(r)
	if err != nil {
		return retrieval.Document{}, err
	}
	return h.document(r, f, r.PathValue("file"))
}
