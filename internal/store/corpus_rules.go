package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// Rules returns the rules of a namespace, sorted by path and owner.
func (c *Corpus) Rules(ctx context.Context, namespace string) (all []retrieval.Rule, err error) {
	err = c.db.view(ctx, "read rules", func(tx *sql.Tx) error {
		all, err = applier{ctx: ctx, tx: tx, namespace: namespace}.rules()
		return err
	})
	return all, err
}

// RightsOf returns who may see a document, or retrieval.ErrNotFound. It has no filter: it is for those who manage rights.
func (c *Corpus) RightsOf(ctx context.Context, namespace, name string) (r retrieval.Ruled, err error) {
	all, err := c.documents(ctx, "namespace = ? AND name = ?", []any{namespace, name}, byName, 1)
	if err != nil {
		return r, err
	}
	if len(all) == 0 {
		return r, c.db.fail("read rights", retrieval.ErrNotFound)
	}
	r.Document, r.Said = all[0], all[0].Access
	err = c.db.view(ctx, "read rights", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT ruled_by FROM documents WHERE revision = ?", r.Revision).Scan(&r.By)
		if err != nil || r.By == "" {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT kind, value FROM document_said WHERE revision = ? ORDER BY kind, position", r.Revision)
		r.Said, err = scanNames(rows, err)
		return err
	})
	return r, err
}

func scanNames(rows *sql.Rows, err error) (l access.List, _ error) {
	return l, scanAll(rows, err, func(r *sql.Rows) error {
		var kind int
		var value string
		err := r.Scan(&kind, &value)
		l = named(l, kind, value)
		return err
	})
}

// PutRule stores a rule, or replaces the one for its path, and returns how many documents it decides over.
func (c *Corpus) PutRule(ctx context.Context, namespace string, r retrieval.Rule) (done retrieval.Applied, documents int, err error) {
	return c.changeRule(ctx, namespace, r, func(a applier) error {
		if _, err := a.exec("DELETE FROM access_rules WHERE namespace = ? AND path = ? AND owner = ?", namespace, r.Path, r.Owner); err != nil {
			return err
		}
		if _, err := a.exec("INSERT INTO access_rules (namespace, path, owner) VALUES (?, ?, ?)", namespace, r.Path, r.Owner); err != nil {
			return err
		}
		return eachName(r.Access, func(kind int, value string, position int) error {
			_, err := a.exec(`INSERT INTO access_rule_names (namespace, path, owner, kind, value, position) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT DO NOTHING`, namespace, r.Path, r.Owner, kind, value, position)
			return err
		})
	})
}

// DropRule removes a rule, or returns retrieval.ErrNotFound, and returns how many documents it decided over.
func (c *Corpus) DropRule(ctx context.Context, namespace, path, owner string) (done retrieval.Applied, documents int, err error) {
	return c.changeRule(ctx, namespace, retrieval.Rule{Path: path, Owner: owner}, func(a applier) error {
		n, err := a.exec("DELETE FROM access_rules WHERE namespace = ? AND path = ? AND owner = ?", namespace, path, owner)
		if err == nil && n == 0 {
			err = retrieval.ErrNotFound
		}
		return err
	})
}

// changeRule changes one rule, and the rights of all documents that it covers.
func (c *Corpus) changeRule(ctx context.Context, namespace string, r retrieval.Rule, change func(applier) error) (
	done retrieval.Applied, documents int, err error) {
	err = c.db.update(ctx, "change rights in "+namespace, func(tx *sql.Tx) error {
		a := applier{ctx: context.WithoutCancel(ctx), tx: tx, namespace: namespace}
		if err := change(a); err != nil {
			return err
		}
		rules, err := a.rules()
		if err != nil {
			return err
		}
		condition, args := coveredBy(r)
		if documents, _, err = a.settle(rules, r.Path, condition, args...); err != nil {
			return err
		}
		done.Version, err = advance(a.ctx, tx, "version", 1)
		done.Before = done.Version - 1
		return err
	})
	return done, documents, err
}

// coveredBy returns a condition on the documents that a rule may decide over, and its arguments.
func coveredBy(r retrieval.Rule) (condition string, args []any) {
	switch {
	case r.Path == retrieval.WholeNamespace:
		return "owner = ''", nil
	case r.IsFolder():
		after := r.Path[:len(r.Path)-1] + string('/'+1) // sorts after all names in the folder
		return "owner = '' AND name >= ? AND name < ?", []any{r.Path, after}
	}
	return "owner = ? AND name = ?", []any{r.Owner, r.Path}
}

// rules returns the rules of the namespace, sorted by path and owner.
func (a applier) rules() (all []retrieval.Rule, err error) {
	rows, err := a.tx.QueryContext(a.ctx, "SELECT path, owner FROM access_rules WHERE namespace = ? ORDER BY path, owner", a.namespace)
	all, err = scanList(rows, err, func(r *sql.Rows, one *retrieval.Rule) error {
		return r.Scan(&one.Path, &one.Owner)
	})
	for i := range all {
		if err == nil {
			rows, err = a.tx.QueryContext(a.ctx, `SELECT kind, value FROM access_rule_names WHERE namespace = ? AND path = ? AND owner = ?
				ORDER BY kind, position`, a.namespace, all[i].Path, all[i].Owner)
			all[i].Access, err = scanNames(rows, err)
		}
	}
	return all, err
}

