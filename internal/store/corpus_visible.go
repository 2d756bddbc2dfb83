package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"parley/internal/retrieval"
)

// visible returns a condition on rows of documents, and its arguments, equivalent to
// retrieval.Filter.MaySee within the filter's namespace and revisions.
func visible(f retrieval.Filter) (condition string, args []any) {
	if !f.Principal.MayUse(f.Namespace) {
		return "namespace = ? AND 1 = 0", []any{f.Namespace}
	}
	conditions := []string{"namespace = ?"}
	args = []any{f.Namespace}
	if f.IncludeCategory != "" {
		conditions = append(conditions, "category = ?")
		args = append(args, f.IncludeCategory)
	}
	if f.ExcludeCategory != "" {
		conditions = append(conditions, "category <> ?")
		args = append(args, f.ExcludeCategory)
	}
	if f.Within != nil {
		conditions = append(conditions, amongRevisions)
		args = append(args, revisionList(f.Within.IDs()))
	}
	required := f.RequireUser || f.RequireGroup
	var allowed []string // any one of them admits the caller
	if !required {
		allowed = append(allowed, "restricted = 0")
	}
	if f.Principal.Subject != "" && !required {
		allowed = append(allowed, listed+"kind = 2)")
	}
	if f.Principal.Subject != "" && (f.RequireUser || !required) {
		allowed = append(allowed, listed+"kind = 0 AND value = ?)")
		args = append(args, f.Principal.Subject)
	}
	if n := len(f.Principal.Groups); n > 0 && (f.RequireGroup || !required) {
		allowed = append(allowed, listed+"kind = 1 AND value IN ("+placeholders(n)+"))")
		for _, g := range f.Principal.Groups {
			args = append(args, g)
		}
	}
	if len(allowed) == 0 {
		allowed = []string{"1 = 0"}
	}
	conditions = append(conditions, "("+strings.Join(allowed, " OR ")+")")
	return strings.Join(conditions, " AND "), args
}

// amongRevisions is a condition whose argument is a revisionList.
const amongRevisions = "revision IN (SELECT value FROM json_each(?))"

func revisionList(ids []int64) string {
	list, err := json.Marshal(ids)
	if err != nil {
		panic("store: numbers are not JSON: " + err.Error())
	}
	return string(list)
}

// EachDocument calls f with the attributes of documents of a namespace.
func (c *Corpus) EachDocument(ctx context.Context, namespace string, revisions []int64, f func(retrieval.Document)) error {
	query, args := describedDocuments+"namespace = ?", []any{namespace}
	if revisions != nil {
		query, args = query+" AND "+amongRevisions, append(args, revisionList(revisions))
	}
	rows, err := c.db.read.QueryContext(ctx, query, args...)
	err = scanDescribed(rows, err, func(d retrieval.Document) {
		d.Namespace = namespace
		f(d)
	})
	return c.db.fail("read attributes", err)
}

// describedDocuments is the beginning of a query for scanDescribed.
const describedDocuments = "SELECT revision, name, title, url, category, media_type, indexed_at, attributes FROM documents WHERE "

// scanDescribed calls f with the documents of describedDocuments, which have the fields that AllAttributes needs.
func scanDescribed(rows *sql.Rows, err error, f func(retrieval.Document)) error {
	return scanAll(rows, err, func(r *sql.Rows) error {
		var d retrieval.Document
		var indexedAt int64
		var attributes sql.RawBytes
		if err := r.Scan(&d.Revision, &d.Name, &d.Title, &d.URL, &d.Category, &d.MediaType, &indexedAt, &attributes); err != nil {
			return err
		}
		d.IndexedAt, d.Attributes = fromMicros(indexedAt), bytes.Clone(attributes)
		f(d)
		return nil
	})
}

// listed begins the condition that the access list of a restricted document has certain rows.
// SQLite evaluates it for restricted documents only.
const listed = "restricted = 1 AND EXISTS (SELECT 1 FROM document_access a " +
	"WHERE a.revision = documents.revision AND "

// Document returns the current revision of a document that the filter admits.
func (c *Corpus) Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error) {
	condition, args := visible(f)
	all, err := c.documents(ctx, condition+" AND name = ?", append(args, name), byName, 1)
	return c.only(all, err)
}

// Documents returns up to limit documents whose names sort after the given one, sorted by name.
func (c *Corpus) Documents(ctx context.Context, f retrieval.Filter, after string, limit int) (
	[]retrieval.Document, error) {
	condition, args := visible(f)
	return c.documents(ctx, condition+" AND name > ?", append(args, after), byName, limit)
}

// DocumentsByAge returns documents that the filter admits, in the order of their ids, which is that of their first indexing.
// The ends of the list need not exist.
func (c *Corpus) DocumentsByAge(ctx context.Context, f retrieval.Filter, l retrieval.ByAge) ([]retrieval.Document, error) {
	condition, args := visible(f)
	behind, before, order := " AND id < ?", " AND id > ?", " ORDER BY id DESC"
	if l.Oldest {
		behind, before, order = before, behind, " ORDER BY id"
	}
	if l.After != "" {
		condition, args = condition+behind, append(args, l.After)
	}
	if l.Before != "" {
		condition, args = condition+before, append(args, l.Before)
	}
	return c.documents(ctx, condition, args, order, l.Limit)
}

// AllDocuments is Documents without a filter, for maintenance.
func (c *Corpus) AllDocuments(ctx context.Context, namespace, after string, limit int) (
	[]retrieval.Document, error) {
	return c.documents(ctx, "namespace = ? AND name > ?", []any{namespace, after}, byName, limit)
}

const byName = " ORDER BY name"

// documents returns up to limit documents that match a condition.
func (c *Corpus) documents(ctx context.Context, condition string, args []any, order string, limit int) (
	all []retrieval.Document, err error) {
	err = c.db.view(ctx, "read documents", func(tx *sql.Tx) (err error) {
		all, err = documentsIn(ctx, tx, condition, args, order, limit)
		return err
	})
	return all, err
}

// documentsIn is documents within one transaction.
func documentsIn(ctx context.Context, tx *sql.Tx, condition string, args []any, order string, limit int) (
	all []retrieval.Document, err error) {
	var restricted []int
	rows, err := tx.QueryContext(ctx, "SELECT "+documentColumns+" FROM documents WHERE "+condition+
		order+" LIMIT ?", append(args, limit)...)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		d, hasAccess, err := scanDocument(r)
		if hasAccess {
			restricted = append(restricted, len(all))
		}
		all = append(all, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	lists := make([]*retrieval.Document, len(restricted))
	for i, at := range restricted {
		lists[i] = &all[at]
	}
	return all, readAccess(ctx, tx, lists)
}
