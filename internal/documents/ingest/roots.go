package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/retrieval"
	"parley/internal/text"
)

// PathError says that a path given to Run cannot be ingested.
type PathError struct {
	Path   string // as given
	Reason string // the reason for people
	Err    error  // may be nil
}

func (e *PathError) Error() string {
	return fmt.Sprintf("cannot ingest %s: %s", text.Printable(e.Path), e.Reason)
}

func (e *PathError) Unwrap() error { return e.Err }

// resolve makes paths absolute, resolves symbolic links, and checks that the paths can be read.
func resolve(paths []string, cfg Config) ([]string, error) {
	data, uploads := realPath(cfg.DataDir), realPath(cfg.Uploads)
	var out []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err == nil {
			err = readable(abs)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &PathError{Path: p, Reason: "there is no such file or folder", Err: err}
		case errors.Is(err, fs.ErrPermission):
			return nil, &PathError{Path: p, Reason: "you are not allowed to read it", Err: err}
		case err != nil:
			return nil, &PathError{Path: p, Reason: err.Error(), Err: err}
		}
		if _, inside := within(data, abs); inside && data != "" && abs != uploads {
			return nil, &PathError{Path: p, Reason: "it is inside the data folder"}
		}
		if !slices.Contains(out, abs) {
			out = append(out, abs)
		}
	}
	return out, nil
}

