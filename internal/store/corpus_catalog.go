package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"parley/internal/attribute"
	"parley/internal/retrieval"
)

// DocumentByID returns the current revision of a document that the filter admits.
func (c *Corpus) DocumentByID(ctx context.Context, f retrieval.Filter, id string) (retrieval.Document, error) {
	condition, args := visible(f)
	all, err := c.documents(ctx, "id = ? AND "+condition, append([]any{id}, args...), byName, 1)
	return c.only(all, err)
}

// only returns the only document of a list.
func (c *Corpus) only(all []retrieval.Document, err error) (retrieval.Document, error) {
	if err != nil {
		return retrieval.Document{}, err
	}
	if len(all) == 0 {
		return retrieval.Document{}, c.db.fail("read document", retrieval.ErrNotFound)
	}
	return all[0], nil
}

// FindDocuments returns up to limit documents whose name or title contains text and whose name
// sorts after the given one, sorted by name, and the number of all documents that contain text.
func (c *Corpus) FindDocuments(ctx context.Context, f retrieval.Filter, text, after string, limit int) (
	found []retrieval.Document, total int, err error) {
	condition, args := containing(f, text)
	if f.Where != nil {
		return c.findMeeting(ctx, f.Where, condition, args, after, limit)
	}
	err = c.db.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM documents WHERE "+condition, args...).Scan(&total)
	if err != nil {
		return nil, 0, c.db.fail("count documents", err)
	}
	found, err = c.documents(ctx, condition+" AND name > ?", append(args, after), byName, limit)
	return found, total, err
}

// findMeeting is FindDocuments for documents whose attributes meet a condition. It reads the attributes of all documents, because
// total counts them all.
func (c *Corpus) findMeeting(ctx context.Context, where *attribute.Condition, condition string, args []any, after string, limit int) (
	found []retrieval.Document, total int, err error) {
	err = c.db.view(ctx, "find documents", func(tx *sql.Tx) (err error) {
		total = 0
		page := []int64{}
		rows, err := tx.QueryContext(ctx, describedDocuments+condition+byName, args...)
		err = scanDescribed(rows, err, func(d retrieval.Document) {
			if !where.Holds(d.AllAttributes().Prepared()) {
				return
			}
			if total++; d.Name > after && len(page) < limit {
				page = append(page, d.Revision)
			}
		})
		if err == nil {
			found, err = documentsIn(ctx, tx, amongRevisions, []any{revisionList(page)}, byName, limit)
		}
		return err
	})
	return found, total, err
}

// EachFound calls f with every document that FindDocuments would list, sorted by name. The documents have only their namespace, their
// revision and the fields that AllAttributes needs.
func (c *Corpus) EachFound(ctx context.Context, filter retrieval.Filter, text string, f func(retrieval.Document)) error {
	condition, args := containing(filter, text)
	rows, err := c.db.read.QueryContext(ctx, describedDocuments+condition+byName, args...)
	err = scanDescribed(rows, err, func(d retrieval.Document) {
		if filter.Where == nil || filter.Where.Holds(d.AllAttributes().Prepared()) {
			d.Namespace = filter.Namespace
			f(d)
		}
	})
	return c.db.fail("read attributes", err)
}

// containing returns a condition on rows of documents, and its arguments. It selects documents that the filter admits, ignoring its
// Where, and whose name or title contains text.
func containing(f retrieval.Filter, text string) (condition string, args []any) {
	condition, args = visible(f)
	if text != "" {
		pattern := "%" + likeEscapes.Replace(strings.ToLower(text)) + "%"
		condition += ` AND (LOWER(name) LIKE ? ESCAPE '\' OR LOWER(title) LIKE ? ESCAPE '\')`
		args = append(args, pattern, pattern)
	}
	return condition, args
}

// likeEscapes escapes the wildcards of LIKE in the text of a user.
var likeEscapes = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// EmbeddedChunks counts the chunks of each revision that have a vector in the newest generation.
// The map omits revisions without any.
func (c *Corpus) EmbeddedChunks(ctx context.Context, revisions []int64) (map[int64]int, error) {
	if len(revisions) == 0 {
		return map[int64]int{}, nil
	}
	args := []any{string(retrieval.Retired)}
	for _, r := range revisions {
		args = append(args, r)
	}
	rows, err := c.db.read.QueryContext(ctx, `SELECT revision, COUNT(*) FROM chunk_vectors
		WHERE generation = (SELECT MAX(id) FROM generations WHERE state <> ?)
		AND revision IN (`+placeholders(len(revisions))+`) GROUP BY revision`, args...)
	counts, err := pairs[int64, int](rows, err)
	return counts, c.db.fail("count vectors", err)
}

// Page returns a page of a revision by number, and the revision's highest page number. A missing
// revision or page is ErrNotFound.
func (c *Corpus) Page(ctx context.Context, revision int64, number int) (p retrieval.Page, last int, err error) {
	err = c.db.view(ctx, "read page", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), -1) FROM pages WHERE revision = ?", revision).Scan(&last)
		if err != nil {
			return err
		}
		p.Number = number
		err = tx.QueryRowContext(ctx, "SELECT body, char_map FROM pages WHERE revision = ? AND number = ? ORDER BY position LIMIT 1",
			revision, number).Scan(&p.Text, &p.Map)
		if errors.Is(err, sql.ErrNoRows) {
			return retrieval.ErrNotFound
		}
		return err
	})
	return p, last, err
}
