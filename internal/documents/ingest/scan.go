package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/access"
	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/format"
	"parley/internal/retrieval"
	"parley/internal/text"
)

// candidate is a file that may become a document.
type candidate struct {
	target    *target
	path      string // relative to target.dir, in the system's spelling, "/"-separated
	key       string // path in the store's rows: valid UTF-8, "." if the root is the file
	size      int64
	modTime   time.Time
	rules     *metadata.Rules // of its folders; nil if there are none
	about     string          // hash of its metadata outside of it, see metadata.Read
	known     knownFile
	inside    []retrieval.File // stored rows of nested files, by path
	said      *string          // the namespace in its metadata outside of it; nil for none
	name      string           // of its document, in the namespace
	namespace string
	part      *part         // set for a nested file
	page      *webPage      // set for a web page
	object    *remoteObject // set for an object of a remote source
	access    *access.List  // who may see its document and those of its nested files; nil if the files say it
}

// baseName returns the name of the file's document without a prefix.
func (c *candidate) baseName() string { return citationName(c.path) }

// fileName returns a name of the file whose extension tells its format.
func (c *candidate) fileName() string {
	if c.page != nil {
		return c.page.file
	}
	return c.path
}

// display returns the file's path for people, or the address of a page.
func (c *candidate) display() string {
	if c.target.site != nil {
		return text.Printable(c.key)
	}
	return c.target.display(c.path)
}

func (t *target) display(rel string) string {
	if t.remote != nil {
		return text.Printable(t.remote.place + "/" + rel)
	}
	return text.Printable(filepath.Join(t.base(), filepath.FromSlash(rel)))
}

// base returns the path of target.dir.
func (t *target) base() string {
	if t.file != "" {
		return filepath.Dir(t.path)
	}
	return t.path
}

// unchanged reports whether the file is the same as in the last run, and was cut into chunks by the same
// generation.
func (c *candidate) unchanged(cfg *Config) bool {
	k := c.known
	if c.object != nil {
		return cfg.isCurrent(k.Generation) && cfg.allCurrent(c.inside) && k.SHA256 != "" && decodeObjectState(k.State).Version == c.object.version &&
			!k.anew && !c.mayPass()
	}
	_, said, _ := strings.Cut(k.SHA256, "+")
	return cfg.isCurrent(k.Generation) && cfg.allCurrent(c.inside) && !k.anew &&
		k.Size == c.size && k.ModTime.Equal(c.modTime) && said == c.about && !c.mayPass()
}

// mayPass reports whether the file, or a nested one, failed for a reason that may no longer apply.
func (c *candidate) mayPass() bool {
	return passing(extract.Reason(c.known.Reason)) ||
		slices.ContainsFunc(c.inside, func(f retrieval.File) bool { return passing(extract.Reason(f.Reason)) })
}

// passing reports whether a reason may no longer apply at the next run although the file is the same.
func passing(reason extract.Reason) bool {
	return reason == extract.Unreadable || reason == extract.Busy
}

