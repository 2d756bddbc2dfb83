package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// remake rebuilds a document from its original. Its metadata, from files beside the original or from the
// original itself, stays the same, and so do the limits under which it was read.
func (r *rebuild) remake(ctx context.Context, d retrieval.Document) remade {
	m := remade{of: d}
	o, err := r.cfg.Blobs.Open(d.SHA256)
	if err != nil {
		m.kept = &extract.Error{Reason: extract.Unreadable, Detail: "its original is missing"}
		return m
	}
	defer o.Close()
	row, limits, err := r.origin(ctx, d)
	if err != nil {
		m.error = err
		return m
	}
	x, err := r.readJudged(ctx, d, row, extract.Request{Path: o.Name(), Without: limits.SkipSections, Post: r.cfg.Split.encode(), Seen: r.cfg.seen(d.SHA256)})
	var chunks []retrieval.Chunk
	if err == nil {
		chunks, err = r.chunks(x)
	}
	switch {
	case err == nil:
	case errors.As(err, &m.kept):
		return m
	default:
		m.error = err
		return m
	}
	m.put.Document, m.put.Chunks = d, chunks[:limits.Most(len(chunks))]
	n := &m.put.Document
	n.ID, n.Namespace, n.Revision, n.Pages = retrieval.AsideID(d), retrieval.Aside(d.Namespace), 0, 0
	n.Generation, n.IndexedAt = r.cfg.generation, time.Now().UTC().Truncate(time.Microsecond)
	n.Notes = notesOf(x.Document)
	n.Attributes = d.AttributesOver(x.Document.Meta.Attributes) // the places that set them may be out of reach by now
	m.put.Pages, n.Pages = pagesOf(x.Document)
	return m
}

// origin returns the row of the file from which a document was made, which is empty if there is none,
// and the limits under which the file was read.
func (r *rebuild) origin(ctx context.Context, d retrieval.Document) (row retrieval.File, l metadata.Limits, err error) {
	rows, err := r.cfg.Store.FilesOf(ctx, d.Namespace, d.ID)
	if err != nil || len(rows) == 0 {
		return row, l, err
	}
	row = rows[0]
	site, err := r.sites.of(ctx, row)
	switch {
	case err != nil:
		return row, l, err
	case site != nil:
		return row, site.limits(), nil
	}
	return row, metadata.DecodeLimits(row.State), nil
}

// readJudged is readAgain with one more check: earlier versions did not notice front matter that restricts access in words
// that Parley does not read. It is an error if a document that such a version made visible to everybody has some.
func (r *rebuild) readJudged(ctx context.Context, d retrieval.Document, row retrieval.File, request extract.Request) (*extract.Result, error) {
	x, err := r.readAgain(ctx, d, row, request)
	if err != nil || d.Access.Restricted() || strings.HasPrefix(d.Generation, generation) {
		return x, err
	}
	if _, err := (metadata.Said{}).Of(x.Document, path.Base(d.Name)); err != nil {
		return nil, &extract.Error{Reason: BadMetadata, Detail: err.Error()}
	}
	return x, nil
}

// readAgain reads an original under its previous name. If it needs a password, it tries again with the
// passwords beside the file, which are not stored.
func (r *rebuild) readAgain(ctx context.Context, d retrieval.Document, row retrieval.File, request extract.Request) (*extract.Result, error) {
	request.Name = nameOfType(path.Base(d.Name), d.MediaType)
	if file := decodePageState(row.State).File; file != "" {
		request.Name = path.Base(file)
	}
	x, err := r.cfg.Extractor.Extract(ctx, request)
	if reason, ok := errors.AsType[*extract.Error](err); !ok || reason.Reason != extract.Encrypted {
		return x, err
	}
	if request.Passwords = r.passwordsOf(row); len(request.Passwords) == 0 {
		return x, err
	}
	return r.cfg.Extractor.Extract(ctx, request)
}

// passwordsOf returns the passwords in the metadata on the disk for a file or its enclosing file; none
// if the metadata can no longer be read.
func (r *rebuild) passwordsOf(row retrieval.File) []string {
	if !filepath.IsAbs(row.Root) {
		return nil
	}
	t := &target{path: row.Root}
	if st, err := os.Stat(t.path); err != nil {
		return nil
	} else if !st.IsDir() {
		t.file = filepath.Base(t.path)
	}
	dir, err := os.OpenRoot(t.base())
	if err != nil {
		return nil
	}
	defer dir.Close()
	t.dir = dir
	file := t.outermost(row.Path)
	if file == "" {
		return nil
	}
	w := walker{target: t, config: realPath(r.cfg.ConfigFile)}
	said, _, err := metadata.Read(w.rulesAbove(file), rootTree{dir}, file, nil, file)
	if err != nil {
		return nil
	}
	return said.Passwords()
}

// outermost returns the path on the disk of the file of a row, or of the file that contains it; "" if
// there is none.
func (t *target) outermost(rowPath string) string {
	if t.file != "" {
		return t.file
	}
	for i := range len(rowPath) + 1 {
		if i < len(rowPath) && rowPath[i] != '/' || !fs.ValidPath(rowPath[:i]) {
			continue
		}
		st, err := t.dir.Stat(filepath.FromSlash(rowPath[:i]))
		switch {
		case err != nil:
			return ""
		case st.Mode().IsRegular():
			return rowPath[:i]
		}
	}
	return ""
}

// siteOptions caches the options of the sites in the corpus.
type siteOptions struct {
	store Store
	mu    sync.Mutex
	roots map[string]map[string]*Site // by namespace and path; nil for a root that is not a site
}

// of returns the site of a row; nil for a row of a file.
func (s *siteOptions) of(ctx context.Context, row retrieval.File) (*Site, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.roots[row.Namespace]; ok {
		return known[row.Root], nil
	}
	roots, err := s.store.Roots(ctx, row.Namespace)
	if err != nil {
		return nil, fmt.Errorf("read the ingested roots: %w", err)
	}
	sites := map[string]*Site{}
	for _, root := range roots {
		if !isSite(root) {
			continue
		}
		var site Site
		if err := json.Unmarshal([]byte(root.Source), &site); err != nil {
			return nil, fmt.Errorf("read the options of %s: %w", root.Path, err)
		}
		sites[root.Path] = &site
	}
	if s.roots == nil {
		s.roots = map[string]map[string]*Site{}
	}
	s.roots[row.Namespace] = sites
	return sites[row.Root], nil
}
