package store

import (
	"context"
	"database/sql"
	"fmt"

	"parley/internal/retrieval"
)

// SwitchAside replaces documents with their rebuilt versions in one durable transaction. It moves
// rows of documents and segments between namespaces; pages, chunks and bytes stay where they are.
func (c *Corpus) SwitchAside(ctx context.Context, s retrieval.Switch) (done retrieval.Applied, switched int, err error) {
	err = c.db.update(ctx, "switch the documents of "+s.Namespace, func(tx *sql.Tx) error {
		a := applier{ctx: context.WithoutCancel(ctx), tx: tx, namespace: s.Namespace}
		if done.Gone, switched, err = a.switchDocuments(s); err != nil {
			return err
		}
		if err := a.switchSegments(s.Namespace); err != nil {
			return err
		}
		if done.Segments, err = a.addSegments(s.AddSegments); err != nil {
			return err
		}
		if err := a.switchVectors(s.Namespace); err != nil {
			return err
		}
		if _, err := a.applyRules(nil); err != nil {
			return err
		}
		done.Version, err = advance(a.ctx, tx, "version", 1)
		done.Before = done.Version - 1
		return err
	})
	if err != nil {
		return retrieval.Applied{}, 0, err
	}
	return done, switched, nil
}

// switchDocuments moves the rows of documents. An AsideID is a revision, "/" and an id.
func (a applier) switchDocuments(s retrieval.Switch) (gone []int64, switched int, err error) {
	aside, replaced := retrieval.Aside(s.Namespace), retrieval.Replaced(s.Namespace)
	if err := a.keepAccess(s.Namespace); err != nil {
		return nil, 0, fmt.Errorf("keep the rights to documents: %w", err)
	}
	// Names and ids must be unique among the replaced documents, too.
	rows, err := a.tx.QueryContext(a.ctx, `UPDATE documents SET namespace = ?1,
			id = 'old/' || revision || '/' || id, name = 'old/' || revision
		WHERE namespace = ?2 AND EXISTS (SELECT 1 FROM documents n
			WHERE n.namespace = ?3 AND n.id = documents.revision || '/' || documents.id)
		RETURNING revision`, replaced, s.Namespace, aside)
	if gone, err = column[int64](rows, err); err != nil {
		return nil, 0, fmt.Errorf("replace documents: %w", err)
	}
	_, err = a.exec(`UPDATE documents SET namespace = ?1, id = 'new/' || id, name = 'new/' || revision
		WHERE namespace = ?2 AND NOT EXISTS (SELECT 1 FROM documents o
			WHERE o.namespace = ?1 AND o.id = 'old/' || documents.id)`, replaced, aside)
	if err != nil {
		return nil, 0, fmt.Errorf("drop documents that have changed in the meantime: %w", err)
	}
	// The part of a generation after + says that pages wait to be read, or what read them. The next ingestion needs it.
	_, err = a.exec(`UPDATE files SET detail = made.notes,
			generation = ? || CASE WHEN instr(generation, '+') > 0 THEN substr(generation, instr(generation, '+')) ELSE '' END
		FROM (SELECT substr(id, instr(id, '/') + 1) AS document, notes FROM documents WHERE namespace = ?) made
		WHERE files.document_id = made.document AND files.document_id <> ''
		AND CASE files.put_in WHEN '' THEN files.namespace ELSE files.put_in END = ?`,
		s.Generation, aside, s.Namespace)
	if err != nil {
		return nil, 0, fmt.Errorf("mark files: %w", err)
	}
	n, err := a.exec(`UPDATE documents SET namespace = ?, id = substr(id, instr(id, '/') + 1) WHERE namespace = ?`,
		s.Namespace, aside)
	if err != nil {
		return nil, 0, fmt.Errorf("put documents in their places: %w", err)
	}
	return gone, int(n), nil
}

// keepAccess gives rebuilt documents the access lists of the old ones, as files state them: the lists may have changed during the rebuild.
func (a applier) keepAccess(namespace string) error {
	const remade = "documents d JOIN documents n ON n.namespace = ?1 AND n.id = d.revision || '/' || d.id "
	for _, query := range []string{
		"DELETE FROM document_access WHERE revision IN (SELECT n.revision FROM " + remade + "WHERE d.namespace = ?2)",
		"INSERT INTO document_access (revision, kind, value, position) SELECT n.revision, a.kind, a.value, a.position FROM " + remade +
			"JOIN document_access a ON a.revision = d.revision WHERE d.namespace = ?2 AND d.ruled_by = ''",
		"INSERT INTO document_access (revision, kind, value, position) SELECT n.revision, a.kind, a.value, a.position FROM " + remade +
			"JOIN document_said a ON a.revision = d.revision WHERE d.namespace = ?2 AND d.ruled_by <> ''",
	} {
		if _, err := a.exec(query, retrieval.Aside(namespace), namespace); err != nil {
			return err
		}
	}
	_, err := a.exec(`UPDATE documents SET restricted = CASE WHEN EXISTS (SELECT 1 FROM document_access a WHERE a.revision = documents.revision)
		THEN 1 ELSE 0 END WHERE namespace = ?`, retrieval.Aside(namespace))
	return err
}

func (a applier) switchSegments(namespace string) error {
	const query = "UPDATE segments SET namespace = ? WHERE namespace = ?"
	if _, err := a.exec(query, retrieval.Replaced(namespace), namespace); err != nil {
		return fmt.Errorf("replace segments: %w", err)
	}
	if _, err := a.exec(query, namespace, retrieval.Aside(namespace)); err != nil {
		return fmt.Errorf("put segments in their places: %w", err)
	}
	return nil
}

// switchVectors moves the existing links of rebuilt chunks to vectors into the namespace, as new links.
func (a applier) switchVectors(namespace string) error {
	version, err := advance(a.ctx, a.tx, "vectors", 1)
	if err != nil {
		return err
	}
	_, err = a.exec(`UPDATE chunk_vectors SET namespace = ?, version = ?
		WHERE generation IN (SELECT id FROM generations) AND namespace = ?`,
		namespace, version, retrieval.Aside(namespace))
	if err != nil {
		return fmt.Errorf("switch links of vectors: %w", err)
	}
	return nil
}

// SweepReplaced deletes up to limit replaced documents and segments with all their rows.
func (c *Corpus) SweepReplaced(ctx context.Context, limit int) (deleted int, err error) {
	first, end := retrieval.Replaced(""), retrieval.Replaced(retrieval.EndOfNames)
	err = c.db.update(ctx, "delete replaced documents", func(tx *sql.Tx) error {
		a := applier{ctx: context.WithoutCancel(ctx), tx: tx}
		deleted = 0
		for _, query := range []string{
			`DELETE FROM documents WHERE revision IN
				(SELECT revision FROM documents WHERE namespace >= ? AND namespace < ? LIMIT ?)`,
			`DELETE FROM segments WHERE id IN
				(SELECT id FROM segments WHERE namespace >= ? AND namespace < ? LIMIT ?)`,
		} {
			n, err := a.exec(query, first, end, limit-deleted)
			if err != nil {
				return err
			}
			deleted += int(n)
		}
		return nil
	})
	return deleted, err
}
