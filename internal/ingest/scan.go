package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/extract"
)

// candidate is a file that may become a document.
type candidate struct {
	target  *target
	path    string // relative to target.dir, as the system knows it, "/"-separated
	key     string // path in the store's rows: valid UTF-8, "." when the root is the file
	size    int64
	modTime time.Time
	sidecar string // hash of its sidecar; "" when it has none, unreadable when it cannot be read
	known   knownFile
	name    string // of its document
}

// unreadable stands for the hash of a sidecar that cannot be read; no row ever has it.
const unreadable = "unreadable"

// baseName is the name of the file's document before any prefix.
func (c *candidate) baseName() string { return citationName(c.path) }

// display returns the file's path for people.
func (c *candidate) display() string { return c.target.display(c.path) }

func (t *target) display(rel string) string {
	return printable(filepath.Join(t.base(), filepath.FromSlash(rel)))
}

// base is the folder that target.dir stands for.
func (t *target) base() string {
	if t.file != "" {
		return filepath.Dir(t.path)
	}
	return t.path
}

// unchanged reports whether the last run saw the file as it is now.
func (c *candidate) unchanged() bool {
	k := c.known
	_, sidecar, _ := strings.Cut(k.SHA256, "+")
	return k.Generation == Generation && !k.adopted &&
		k.Size == c.size && k.ModTime.Equal(c.modTime) && sidecar == c.sidecar &&
		!passing(extract.Reason(k.Reason))
}

// passing reports whether a reason may be gone at the next run although the file is the same: what
// takes too long on a busy machine may be quick on an idle one.
func passing(reason extract.Reason) bool {
	return reason == extract.Unreadable || reason == extract.Timeout
}

// rowPath makes a path fit for the store, which takes valid UTF-8 only.
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

// ignored reports whether a walk passes over a file or folder of this name.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") ||
		name == "node_modules" || name == "parley-data"
}

// scan opens the root and finds its files.
func (t *target) scan(ctx context.Context, dataDir string) error {
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
	w := walker{target: t, data: realPath(dataDir), seen: map[string]bool{}}
	switch {
	case t.file != "":
		w.entry(t.file, st.Mode().Type(), true)
		for _, c := range t.candidates {
			c.key = "."
		}
	case t.scopes == nil:
		err = w.folder(ctx, ".")
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
	data string          // the data folder, or ""
	seen map[string]bool // keys of candidates
}

// start walks from a path within the root.
func (w *walker) start(ctx context.Context, path string) error {
	st, err := w.dir.Lstat(filepath.FromSlash(path))
	if err != nil {
		return &PathError{Path: w.display(path), Reason: "it cannot be read any more", Err: err}
	}
	if st.IsDir() {
		return w.folder(ctx, path)
	}
	w.entry(path, st.Mode().Type(), true)
	return nil
}

// folder looks at the entries of a folder, in the order of their names.
func (w *walker) folder(ctx context.Context, dir string) error {
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
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		of, isSidecar := sidecarOf(e.Name())
		switch {
		case ignored(e.Name()):
		case isSidecar && !names[of]:
			w.skip(p, BadMetadata, fmt.Sprintf("there is no file %s beside it", printable(of)))
		case isSidecar && !slices.Contains(sidecarSuffixes, e.Name()[len(of):]):
			w.skip(p, BadMetadata, "it has no effect: its name must end in small letters")
		case isSidecar:
		case e.IsDir():
			if err := w.folder(ctx, p); err != nil {
				return err
			}
		default:
			described := slices.ContainsFunc(sidecarSuffixes, func(s string) bool { return names[e.Name()+s] })
			w.entry(p, e.Type(), described)
		}
	}
	return nil
}

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

// hide notes that nothing can be said of what lies at or below a path. What is gone since the
// folder was listed is gone.
func (w *walker) hide(p string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	w.hidden = append(w.hidden, rowPath(p))
	w.failed = append(w.failed, FileResult{
		Path: w.display(p), Reason: extract.Unreadable, Detail: cause(err),
	})
}

// entry makes a candidate of what is not a folder. A symbolic link is followed to a file of the
// same root, as mounted configuration needs it, and never to a folder or out of the root.
// Described says that the file may have a sidecar.
func (w *walker) entry(p string, typ fs.FileMode, described bool) {
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
	c := &candidate{target: w.target, path: p, key: rowPath(p), size: st.Size(), modTime: st.ModTime().UTC()}
	if w.seen[c.key] {
		w.skip(p, extract.Unreadable, "its name cannot be told from that of another file")
		return
	}
	w.seen[c.key] = true
	if described {
		if _, sha, err := readSidecar(w.dir, p); err == nil || sha != "" {
			c.sidecar = sha
		} else {
			c.sidecar = unreadable
		}
	}
	w.candidates = append(w.candidates, c)
}

func (w *walker) skip(p string, reason extract.Reason, detail string) {
	w.skipped = append(w.skipped, FileResult{Path: w.display(p), Reason: reason, Detail: detail})
}

// cause says in a few words why something could not be read.
func cause(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "no permission to read it"
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
