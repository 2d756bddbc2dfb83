package ingest

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley/internal/retrieval"
	"parley/internal/text"
)

// citationName makes a path usable as a citation and as a URL path. Characters that end a citation or
// have a meaning in a URL become "_" (a front end splits a source from its label at the first colon), as
// do invisible characters and invalid UTF-8. The name is in Unicode's form NFC, as people and models
// write it, whatever the file system does.
func citationName(p string) string {
	p = norm.NFC.String(strings.ToValidUTF8(p, "_"))
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]#?%<>\"|:`, r) || unicode.IsControl(r) || text.IsUnseen(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, p)
}

// catalog holds the document ids of a namespace, and the owners of its names.
type catalog struct {
	mu     sync.Mutex           // for assign, which workers call for nested files
	names  map[string]string    // by document id
	owners map[string]nameOwner // by name

	namespace string
	claims    *claims
}

// nameOwner is the owner of a name: an existing document, or a file of this run.
type nameOwner struct {
	documentID string
	target     *target
}

// loadCatalog reads all documents, regardless of who may see them.
func loadCatalog(ctx context.Context, s Store, namespace string) (*catalog, error) {
	c := &catalog{names: map[string]string{}, owners: map[string]nameOwner{}, namespace: namespace}
	const limit = 1000
	for after := ""; ; {
		docs, err := s.AllDocuments(ctx, namespace, after, limit)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		for _, d := range docs {
			c.names[d.ID] = d.Name
			c.owners[d.Name] = nameOwner{documentID: d.ID}
			after = d.Name
		}
		if len(docs) < limit {
			return c, nil
		}
	}
}

// catalogs holds the catalogs of the namespaces that a run uses.
type catalogs struct {
	store  Store
	claims *claims
	mu     sync.Mutex
	all    map[string]*catalog
}

func newCatalogs(s Store, c *claims) *catalogs {
	return &catalogs{store: s, claims: c, all: map[string]*catalog{}}
}

// of returns the catalog of a namespace. The first call loads it.
func (c *catalogs) of(ctx context.Context, namespace string) (*catalog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if names := c.all[namespace]; names != nil {
		return names, nil
	}
	names, err := loadCatalog(ctx, c.store, namespace)
	if err == nil {
		names.claims = c.claims
		c.all[namespace] = names
	}
	return names, err
}

// name assigns a name in a namespace to a file's document, unless it has one.
func (r *run) name(ctx context.Context, c *candidate, namespace string) error {
	if c.name != "" && c.namespace == namespace {
		return nil
	}
	names, err := r.names.of(ctx, namespace)
	if err != nil {
		return err
	}
	c.name, c.namespace = names.assign(c), namespace
	return nil
}

// prefix returns the prefix for the names of a new root: none, or the name of its folder if one of the
// names is taken.
func (c *catalog) prefix(t *target) string {
	defer c.claims.lock()()
	free := func(prefix string) bool {
		for _, f := range t.candidates {
			if _, taken := c.holder(prefix+f.baseName(), t); taken {
				return false
			}
		}
		return true
	}
	if free("") {
		return ""
	}
	for n := 1; ; n++ {
		if p := numbered(t.folder(), n) + "/"; !t.prefixes[p] && free(p) {
			return p
		}
	}
}

// assign returns the name of a file's document: its present one, or a new one, which it reserves.
func (c *catalog) assign(f *candidate) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.claims.lock()()
	if name, ok := c.names[f.known.DocumentID]; ok && !f.known.adopted {
		return name
	}
	name := f.target.root.Prefix + f.baseName()
	owner, taken := c.holder(name, f.target)
	switch {
	case !taken, f.known.DocumentID != "" && owner.documentID == f.known.DocumentID:
	case owner.target == f.target, f.target.ids[owner.documentID]:
		name = c.inFolder(name, f.target)
	default: // a file of another root has the name
		for n := 1; taken; n++ {
			name = numbered(f.target.folder(), n) + "/" + f.baseName()
			_, taken = c.holder(name, f.target)
		}
	}
	c.owners[name] = nameOwner{target: f.target}
	c.claims.take(c.namespace, name, f.target.root.Path)
	return name
}

// holder returns the owner of a name, and whether the name is unavailable to a target of this run or a
// concurrent run. The zero nameOwner means another run.
func (c *catalog) holder(name string, t *target) (nameOwner, bool) {
	if owner, ok := c.owners[name]; ok {
		return owner, true
	}
	return nameOwner{}, c.claims.taken(c.namespace, name, t.root.Path)
}

// inFolder numbers a name that another file of the same folder has.
func (c *catalog) inFolder(name string, t *target) string {
	ext := path.Ext(name)
	for n := 2; ; n++ {
		try := numbered(strings.TrimSuffix(name, ext), n) + ext
		if _, taken := c.holder(try, t); !taken {
			return try
		}
	}
}

// numbered returns name if n is 1, and otherwise name-n.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}

// prefixesOf returns the prefixes of roots.
func prefixesOf(roots []retrieval.Root) map[string]bool {
	set := map[string]bool{}
	for _, r := range roots {
		set[r.Prefix] = true
	}
	return set
}
