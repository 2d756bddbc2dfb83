package ingest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// part is a file nested inside another file: an entry of an archive, or an attachment. Its path is the
// path of the enclosing file, followed by its own name.
type part struct {
	spool  *spool
	index  int
	name   string   // in the enclosing file
	around []string // paths of the enclosing files, outermost first
	budget *budget
	// namespace is the namespace for the file's document, regardless of its metadata; "" if the metadata
	// decides.
	namespace string
	// inFolder says that the enclosing file is an archive, which may contain a sidecar for this file.
	inFolder bool
}

// spool is the folder into which a worker puts the files nested inside a file. What the worker says
// about them is not trusted.
type spool struct {
	dir     string
	root    *os.Root // nil until the first part is opened
	parts   []extract.Part
	indexes map[string]int // indexes of the parts by name
}

func (s *spool) close() error {
	if s.root != nil {
		s.root.Close()
	}
	return os.RemoveAll(s.dir)
}

// openPart opens the content of a part.
func (s *spool) openPart(i int) (*os.File, error) {
	if s.root == nil {
		root, err := os.OpenRoot(s.dir)
		if err != nil {
			return nil, fmt.Errorf("open the files inside a file: %w", err)
		}
		s.root = root
	}
	f, err := s.root.OpenFile(extract.PartName(i), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("open a file inside a file: %w", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("open a file inside a file: %w", errNotRegular)
	}
	return f, nil
}

// Open implements metadata.Tree for the sidecars of the files in the spool.
func (s *spool) Open(name string) (io.ReadCloser, error) {
	i, ok := s.indexes[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return s.openPart(i)
}

// take reads a file and the files nested inside it, and sends the result of each. The file's own result
// comes last, so that an interrupted run starts again with the file. It ends early when send returns
// false.
func (r *run) take(ctx context.Context, c *candidate, send func(result) bool) bool {
	res, s := r.read(ctx, c)
	r.tellReading(&res)
	defer func() {
		if err := s.close(); err != nil {
			r.cfg.Logger.Warn("remove the files inside a file", "error", err)
		}
	}()
	switch {
	case res.error != nil, res.leave:
		return send(res)
	case res.same:
		r.meter.inside(len(c.inside))
		for _, f := range c.inside {
			if !send(r.kept(c, f)) {
				return false
			}
		}
		return send(res)
	}
	seen, ok := r.takeParts(ctx, c, res, s, send)
	if !ok {
		return false
	}
	for _, f := range c.inside {
		if !seen[f.Path] && !send(result{from: r.row(c, f), file: f, gone: true}) {
			return false
		}
	}
	if b := res.budget; c.part == nil && b != nil && b.spent != nil && res.put == nil && res.file.Reason == "" {
		res = res.failed(b.spent.Reason, b.spent.Detail)
	}
	return send(res)
}

// kept returns the result of an unchanged nested file.
func (r *run) kept(c *candidate, f retrieval.File) result {
	return result{from: r.row(c, f), file: f, same: true}
}

// row returns the candidate for which a row was written.
func (r *run) row(c *candidate, f retrieval.File) *candidate {
	return &candidate{
		target: c.target, path: f.Path, key: f.Path, size: f.Size, modTime: f.ModTime,
		known: knownFile{File: f}, part: &part{},
	}
}

// takeParts takes the files nested inside a file, and returns the keys of those that exist.
func (r *run) takeParts(ctx context.Context, c *candidate, res result, s *spool, send func(result) bool) (map[string]bool, bool) {
	seen := map[string]bool{}
	inner := r.innerRules(c, res, s)
	members := make([]*candidate, 0, len(s.parts))
	for i := range s.parts {
		if m := r.member(c, res, s, i, inner); m != nil && !seen[m.key] {
			seen[m.key] = true
			for _, f := range m.inside {
				seen[f.Path] = true // a nested file decides about its own row
			}
			members = append(members, m)
		}
	}
	r.meter.inside(len(members))
	for _, m := range members {
		r.meter.reading(m.display())
		refused := s.parts[m.part.index].Refused
		if refused == nil {
			refused = res.budget.spent
		}
		if refused != nil {
			if !send(r.refused(m, refused)) {
				return nil, false
			}
			for _, f := range m.inside {
				if !send(result{from: r.row(c, f), file: f, gone: true}) {
					return nil, false
				}
			}
			continue
		}
		if err := r.name(ctx, m, r.expected(m)); err != nil {
			return seen, send(result{error: err})
		}
		if !r.take(ctx, m, send) {
			return nil, false
		}
	}
	return seen, true
}

// refused returns the result of a file that could not be extracted from the enclosing file.
func (r *run) refused(m *candidate, why *extract.Error) result {
	res := result{from: m, format: why.Format, file: retrieval.File{
		FileKey: retrieval.FileKey{Root: m.target.root.Path, Path: m.key}, Namespace: r.cfg.Namespace,
		Size: m.size, ModTime: m.modTime, Generation: r.cfg.generation,
	}}
	return res.failed(why.Reason, why.Detail)
}

// member returns a candidate for a nested file; nil for a file that a walk would ignore.
func (r *run) member(c *candidate, res result, s *spool, i int, inner map[string]*metadata.Rules) *candidate {
	p := &s.parts[i]
	name := p.Name
	if p.Refused == nil && !fs.ValidPath(name) || name == "." {
		p.Refused = &extract.Error{Reason: extract.UnsafeName, Detail: "its name leads out of the archive"}
	}
	if p.Refused != nil && !fs.ValidPath(name) {
		name = "unnamed/" + strings.Trim(strings.NewReplacer("/", "_", `\`, "_").Replace(name), ".")
	}
	if isFolder(res) && (slices.ContainsFunc(strings.Split(name, "/"), ignored) || isMemberMetadata(name)) {
		return nil
	}
	around := []string{c.path}
	if c.part != nil {
		around = append(slices.Clone(c.part.around), c.path)
	}
	m := &candidate{
		target: c.target, path: c.path + "/" + name, key: rowPath(c.innerKey() + "/" + name),
		size: p.Size, modTime: res.file.ModTime, rules: inner[path.Dir(name)], said: &res.namespace,
		part: &part{spool: s, index: i, name: p.Name, around: around, budget: res.budget, inFolder: isFolder(res)},
	}
	if c.page != nil || c.part != nil && c.part.namespace != "" || !isFolder(res) {
		m.part.namespace = res.namespace // written by strangers: see place
	}
	m.inside, m.known = inside(c.inside, m.key)
	m.known.adopted, m.access = c.known.adopted, c.access
	// If the object has no row, an earlier run may have been cut short, and the rights that it stored with this file are unknown.
	m.known.anew = c.known.anew || c.object != nil && c.known.Path == ""
	return m
}

func isMemberMetadata(name string) bool {
	_, isSidecar := metadata.SidecarOf(path.Base(name))
	return isSidecar || metadata.IsFolderFile(path.Base(name))
}

// inside returns the rows below a key and the row with that key. The rows must be sorted by path.
func inside(rows []retrieval.File, key string) (below []retrieval.File, own knownFile) {
	at := func(path string) int {
		i, _ := slices.BinarySearchFunc(rows, path, func(f retrieval.File, p string) int { return cmp.Compare(f.Path, p) })
		return i
	}
	if i := at(key); i < len(rows) && rows[i].Path == key {
		own = knownFile{File: rows[i]}
	}
	return rows[at(key+"/"):at(key+"0")], own // "0" is the character after "/"
}

// isFolder reports whether a file is an archive, whose files are in folders with their own rules.
// Attachments of a mail say nothing about each other.
func isFolder(res result) bool { return strings.HasSuffix(res.format, " archive") }

// innerRules returns the rules for the folders inside a file: the rules of the file itself with its
// sidecar; for a mail also its sender, recipients and date, and for an archive also the rules that it contains.
func (r *run) innerRules(c *candidate, res result, s *spool) map[string]*metadata.Rules {
	said := res.sidecar.Inherited()
	if res.put != nil {
		said = said.WithMail(res.put.Document.Attributes)
	}
	top := metadata.NewRules(c.path, c.rules, said)
	all := map[string]*metadata.Rules{}
	var of func(dir string) *metadata.Rules
	of = func(dir string) *metadata.Rules {
		if known, ok := all[dir]; ok {
			return known
		}
		around := top
		if dir != "." {
			around = of(path.Dir(dir))
		}
		all[dir] = around
		if isFolder(res) {
			if own := metadata.ReadRules(s, dir, around); own != around {
				all[dir] = own.At(path.Join(c.path, dir))
			}
		}
		return all[dir]
	}
	of(".")
	for _, p := range s.parts {
		if fs.ValidPath(p.Name) {
			of(path.Dir(p.Name))
		}
	}
	return all
}

// spoolDir returns the path of a folder for the files nested inside the next file.
func (r *run) spoolDir() string {
	return filepath.Join(r.spools, fmt.Sprintf("%d", r.spooled.Add(1)))
}

// noteParts stores what a worker reports about nested files. Files that are nested too deeply, or exceed
// the budget, get no content.
func (r *run) noteParts(s *spool, doc *extract.Document, spooling bool) {
	s.parts = doc.Parts
	s.indexes = make(map[string]int, len(s.parts))
	for i := range s.parts {
		p := &s.parts[i]
		if p.Refused == nil && !spooling {
			p.Refused = &extract.Error{Reason: extract.TooLarge,
				Detail: fmt.Sprintf("it lies more than %d archives and mails deep, or they hold too much", maxDepth)}
		}
		if p.Refused == nil {
			s.indexes[p.Name] = i
		}
	}
}