// rowPath returns a path in the form for the store, which accepts only valid UTF-8.
func rowPath(p string) string {
	if utf8.ValidString(p) {
		return p
	}
	var b strings.Builder
	for i, r := range p {
		if r == utf8.RuneError && !strings.HasPrefix(p[i:], "\ufffd") {
			fmt.Fprintf(&b, `\x%02x`, p[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ignored reports whether a walk ignores a file or folder of this name.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") ||
		name == "node_modules" || name == "parley-data"
}

// scan opens the root and finds its files.
func (t *target) scan(ctx context.Context, cfg *Config) error {
	if t.remote != nil {
		return t.remote.scan(ctx, t)
	}
	st, err := os.Stat(t.path)
	if err != nil {
		return &PathError{Path: t.path, Reason: "it cannot be read any more", Err: err}
	}
	if !st.IsDir() {
		t.file = filepath.Base(t.path)
	}
	if t.dir, err = os.OpenRoot(t.base()); err != nil {
		return &PathError{Path: t.path, Reason: "its folder cannot be opened", Err: err}
	}
	data := realPath(cfg.DataDir)
	if cfg.Uploads != "" && t.path == realPath(cfg.Uploads) {
		data = "" // the root is inside it
	}
	w := walker{target: t, data: data, config: realPath(cfg.ConfigFile), seen: map[string]bool{}}
	switch {
	case t.file != "":
		w.entry(t.file, st.Mode().Type(), w.rules(".", nil), true)
		for _, c := range t.candidates {
			c.key = "."
		}
	case t.scopes == nil:
		err = w.folder(ctx, ".", nil)
	default:
		for _, s := range t.scopes {
			if err = w.start(ctx, s); err != nil {
				break
			}
		}
	}
	return err
}

// walker walks one root.
type walker struct {
	*target
	data   string          // the data folder, or ""
	config string          // the program's configuration file, or ""
	seen   map[string]bool // keys of candidates
}

// rules reads a folder's file. The program's own configuration, which may have the same name, does not
// count.
func (w *walker) rules(dir string, around *metadata.Rules) *metadata.Rules {
	for _, name := range metadata.FolderFiles {
		if w.config != "" && realPath(filepath.Join(w.base(), filepath.FromSlash(dir), name)) == w.config {
			return around
		}
	}
	return metadata.ReadRules(rootTree{w.dir}, dir, around)
}

// rulesAbove reads the folder files of the folders above a path.
func (w *walker) rulesAbove(path string) *metadata.Rules {
	rules := w.rules(".", nil)
	for i, c := range path {
		if c == '/' {
			rules = w.rules(path[:i], rules)
		}
	}
	return rules
}

// start walks from a path within the root.
func (w *walker) start(ctx context.Context, scope string) error {
	st, err := w.dir.Lstat(filepath.FromSlash(scope))
	switch {
	case err != nil && w.mayBeGone && isGone(err):
		return nil
	case err != nil && w.mayBeGone:
		w.hide(scope, err)
		return nil
	case err != nil:
		return &PathError{Path: w.display(scope), Reason: "it cannot be read any more", Err: err}
	}
	rules := w.rulesAbove(scope)
	if st.IsDir() {
		return w.folder(ctx, scope, rules)
	}
	w.entry(scope, st.Mode().Type(), rules, true)
	return nil
}

// folder examines the entries of a folder in the order of their names. around holds the rules of the
// folders above.
func (w *walker) folder(ctx context.Context, dir string, around *metadata.Rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, inside := within(w.data, filepath.Join(w.base(), filepath.FromSlash(dir))); inside && w.data != "" {
		return nil
	}
	entries, err := w.list(dir)
	if err != nil {
		w.hide(dir, err)
		return nil
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	rules := around
	if dir == "." || names[metadata.FolderFiles[0]] || names[metadata.FolderFiles[1]] {
		rules = w.rules(dir, around)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		switch {
		case ignored(e.Name()):
		case w.isMetadata(p, names):
		case e.IsDir():
			if err := w.folder(ctx, p, rules); err != nil {
				return err
			}
		default:
			described := slices.ContainsFunc(metadata.SidecarSuffixes, func(s string) bool { return names[e.Name()+s] })
			w.entry(p, e.Type(), rules, described)
		}
	}
	if rules != around {
		w.reportUnused(rules)
	}
	return nil
}

// isMetadata reports whether an entry of a folder describes others. It records an entry that has no
// effect.
func (w *walker) isMetadata(p string, names map[string]bool) bool {
	name := path.Base(p)
	of, isSidecar := metadata.SidecarOf(name)
	switch {
	case metadata.IsFolderFile(name):
		if !slices.Contains(metadata.FolderFiles, name) {
			w.skip(p, BadMetadata, "it has no effect: its name must be in small letters")
		}
		return true
	case !isSidecar:
		return false
	case !names[of]:
		w.skip(p, BadMetadata, fmt.Sprintf("there is no file %s beside it", text.Printable(of)))
	case !slices.Contains(metadata.SidecarSuffixes, name[len(of):]):
		w.skip(p, BadMetadata, "it has no effect: its name must end in small letters")
	}
	return true
}

// reportUnused records the entries of a folder's file that match no file: they may be misspelt. The
// contents of archives are not known yet.
func (w *walker) reportUnused(r *metadata.Rules) {
	holdsFiles := func(c *candidate) bool {
		return below(r.Dir(), c.path) && format.HasMembers(format.Ext(c.path))
	}
	if w.scopes != nil || slices.ContainsFunc(w.candidates, holdsFiles) {
		return
	}
	unused := r.Unused()
	if len(unused) == 0 {
		return
	}
	detail := fmt.Sprintf("no file is named like its entry %q", unused[0])
	if len(unused) > 1 {
		shown := unused[:min(len(unused), maxUnused)]
		detail = fmt.Sprintf("no file is named like its entries %q", shown)
		if n := len(unused) - len(shown); n > 0 {
			detail += fmt.Sprintf(" and %d others", n)
		}
	}
	w.skip(path.Join(r.Dir(), metadata.FolderFiles[0]), BadMetadata, detail)
}

// maxUnused limits the number of entries that are reported.
const maxUnused = 10

func (w *walker) list(dir string) ([]fs.DirEntry, error) {
	f, err := w.dir.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}

// hide records that the walk could not read what is at or below a path. A path that is gone since the
// folder was listed is gone.
func (w *walker) hide(p string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.hidden = append(w.hidden, rowPath(p))
	w.failed = append(w.failed, FileResult{
		Path: w.display(p), Reason: extract.Unreadable, Detail: metadata.Cause(err),
	})
}

// entry makes a candidate of an entry that is not a folder. It follows a symbolic link to a file of the
// same root, which mounted configuration needs, but never to a folder or out of the root. described says
// that the file may have a sidecar.
func (w *walker) entry(p string, typ fs.FileMode, r *metadata.Rules, described bool) {
	name := filepath.FromSlash(p)
	st, err := w.dir.Stat(name)
	if typ&fs.ModeSymlink != 0 {
		if err != nil {
			w.skip(p, extract.Unreadable, "the symbolic link leads nowhere or out of the folder")
			return
		}
		to := realPath(filepath.Join(w.base(), name))
		if _, inside := within(w.data, to); st.IsDir() || inside && w.data != "" {
			return
		}
	}
	switch {
	case err != nil:
		w.hide(p, err)
		return
	case !st.Mode().IsRegular():
		w.skip(p, extract.Unsupported, "it is not a regular file")
		return
	}
	c := &candidate{target: w.target, path: p, key: rowPath(p), size: st.Size(), modTime: st.ModTime().UTC(), rules: r}
	if w.seen[c.key] {
		w.skip(p, extract.Unreadable, "another file is stored under the same name")
		return
	}
	w.seen[c.key] = true
	sidecarOf := ""
	if described {
		sidecarOf = p
	}
	said, hash, _ := metadata.Read(r, rootTree{w.dir}, p, nil, sidecarOf) // errors are reported when the file is read
	c.about, c.said = hash, said.Namespace()
	w.candidates = append(w.candidates, c)
}

func (w *walker) skip(p string, reason extract.Reason, detail string) {
	w.skipped = append(w.skipped, FileResult{Path: w.display(p), Reason: reason, Detail: detail})
}

// rootTree is a metadata.Tree for a folder.
type rootTree struct{ *os.Root }

func (t rootTree) Open(path string) (io.ReadCloser, error) {
	f, err := t.OpenFile(filepath.FromSlash(path), os.O_RDONLY|nonblock, 0)
	if isNameTooLong(err) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}
