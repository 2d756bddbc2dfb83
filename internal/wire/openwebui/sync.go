package openwebui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"parley/internal/chat"
	"parley/internal/documents/upload"
	"parley/internal/library"
	"parley/internal/shelf"
	"parley/internal/wire"
)

// The limits of requests.
const (
	maxManifest = library.MaxMembers
	maxPath     = 512 // characters
	maxHash     = 200 // bytes
)

// entry is a file of a manifest.
type entry struct {
	filename, path, checksum string
}

// change is a file that is new or differs, in responses.
type change struct {
	Filename string `json:"filename"`
	Path     string `json:"path"`
	Stale    string `json:"stale_file_id,omitempty"`
}

type deletion struct {
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
}

// difference is the response to a manifest.
type difference struct {
	Added       []change          `json:"added"`
	Modified    []change          `json:"modified"`
	Deleted     []deletion        `json:"deleted"`
	MkDir       []string          `json:"mkdir"`
	RmDir       []string          `json:"rmdir"`
	Unmodified  int               `json:"unmodified_count"`
	Directories map[string]string `json:"directory_map"`
}

// diff handles POST /api/v1/knowledge/{id}/sync/diff.
func (h *Handler) diff(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	manifest, err := manifestOf(object)
	if err != nil {
		return err
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	stored, err := h.cfg.Library.Members(r.Context(), s, shelf.List{})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, differenceOf(manifest, stored))
}

// differenceOf compares a manifest with the files of a knowledge base. stored must begin with the newest file:
// of several files with the same path, only the newest is kept. Files without an origin were added by other
// means and are kept too.
func differenceOf(manifest []entry, stored []library.Member) difference {
	d := difference{Added: []change{}, Modified: []change{}, Deleted: []deletion{}, MkDir: []string{}, RmDir: []string{}, Directories: map[string]string{}}
	byPath, wanted := map[string]library.Member{}, map[string]bool{}
	for _, e := range manifest {
		wanted[path.Join(e.path, e.filename)] = true
	}
	for _, m := range stored {
		o := originOf(m)
		if _, twice := byPath[o.Path]; o.Path != "" && (twice || !wanted[o.Path]) {
			d.Deleted = append(d.Deleted, deletion{m.File, m.Filename})
		} else if o.Path != "" {
			byPath[o.Path] = m
		}
	}
	for _, e := range manifest {
		for dir := e.path; dir != "" && dir != "."; dir = path.Dir(dir) {
			d.Directories[dir] = directoryID(dir)
		}
		m, ok := byPath[path.Join(e.path, e.filename)]
		switch {
		case !ok:
			d.Added = append(d.Added, change{Filename: e.filename, Path: e.path})
		case originOf(m).Hash != e.checksum || m.State == library.Failed || m.State == library.Cancelled:
			d.Modified = append(d.Modified, change{e.filename, e.path, m.File})
		default:
			d.Unmodified++
		}
	}
	return d
}

func manifestOf(object wire.Object) (all []entry, err error) {
	v, _ := object.Get("manifest")
	elements, ok := v.Elements()
	if _, few := wire.AtMost(maxManifest, elements); !ok || !few {
		return nil, wire.Invalidf(`"manifest" must be a list of at most %d files.`, maxManifest)
	}
	seen := map[string]bool{}
	for v := range elements {
		var in struct {
			Filename wire.Value `json:"filename"`
			Path     wire.Value `json:"path"`
			Checksum wire.Value `json:"checksum"`
		}
		v.Read(&in)
		var e entry
		var named, placed, summed bool
		e.filename, named = in.Filename.Text()
		e.path, placed = in.Path.Text()
		e.checksum, summed = in.Checksum.Text()
		whole := path.Join(e.path, e.filename)
		switch {
		case !named || !placed || !summed || len(e.checksum) > maxHash:
			return nil, wire.Invalidf(`Each file of "manifest" must have "filename", "path" and "checksum", which are strings.`)
		case e.filename == "" || strings.Contains(e.filename, "/") || !isDirectory(e.filename) || !isDirectory(e.path) || utf8.RuneCountInString(whole) > maxPath:
			return nil, wire.Invalidf("%q is not a path of a file: expected relative directories and a name, of at most %d characters.", wire.Clip(whole), maxPath)
		case seen[whole]:
			return nil, wire.Invalidf(`"manifest" has %q twice.`, wire.Clip(whole))
		}
		seen[whole] = true
		all = append(all, e)
	}
	return all, nil
}

// isDirectory reports whether a path names a directory below the root, or is "" for the root.
func isDirectory(dir string) bool {
	return dir == "" || path.Clean(dir) == dir && dir != "." && !strings.HasPrefix(dir, "/") && dir != ".." && !strings.HasPrefix(dir, "../")
}

// directoryPrefix is the prefix of the ids of directories. The encoded path follows it: directories exist only
// as parts of the paths of files, so they are not stored.
const directoryPrefix = "dir-"

func directoryID(dir string) string {
	return directoryPrefix + base64.RawURLEncoding.EncodeToString([]byte(dir))
}

// directoryOf returns the path of the directory with an id; "" is the root. It does not check whether the
// directory has files.
func directoryOf(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	text, ok := strings.CutPrefix(id, directoryPrefix)
	dir, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || !utf8.Valid(dir) || len(dir) == 0 || !isDirectory(string(dir)) || utf8.RuneCount(dir) > maxPath {
		return "", &chat.Error{Kind: chat.NotFound, Msg: "There is no such directory."}
	}
	return string(dir), nil
}

