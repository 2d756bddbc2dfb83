package retrieval

import (
	"context"
	"strings"

	"parley/internal/access"
)

// Rule says who may see a document, or the documents in a folder, regardless of their files. Of several rules the nearest
// counts: that of the document, or of the innermost folder. Rules of folders apply only to documents without an owner.
type Rule struct {
	Path   string // name of the document; or the folder, with a slash at its end: WholeNamespace is one
	Owner  string // of the document; "" for a folder
	Access access.List
}

// WholeNamespace is the path of a rule for all documents of a namespace.
const WholeNamespace = "/"

// IsFolder reports whether the rule applies to a folder.
func (r Rule) IsFolder() bool { return strings.HasSuffix(r.Path, "/") }

// Covers reports whether the rule applies to a document if no nearer rule does.
func (r Rule) Covers(name, owner string) bool {
	if r.IsFolder() {
		return owner == "" && (r.Path == WholeNamespace || strings.HasPrefix(name, r.Path))
	}
	return r.Path == name && r.Owner == owner
}

// NearestRule returns the path of the rule that decides over a document, "" for none.
func NearestRule(rules []Rule, name, owner string) (path string) {
	for _, r := range rules {
		if r.Covers(name, owner) && (path == "" || path == WholeNamespace || len(r.Path) > len(path) && r.Path != WholeNamespace) {
			path = r.Path
		}
	}
	return path
}

// Ruled says who may see a document, and why.
type Ruled struct {
	Document             // its Access is the one in force
	By       string      // path of the rule that decides; "" if the files do
	Said     access.List // what the files say
}

// PutRule stores a rule, or replaces the one for its path. It returns how many documents it decides over. All searches that
// begin afterwards obey it.
func (c *Corpus) PutRule(ctx context.Context, namespace string, r Rule) (documents int, err error) {
	return c.changeRules(ctx, namespace, func() (Applied, int, error) { return c.store.PutRule(ctx, namespace, r) })
}

// DropRule removes a rule, so that the next one or the files decide, or returns ErrNotFound. It returns how many documents the
// rule decided over.
func (c *Corpus) DropRule(ctx context.Context, namespace, path, owner string) (documents int, err error) {
	return c.changeRules(ctx, namespace, func() (Applied, int, error) { return c.store.DropRule(ctx, namespace, path, owner) })
}

func (c *Corpus) changeRules(ctx context.Context, namespace string, change func() (Applied, int, error)) (documents int, err error) {
	c.write.Lock()
	defer c.write.Unlock()
	defer c.use(namespace)()
	done, documents, err := change()
	if err != nil {
		return 0, err
	}
	s := c.space(namespace)
	c.skip(map[*space]bool{s: true}, done)
	s.load.Lock()
	defer s.load.Unlock()
	if _, err := c.reload(context.WithoutCancel(ctx), namespace, s); err != nil {
		// The change is committed. The next search loads the index, or says why it cannot.
		c.log.Warn("load the index after a change of rights", "namespace", namespace, "error", err)
		if st := s.state.Load(); st != nil {
			st.expired.Store(true)
		}
	}
	return documents, nil
}
