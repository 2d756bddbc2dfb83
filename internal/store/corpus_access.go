package store

import (
	"database/sql"
	"encoding/json"
	"maps"
	"slices"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// putAccess replaces the access lists that files state for documents, for many with the same list at once. If a document occurs
// twice, its last list counts.
func (a applier) putAccess(all []retrieval.Access) error {
	last := map[string]access.List{} // by document
	for _, one := range all {
		last[one.ID] = one.List
	}
	lists, ids := map[string]access.List{}, map[string][]string{} // by the list as text
	for _, id := range slices.Sorted(maps.Keys(last)) {
		text, err := json.Marshal(last[id])
		if err != nil {
			return err
		}
		lists[string(text)], ids[string(text)] = last[id], append(ids[string(text)], id)
	}
	for _, text := range slices.Sorted(maps.Keys(ids)) {
		for part := range slices.Chunk(ids[text], accessBatch) {
			if err := a.putList(lists[text], part); err != nil {
				return err
			}
		}
	}
	return nil
}

// putList gives documents a list. If a rule decides over a document, the list counts only after that rule is dropped.
func (a applier) putList(l access.List, ids []string) error {
	args := []any{a.namespace}
	for _, id := range ids {
		args = append(args, id)
	}
	rows, err := a.tx.QueryContext(a.ctx, "SELECT revision, ruled_by FROM documents WHERE namespace = ? AND id IN ("+placeholders(len(ids))+")", args...)
	var free, ruled []any // revisions
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var revision int64
		var ruledBy string
		if err := r.Scan(&revision, &ruledBy); err != nil {
			return err
		}
		if ruledBy == "" {
			free = append(free, revision)
		} else {
			ruled = append(ruled, revision)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := a.replaceList("document_access", l, free); err != nil {
		return err
	}
	if err := a.replaceList("document_said", l, ruled); err != nil || len(free) == 0 {
		return err
	}
	_, err = a.exec("UPDATE documents SET restricted = ? WHERE revision IN ("+placeholders(len(free))+")", append([]any{flag(l.Restricted())}, free...)...)
	return err
}

// replaceList gives revisions a list in a table. It inserts the names for the first revision, and copies them to the others.
func (a applier) replaceList(table string, l access.List, revisions []any) error {
	if len(revisions) == 0 {
		return nil
	}
	if _, err := a.exec("DELETE FROM "+table+" WHERE revision IN ("+placeholders(len(revisions))+")", revisions...); err != nil {
		return err
	}
	err := eachName(l, func(kind int, value string, position int) error {
		_, err := a.exec("INSERT INTO "+table+" (revision, kind, value, position) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", revisions[0], kind, value, position)
		return err
	})
	if err != nil || len(revisions) == 1 {
		return err
	}
	_, err = a.exec("INSERT INTO "+table+" (revision, kind, value, position) SELECT d.revision, a.kind, a.value, a.position FROM "+table+
		" a CROSS JOIN documents d WHERE a.revision = ? AND d.revision IN ("+placeholders(len(revisions)-1)+")", revisions...)
	return err
}