// cleanup handles POST /api/v1/knowledge/{id}/sync/cleanup.
func (h *Handler) cleanup(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	v, _ := object.Get("file_ids")
	elements, ok := v.Elements()
	if _, few := wire.AtMost(maxManifest, elements); !ok || !few {
		return wire.Invalidf(`"file_ids" must be a list of at most %d ids.`, maxManifest)
	}
	s, err := h.find(r)
	if err != nil {
		return err
	}
	for v := range elements {
		id, ok := v.Text()
		if !ok {
			return wire.Invalidf(`"file_ids" must be a list of at most %d ids.`, maxManifest)
		}
		if err := h.delete(r, s, id); err != nil {
			return err
		}
	}
	return wire.WriteJSON(w, http.StatusOK, []byte(`{"status":true}`))
}

// delete deletes a file of a knowledge base. It ignores a file that is not in the knowledge base.
func (h *Handler) delete(r *wire.Request, s library.Store, id string) error {
	_, err := h.cfg.Library.Member(r.Context(), s, id)
	if err == nil {
		err = h.cfg.Library.DeleteFile(r.Context(), s.Owner, id)
	}
	if errors.Is(err, library.ErrNotFound) {
		return nil
	}
	return err
}

// makeDirectory handles POST /api/v1/knowledge/{id}/dirs/create.
func (h *Handler) makeDirectory(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	var in struct {
		Name   wire.Value `json:"name"`
		Parent wire.Value `json:"parent_id"`
	}
	object.Read(&in)
	s, err := h.find(r)
	if err != nil {
		return err
	}
	parentID, _ := in.Parent.Text()
	parent, err := directoryOf(parentID)
	if err != nil {
		return err
	}
	name, _ := in.Name.Text()
	dir := path.Join(parent, name)
	if name == "" || strings.Contains(name, "/") || !isDirectory(dir) || dir == parent || utf8.RuneCountInString(dir) > maxPath {
		return wire.Invalidf(`"name" must be the name of a directory.`)
	}
	return wire.Reply(w, http.StatusOK, struct {
		ID        string  `json:"id"`
		Knowledge string  `json:"knowledge_id"`
		Parent    *string `json:"parent_id"`
		Name      string  `json:"name"`
		UserID    string  `json:"user_id"`
	}{directoryID(dir), s.ID, pointerTo(parentID), name, s.Owner})
}

func pointerTo(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// received is an upload.
type received struct {
	file      library.File // ID is "" until it is stored
	name      string       // as the client sent it
	knowledge string
	directory string // id of the directory
	hash      string
}

// upload handles POST /api/v1/files, a form with file and metadata. It responds when the file has been read, or
// after patience, so that clients send no faster than files are read.
func (h *Handler) upload(w http.ResponseWriter, r *wire.Request) error {
	release, err := h.receiving.Take(wire.ErrTooManyUploads)
	if err != nil {
		return err
	}
	defer release()
	var in received
	err = wire.Form{
		Field: func(name, value string) error {
			if name != "metadata" {
				return nil
			}
			return in.readMetadata(value)
		},
		File: func(part *multipart.Part) error {
			if part.FormName() != "file" || in.file.ID != "" {
				return wire.Invalidf(`An upload has one file, which is named "file".`)
			}
			in.name = part.FileName()
			name, err := upload.Clean(in.name)
			if err != nil {
				return err
			}
			in.file, err = h.cfg.Library.AddFile(r.Context(), r.Who.Subject, name, "assistants", part)
			return err
		},
	}.Read(w, r, h.cfg.MaxUpload)
	var body fileBody
	if err == nil {
		body, err = h.index(r, &in)
	}
	if err != nil {
		if in.file.ID != "" { // if that fails, the owner can still delete the file
			_ = h.cfg.Library.DeleteFile(context.WithoutCancel(r.Context()), r.Who.Subject, in.file.ID)
		}
		return err
	}
	r.Changed = in.file.ID
	return wire.Reply(w, http.StatusOK, body)
}

func (in *received) readMetadata(text string) error {
	object, err := wire.ParseObject([]byte(text))
	if err != nil {
		return err
	}
	var m struct {
		Knowledge wire.Value `json:"knowledge_id"`
		Directory wire.Value `json:"directory_id"`
		Hash      wire.Value `json:"file_hash"`
	}
	object.Read(&m)
	in.knowledge, _ = m.Knowledge.Text()
	in.directory, _ = m.Directory.Text()
	if in.hash, _ = m.Hash.Text(); len(in.hash) > maxHash {
		return wire.Invalidf(`"file_hash" has more than %d bytes.`, maxHash)
	}
	return nil
}

// index adds a file to its knowledge base, and waits until it has been read or patience has passed.
func (h *Handler) index(r *wire.Request, in *received) (fileBody, error) {
	if in.file.ID == "" || in.knowledge == "" {
		return fileBody{}, wire.Invalidf(`The upload must have a part "file", and "metadata" with a "knowledge_id".`)
	}
	s, err := h.cfg.Library.Store(r.Context(), r.Who.Subject, in.knowledge)
	if err != nil {
		return fileBody{}, err
	}
	dir, err := directoryOf(in.directory)
	if err != nil {
		return fileBody{}, err
	}
	attributes, err := json.Marshal(origin{Path: path.Join(dir, path.Base(in.name)), Hash: in.hash})
	if err != nil {
		return fileBody{}, err
	}
	if _, err := h.cfg.Library.Attach(r.Context(), s, []library.Attachment{{File: in.file.ID, Attributes: attributes}}, ""); err != nil {
		return fileBody{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	m, err := h.cfg.Library.Await(ctx, s, in.file.ID)
	switch {
	case err != nil && r.Context().Err() == nil && ctx.Err() != nil: // it will be read later
	case err != nil:
		return fileBody{}, err
	case m.State == library.Failed || m.State == library.Cancelled:
		return fileBody{}, wire.Invalidf("The file cannot be read: %s", m.Detail)
	}
	return bodyOf(s, m), nil
}