// settle gives the documents that meet a condition the rights of their nearest rule, or those of their files. It leaves documents
// alone that already obey the right rule, unless that rule is the changed one. It returns the number of the other documents, and
// by revision the rights of those that now obey a rule.
func (a applier) settle(rules []retrieval.Rule, changed, condition string, args ...any) (n int, ruled map[int64]access.List, err error) {
	type change struct{ from, to string } // paths of rules, "" for the files
	groups := map[change][]int64{}
	owners := map[int64]string{}
	rows, err := a.tx.QueryContext(a.ctx, "SELECT revision, name, owner, ruled_by FROM documents WHERE namespace = ? AND "+condition, append([]any{a.namespace}, args...)...)
	err = scanAll(rows, err, func(r *sql.Rows) error {
		var revision int64
		var name, owner, by string
		if err := r.Scan(&revision, &name, &owner, &by); err != nil {
			return err
		}
		if to := retrieval.NearestRule(rules, name, owner); to != by || to == changed {
			groups[change{by, to}] = append(groups[change{by, to}], revision)
			owners[revision] = owner
		}
		return nil
	})
	ruled = map[int64]access.List{}
	for c, revisions := range groups {
		if err == nil && c.from == "" {
			err = a.remember(revisions)
		}
		if err == nil && c.to == "" {
			err = a.obeyFiles(revisions)
		} else if err == nil {
			rule := ruleOf(rules, c.to, owners[revisions[0]]) // only a rule for a single document may have an owner; its group has one revision
			err = a.obey(rule, revisions)
			for _, revision := range revisions {
				ruled[revision] = rule.Access
			}
		}
		n += len(revisions)
	}
	return n, ruled, err
}

func ruleOf(rules []retrieval.Rule, path, owner string) retrieval.Rule {
	return rules[slices.IndexFunc(rules, func(r retrieval.Rule) bool { return r.Path == path && r.Owner == owner })]
}

// someRevisions is a condition on rows with a revision. Its argument comes from listOf.
const someRevisions = "revision IN (SELECT value FROM json_each(?))"

func listOf(revisions []int64) string {
	text, err := json.Marshal(revisions)
	if err != nil {
		panic("store: numbers are not JSON: " + err.Error())
	}
	return string(text)
}

// remember keeps the rights that files state for documents without a rule.
func (a applier) remember(revisions []int64) error {
	_, err := a.exec("INSERT INTO document_said (revision, kind, value, position) SELECT revision, kind, value, position FROM document_access WHERE "+
		someRevisions, listOf(revisions))
	return err
}

// obey gives documents the rights of a rule.
func (a applier) obey(r retrieval.Rule, revisions []int64) error {
	list := listOf(revisions)
	if _, err := a.exec("DELETE FROM document_access WHERE "+someRevisions, list); err != nil {
		return err
	}
	_, err := a.exec(`INSERT INTO document_access (revision, kind, value, position) SELECT d.revision, n.kind, n.value, n.position
		FROM documents d CROSS JOIN access_rule_names n WHERE d.`+someRevisions+` AND n.namespace = ? AND n.path = ? AND n.owner = ?`,
		list, a.namespace, r.Path, r.Owner)
	if err != nil {
		return err
	}
	return a.mark(r.Path, list)
}

// obeyFiles gives documents the rights that their files state.
func (a applier) obeyFiles(revisions []int64) error {
	list := listOf(revisions)
	for _, query := range []string{
		"DELETE FROM document_access WHERE " + someRevisions,
		"INSERT INTO document_access (revision, kind, value, position) SELECT revision, kind, value, position FROM document_said WHERE " + someRevisions,
		"DELETE FROM document_said WHERE " + someRevisions,
	} {
		if _, err := a.exec(query, list); err != nil {
			return err
		}
	}
	return a.mark("", list)
}

func (a applier) mark(rule, list string) error {
	_, err := a.exec(`UPDATE documents SET ruled_by = ?, restricted =
		CASE WHEN EXISTS (SELECT 1 FROM document_access a WHERE a.revision = documents.revision) THEN 1 ELSE 0 END WHERE `+someRevisions, rule, list)
	if err != nil {
		return fmt.Errorf("mark documents: %w", err)
	}
	return nil
}

// applyRules gives new documents, or all if put is nil, the rights that the rules of the namespace state. It returns the
// rights of new documents by revision.
func (a applier) applyRules(put []retrieval.Put) (map[int64]access.List, error) {
	rules, err := a.rules()
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	if put == nil {
		_, _, err := a.settle(rules, "", "1 = 1")
		return nil, err
	}
	revisions := make([]int64, len(put))
	for i, p := range put {
		revisions[i] = p.Document.Revision
	}
	_, ruled, err := a.settle(rules, "", someRevisions, listOf(revisions))
	return ruled, err
}

// dropRuleOf removes the rule of a document that is deleted, unless nobody owns it: files come back, uploads do not.
func (a applier) dropRuleOf(id string) error {
	_, err := a.exec(`DELETE FROM access_rules WHERE namespace = ?1 AND owner <> '' AND
		EXISTS (SELECT 1 FROM documents d WHERE d.id = ?2 AND d.namespace = ?1 AND d.name = access_rules.path AND d.owner = access_rules.owner)`, a.namespace, id)
	if err != nil {
		return fmt.Errorf("drop the rule of document %s: %w", id, err)
	}
	return nil
}
