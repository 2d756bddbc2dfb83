package chat

import (
	"cmp"
	"context"
	"path"
	"strconv"
	"strings"

	"parley/internal/retrieval"
)

// Place is one of several places that a turn searches.
type Place struct {
	Namespace string
	Within    *retrieval.Revisions // only these documents; nil means all of the namespace
	Given     *retrieval.Given     // documents of the request itself; if set, the other fields are not
}

// lookUp searches the places of the request, and returns the best passages of all of them.
func (t *turn) lookUp(ctx context.Context, q retrieval.Query) (retrieval.Result, error) {
	if len(t.req.Places) == 0 {
		return t.cfg.Retriever.Search(ctx, q)
	}
	all := make([]retrieval.Result, len(t.req.Places))
	for i, p := range t.req.Places {
		var err error
		if p.Given != nil {
			all[i], err = p.Given.Search(ctx, q)
		} else {
			q.Namespace, q.Within = p.Namespace, p.Within
			all[i], err = t.cfg.Retriever.Search(ctx, q)
		}
		if err != nil {
			return retrieval.Result{}, err
		}
	}
	found := retrieval.Merge(all, q.Limit)
	tellApart(found.Passages)
	return found, nil
}

// tellApart gives documents with the same name different names in citations. Names are unique within a
// namespace, but not across places.
func tellApart(passages []retrieval.Passage) {
	owners := map[string]string{} // ids of documents, by name in citations
	for i := range passages {
		owners[passages[i].Document.Name] = cmp.Or(owners[passages[i].Document.Name], passages[i].Document.ID)
	}
	aliases := map[string]string{} // by id
	for i := range passages {
		d := &passages[i].Document
		if owners[d.Name] == d.ID {
			continue
		}
		alias := aliases[d.ID]
		for n := 2; alias == ""; n++ {
			ext := path.Ext(d.Name)
			name := strings.TrimSuffix(d.Name, ext) + " (" + strconv.Itoa(n) + ")" + ext
			if owners[name] == "" {
				alias, owners[name], aliases[d.ID] = name, d.ID, name
			}
		}
		d.Alias = alias
	}
}

// namespaces returns the namespaces that the turn searches. There may be none.
func (t *turn) namespaces() []string {
	if len(t.req.Places) == 0 {
		return []string{t.req.Namespace}
	}
	var all []string
	for _, p := range t.req.Places {
		if p.Given == nil {
			all = append(all, p.Namespace)
		}
	}
	return all
}

// reads returns the progress report of the first namespace whose documents are still being read, or "".
func (t *turn) reads() string {
	for _, namespace := range t.namespaces() {
		if reading := t.cfg.Coverage.Reading(namespace); reading != "" {
			return reading
		}
	}
	return ""
}