// readable opens a file or folder to check whether that is allowed.
func readable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() && !st.Mode().IsRegular() {
		return errors.New("it is neither a file nor a folder")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// realPath resolves the symbolic links of the existing part of a path; "" for "".
func realPath(path string) string {
	if path == "" {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if straight, err := filepath.EvalSymlinks(abs); err == nil {
		return straight
	}
	return abs
}

// within returns path relative to folder, "/"-separated, and whether path is the folder or is inside it.
func within(folder, path string) (string, bool) {
	rel, err := filepath.Rel(folder, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// target is a root that a run brings up to date.
type target struct {
	root      retrieval.Root
	path      string           // of the root, in the system's spelling
	fresh     bool             // not recorded yet
	scopes    []string         // only paths at or below these; nil for all
	mayBeGone bool             // the scopes may not exist
	adopts    []retrieval.Root // recorded roots within this one, which it replaces
	prefixes  map[string]bool  // of all recorded roots
	ids       map[string]bool  // ids of the documents of this root
	dir       *os.Root         // the folder, or the folder of the file
	file      string           // the name of the file in dir if the root is a file, else ""

	candidates []*candidate
	failed     []FileResult // files that could not be examined
	skipped    []FileResult
	hidden     []string // paths below which gone files cannot be recognised

	site   *Site   // if the root is a site
	remote *remote // if the root is a remote source
}

// uploadsPrefix begins the paths of the roots of uploaded files, which do not depend on the place of the
// data folder.
const uploadsPrefix = "uploads:"

// UploadsRoot returns the path of the root of the files that an owner has uploaded.
func UploadsRoot(owner string) string { return uploadsPrefix + owner }

// UploadsOwner returns the owner of a root of uploads; false for other roots.
func UploadsOwner(root string) (owner string, ok bool) { return strings.CutPrefix(root, uploadsPrefix) }

// folder returns the name of a root's folder, for prefixes.
func (t *target) folder() string {
	if _, ok := UploadsOwner(t.root.Path); ok {
		return "uploads"
	}
	dir := t.path
	if t.remote != nil {
		dir = strings.TrimSuffix(t.remote.place, ".git")
	}
	if t.file != "" {
		dir = filepath.Dir(dir)
	}
	if name := citationName(filepath.Base(dir)); strings.Trim(name, `_./`) != "" {
		return strings.ReplaceAll(name, "/", "_")
	}
	return "root"
}

// choose finds the roots for paths. A path inside another path or a recorded root belongs to that one,
// and a new root takes over recorded roots inside it, so that no file is in the corpus twice. A path
// that a walk would ignore does not count as inside.
func (r *run) choose(ctx context.Context, paths []string) error {
	roots, err := r.cfg.Store.Roots(ctx, r.cfg.Namespace)
	if err != nil {
		return fmt.Errorf("read the ingested roots: %w", err)
	}
	prefixes := prefixesOf(roots)
	recorded := map[string]retrieval.Root{}
	for _, root := range roots {
		recorded[root.Path] = root
	}
	targets := map[string]*target{}
	open := func(path string) *target {
		if t := targets[path]; t != nil {
			return t
		}
		t := &target{path: path, prefixes: prefixes, ids: map[string]bool{}}
		var known bool
		if t.root, known = recorded[r.rootPath(path)]; !known {
			t.root, t.fresh = retrieval.Root{Path: r.rootPath(path)}, true
		}
		for _, root := range roots {
			if rel, ok := r.covers(path, root.Path); ok && rel != "." {
				t.adopts = append(t.adopts, root)
			}
		}
		targets[path] = t
		return t
	}
	for _, p := range paths {
		inside := func(other string) bool { rel, ok := r.covers(other, p); return ok && rel != "." }
		if slices.ContainsFunc(paths, inside) {
			continue
		}
		if i := slices.IndexFunc(roots, func(root retrieval.Root) bool { return inside(root.Path) }); i >= 0 {
			t := open(roots[i].Path)
			rel, _ := within(roots[i].Path, p)
			t.scopes = append(t.scopes, rel)
			continue
		}
		open(p)
	}
	for _, path := range slices.Sorted(maps.Keys(targets)) {
		t := targets[path]
		if slices.Contains(paths, path) {
			t.scopes = nil
		}
		if t.scopes != nil {
			t.adopts = nil
		}
		r.targets = append(r.targets, t)
	}
	return nil
}

// rootPath returns the path under which a root is recorded.
func (r *run) rootPath(path string) string {
	if r.cfg.Uploads != "" && path == realPath(r.cfg.Uploads) {
		return UploadsRoot(r.cfg.Owner)
	}
	return rowPath(path)
}

// covers reports whether a walk of folder reaches path, and returns path relative to it. A walk from
// outside never enters the data folder.
func (r *run) covers(folder, path string) (string, bool) {
	rel, ok := within(folder, path)
	if !ok {
		return "", false
	}
	if data := realPath(r.cfg.DataDir); data != "" {
		_, from := within(data, folder)
		if _, to := within(data, path); to && !from {
			return "", false
		}
	}
	if rel == "." {
		return rel, true
	}
	for part := range strings.SplitSeq(rel, "/") {
		if ignored(part) {
			return "", false
		}
	}
	return rel, true
}

// knownFile is a row of the store.
type knownFile struct {
	retrieval.File
	adopted bool // it is stored under another root
	anew    bool // its document must be made anew even if the file has not changed
}

// known returns the rows of the files that a target examines, by path.
func (r *run) known(ctx context.Context, t *target) (map[string]knownFile, error) {
	known := map[string]knownFile{}
	files, err := r.cfg.Store.Files(ctx, r.cfg.Namespace, t.root.Path)
	if err != nil {
		return nil, fmt.Errorf("read what is known of %s: %w", t.path, err)
	}
	for _, f := range files {
		if f.DocumentID != "" {
			t.ids[f.DocumentID] = true
		}
		if t.inScope(f.Path) {
			known[f.Path] = knownFile{File: f}
		}
	}
	for _, root := range t.adopts {
		files, err := r.cfg.Store.Files(ctx, r.cfg.Namespace, root.Path)
		if err != nil {
			return nil, fmt.Errorf("read what is known of %s: %w", root.Path, err)
		}
		rel, _ := within(t.root.Path, root.Path)
		for _, f := range files {
			path := rel
			if f.Path != "." {
				path += "/" + strings.TrimPrefix(f.Path, "./")
			}
			// A run that was interrupted has taken some over already.
			if _, have := known[path]; !have {
				known[path] = knownFile{File: f, adopted: true, anew: true}
			}
		}
	}
	return known, nil
}

// inScope reports whether a run examines a path.
func (t *target) inScope(path string) bool {
	return t.scopes == nil || slices.ContainsFunc(t.scopes, func(s string) bool { return below(s, path) })
}

// unseen reports whether a path is in a place that the walk could not read.
func (t *target) unseen(path string) bool {
	return slices.ContainsFunc(t.hidden, func(h string) bool { return below(h, path) })
}

// below reports whether path is dir or is inside it.
func below(dir, path string) bool {
	return dir == "." || path == dir || strings.HasPrefix(path, dir+"/")
}

// sortedFiles returns the values of known in the order of their paths.
func sortedFiles(known map[string]knownFile) []knownFile {
	var out []knownFile
	for _, path := range slices.Sorted(maps.Keys(known)) {
		out = append(out, known[path])
	}
	return out
}

// dropAdopted removes the recorded roots whose files now belong to another root.
func (r *run) dropAdopted(ctx context.Context) error {
	b := retrieval.Batch{Namespace: r.cfg.Namespace}
	for _, t := range r.targets {
		for _, root := range t.adopts {
			b.DropRoots = append(b.DropRoots, root.Path)
		}
	}
	if len(b.DropRoots) == 0 {
		return nil
	}
	if err := r.cfg.Corpus.Apply(ctx, b); err != nil {
		return fmt.Errorf("forget %d roots: %w", len(b.DropRoots), err)
	}
	return nil
}
