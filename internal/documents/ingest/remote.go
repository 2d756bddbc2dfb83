package ingest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"parley/internal/access"
	"parley/internal/documents/metadata"
	"parley/internal/documents/source"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// RemoteError says that a source could not be read, so that nothing of it was deleted.
type RemoteError struct {
	Address string
	Reason  string // for people
	Full    bool   // it is there, and holds more than its quota
}

func (e *RemoteError) Error() string { return fmt.Sprintf("cannot read %s: %s", e.Address, e.Reason) }

// Remote is a source that is reached over a network.
type Remote struct {
	Address source.Address
	Open    func(ctx context.Context) (source.Source, error)
	// Lose lets a run delete the documents of a source that lists nothing any more. Otherwise that is an error: more often
	// the place is not mounted, or the rights to list it are gone, than that everything was deleted.
	Lose bool
	// Quota is the maximum size of all objects that may become documents, in bytes; 0 for none. A source that holds more is
	// not read, and its documents stay.
	Quota int64
	// Said is said of all its documents, as by a parley.yaml around the source; the files in it are nearer.
	Said metadata.Fields
	// Rights lets the source decide who may see each document, whatever the files in it say.
	Rights bool
}

// RunRemote brings the corpus up to date with a remote source: it reads new and changed objects, and deletes the documents
// of those that are not listed any more. An object of the same version costs nothing. It is otherwise like Run, and may run
// at the same time. A *RemoteError says that the source could not be read; what was committed before it stays.
func (in *Ingester) RunRemote(ctx context.Context, from Remote, progress func(Progress)) (Report, error) {
	unlock, first, err := in.locks().share("sources.lock", "reading sources into", in.cfg.Namespace+"\x00"+from.Address.String())
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	spools, err := makeSpools(in.cfg.DataDir, "sources-spool", first)
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(spools)
	return in.runRemote(ctx, from, spools, progress)
}

// SurveyRemote is Survey for RunRemote.
func (in *Ingester) SurveyRemote(ctx context.Context, from Remote, visit func(retrieval.Put) error, progress func(Progress)) (Report, error) {
	return in.surveying(visit, func(in *Ingester, spools string) (Report, error) {
		return in.runRemote(ctx, from, spools, progress)
	})
}

func (in *Ingester) runRemote(ctx context.Context, from Remote, spools string, progress func(Progress)) (Report, error) {
	opened, err := from.Open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		return Report{}, &RemoteError{Address: from.Address.String(), Reason: err.Error()}
	}
	defer opened.Close()
	cfg := in.cfg
	cfg.MayName = nil // its objects may be written by people who may not write into other namespaces
	choose := func(r *run, ctx context.Context, _ []string) error { return r.chooseRemote(ctx, from, opened) }
	return (&Ingester{cfg: cfg}).run(ctx, choose, nil, spools, progress)
}

// chooseRemote makes a source the only target of a run.
func (r *run) chooseRemote(ctx context.Context, from Remote, opened source.Source) error {
	roots, err := r.cfg.Store.Roots(ctx, r.cfg.Namespace)
	if err != nil {
		return fmt.Errorf("read the ingested roots: %w", err)
	}
	address := from.Address.String()
	place, _, _ := strings.Cut(address, "?")
	t := &target{
		root: retrieval.Root{Path: address}, path: address, prefixes: prefixesOf(roots), ids: map[string]bool{},
		remote: &remote{Source: opened, address: address, place: strings.TrimSuffix(place, "/"), lose: from.Lose, quota: from.Quota, reads: r.cfg.Supports, said: from.Said, rights: from.Rights, objects: map[string]source.Object{}},
	}
	if at := slices.IndexFunc(roots, func(r retrieval.Root) bool { return r.Path == address }); at >= 0 {
		t.root = roots[at]
	}
	r.targets = []*target{t}
	return nil
}

// remote is a remote source in a run.
type remote struct {
	source.Source
	address string
	place   string // the address for people
	lose    bool   // see Remote.Lose
	quota   int64  // see Remote.Quota
	used    atomic.Int64
	reads   func(path string, head []byte) bool
	said    metadata.Fields
	whole   *metadata.Rules // that say it; nil for none
	rights  bool            // see Remote.Rights
	lists   map[string]*access.List
	listed  map[string]*source.Rights // all different rights of the listing, by hash
	unclear error                     // why it is not known what describes the objects

	objects map[string]source.Object   // metadata files, by path
	rules   map[string]*metadata.Rules // of the folders that have a file

	mu    sync.Mutex
	read  map[string][]byte // metadata files that were read, by path
	fails atomic.Int32      // objects in a row that the source did not give
}

// remoteObject is an object of a source that may become a document.
type remoteObject struct {
	source.Object
	version string // of the object and its metadata
	rights  string // hash of the list from the source; "" without source_rights
}

// objectState is the state of an object that its row keeps for the next run.
type objectState struct {
	metadata.Limits
	Version string `json:"version"`
	Rights  string `json:"rights,omitempty"` // remoteObject.rights
}

func (o *remoteObject) state(l metadata.Limits) string {
	return objectState{l, o.version, o.rights}.encode()
}

func (s objectState) encode() string {
	data, err := json.Marshal(s)
	if err != nil {
		return "" // it is read again
	}
	return string(data)
}

func decodeObjectState(state string) (s objectState) {
	if json.Unmarshal([]byte(state), &s) != nil {
		return objectState{}
	}
	return s
}

// scan lists the source and makes candidates of its objects. An error changes nothing.
func (o *remote) scan(ctx context.Context, t *target) error {
	var all []source.Object
	for object, err := range o.Objects(ctx) {
		hidden, isHidden := errors.AsType[*source.HiddenError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isHidden:
			t.hidden = append(t.hidden, rowPath(hidden.Path))
			t.failed = append(t.failed, FileResult{Path: t.display(hidden.Path), Reason: extract.Unreadable, Detail: hidden.Error()})
			continue
		case err != nil:
			return o.failed(err)
		}
		if err := source.CheckPath(object.Path); err != nil {
			t.skipped = append(t.skipped, FileResult{Path: t.display(object.Path), Reason: extract.Unsupported, Detail: err.Error()})
			continue
		}
		_, describes := metadata.SidecarOf(object.Path)
		switch describes = describes || metadata.IsFolderFile(path.Base(object.Path)); {
		case object.Link && describes:
			o.unclear = o.failed(fmt.Errorf("%s is a symbolic link, which is not followed, so it is not known who may see the documents", object.Path))
			continue
		case object.Link || slices.ContainsFunc(strings.Split(object.Path, "/"), ignored):
			continue
		}
		object.Rights = o.shared(object.Rights)
		all = append(all, object)
	}
	slices.SortStableFunc(all, func(a, b source.Object) int { return strings.Compare(a.Path, b.Path) })
	o.candidates(t, all)
	return nil
}

func (o *remote) failed(err error) error {
	return &RemoteError{Address: o.address, Reason: err.Error()}
}

// candidates makes candidates of the listed objects, except those that describe others.
func (o *remote) candidates(t *target, all []source.Object) {
	names := make(map[string]bool, len(all))
	for _, object := range all {
		names[object.Path] = true
	}
	isSidecar := func(p string) bool { of, is := metadata.SidecarOf(p); return is && names[of] }
	for _, object := range all {
		if metadata.IsFolderFile(path.Base(object.Path)) || isSidecar(object.Path) {
			o.objects[object.Path] = object
		}
	}
	for i, object := range all {
		switch {
		case o.objects[object.Path].Path != "":
			continue
		case i > 0 && all[i-1].Path == object.Path, insideOther(object.Path, names):
			t.skipped = append(t.skipped, FileResult{Path: t.display(object.Path), Reason: extract.Unreadable,
				Detail: "another object, or a file inside one, has the same name"})
			continue
		}
		c := &candidate{
			target: t, path: object.Path, key: object.Path, size: object.Size, object: &remoteObject{Object: object}}
		if o.rights {
			c.access, c.object.rights = o.accessOf(object)
		}
		t.candidates = append(t.candidates, c)
	}
}

// describe gives the candidates what other objects say of them. It runs after settleRights: a damaged parley.yaml must not keep
// changed rights from being applied.
func (o *remote) describe(ctx context.Context, t *target) error {
	if o.unclear != nil {
		return o.unclear
	}
	if err := o.readRules(ctx); err != nil {
		return err
	}
	for _, c := range t.candidates {
		c.rules = o.rulesOf(path.Dir(c.path))
		c.object.version = c.object.Version + o.described(c.path)
	}
	return nil
}

// MayRead reports whether a run might read an object of a source, by its path and size. supports is Config.Supports.
func MayRead(supports func(name string, head []byte) bool, p string, size int64) bool {
	return size <= MaxFile && supports(p, nil) && !slices.ContainsFunc(strings.Split(p, "/"), ignored)
}

// insideOther reports whether a path lies below that of an object, as paths of files inside files do.
func insideOther(p string, names map[string]bool) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if names[dir] {
			return true
		}
	}
	return false
}

// readRules reads the files of folders. Without one of them, it is not known who may see the documents.
func (o *remote) readRules(ctx context.Context) error {
	o.rules, o.read = map[string]*metadata.Rules{}, map[string][]byte{}
	if !reflect.DeepEqual(o.said, metadata.Fields{}) {
		o.whole = metadata.NewRules(".", nil, o.said)
	}
	var dirs []string
	for p, object := range o.objects {
		if !slices.Contains(metadata.FolderFiles, path.Base(p)) {
			continue
		}
		body, err := o.Source.Open(ctx, object)
		if err != nil {
			return o.failed(fmt.Errorf("read %s: %w", p, err))
		}
		data, err := io.ReadAll(io.LimitReader(body, metadata.MaxSize+1))
		if err = errors.Join(err, body.Close()); err != nil {
			return o.failed(fmt.Errorf("read %s: %w", p, err))
		}
		o.read[p] = data
		dirs = append(dirs, path.Dir(p))
	}
	slices.Sort(dirs) // outer folders first
	for _, dir := range slices.Compact(dirs) {
		around := o.whole
		if dir != "." {
			around = o.rulesOf(path.Dir(dir))
		}
		o.rules[dir] = metadata.ReadRules(o, dir, around)
	}
	return nil
}

// rulesOf returns the rules for the files of a folder.
func (o *remote) rulesOf(dir string) *metadata.Rules {
	for o.rules[dir] == nil {
		if dir == "." {
			return o.whole
		}
		dir = path.Dir(dir)
	}
	return o.rules[dir]
}

// described returns a hash of the versions of all that describes an object; "" if nothing does.
func (o *remote) described(p string) string {
	h, some := sha256.New(), o.whole != nil
	if some {
		if err := json.NewEncoder(h).Encode(o.said); err != nil { // of texts and numbers
			panic(fmt.Sprintf("ingest: what is said of a source cannot be encoded: %v", err))
		}
	}
	add := func(p string) {
		if object, ok := o.objects[p]; ok {
			some = true
			fmt.Fprintf(h, "%q %q\n", p, object.Version)
		}
	}
	for _, suffix := range metadata.SidecarSuffixes {
		add(p + suffix)
	}
	for dir := path.Dir(p); len(o.rules) > 0; dir = path.Dir(dir) {
		for _, name := range metadata.FolderFiles {
			add(path.Join(dir, name))
		}
		if dir == "." {
			break
		}
	}
	if !some {
		return ""
	}
	return "+" + hex.EncodeToString(h.Sum(nil)[:12])
}

// Open implements metadata.Tree for what describes objects.
func (o *remote) Open(p string) (io.ReadCloser, error) {
	o.mu.Lock()
	data, ok := o.read[p]
	o.mu.Unlock()
	if ok {
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	object, ok := o.objects[p]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return o.Source.Open(context.Background(), object) // it has its own limit of time
}

// use counts the bytes of an object that may become a document.
func (o *remote) use(bytes int64) error {
	if used := o.used.Add(max(bytes, 0)); o.quota > 0 && used > o.quota {
		return &RemoteError{Address: o.address, Full: true, Reason: fmt.Sprintf("its files have more than its quota of %s. Its documents stay as they are", quantity(o.quota))}
	}
	return nil
}

// quantity writes a number of bytes for people.
func quantity(bytes int64) string {
	if bytes < 10<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// settle compares the listing with what is known. A source without documents gets its prefix like a new one.
func (o *remote) settle(t *target, known map[string]knownFile) error {
	t.fresh = len(known) == 0
	for _, c := range t.candidates {
		size := c.size
		if size < 0 {
			size = known[c.key].Size // fetchObject counts one that is new
		}
		if !o.reads(c.path, nil) {
			continue
		}
		if err := o.use(size); err != nil {
			return err
		}
	}
	if len(t.candidates) > 0 || o.lose || len(t.hidden) > 0 {
		return nil
	}
	missing := 0
	for _, f := range known {
		if f.DocumentID != "" {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	return &RemoteError{Address: o.address,
		Reason: fmt.Sprintf("it lists nothing any more. Its %d documents stay until it does, or until somebody says that they may go", missing)}
}

// maxFails is the number of consecutive objects that a source may fail to give before the run ends.
const maxFails = 10

// keepObject puts an object into the blob store.
func (r *run) keepObject(ctx context.Context, c *candidate) (original, error) {
	switch {
	case !r.cfg.Supports(c.path, nil):
		return original{}, &sourceError{errNoParser}
	case c.size > r.cfg.MaxBytes:
		return original{}, &sourceError{errTooLarge}
	}
	o, err := r.fetchObject(ctx, c)
	remote := c.target.remote
	failed, isSource := errors.AsType[*sourceError](err)
	switch {
	case !isSource, errors.Is(err, errNoParser), errors.Is(err, errTooLarge), errors.Is(err, source.ErrRefused):
		remote.fails.Store(0)
	case remote.fails.Add(1) >= maxFails:
		return o, remote.failed(failed)
	}
	return o, err
}

func (r *run) fetchObject(ctx context.Context, c *candidate) (original, error) {
	body, err := c.target.remote.Source.Open(ctx, c.object.Object)
	if errors.Is(err, source.ErrTooLarge) {
		err = errTooLarge
	}
	if err != nil {
		return original{}, &sourceError{err}
	}
	defer body.Close()
	buffered := bufio.NewReaderSize(body, headBytes)
	head, err := buffered.Peek(headBytes)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return original{}, &sourceError{err}
	case !r.cfg.Supports(c.path, head):
		return original{}, &sourceError{errNoParser}
	}
	o, err := r.store(ctx, buffered)
	if o.size = o.bytes; err == nil && c.size < 0 && o.bytes > c.known.Size {
		err = c.target.remote.use(o.bytes - c.known.Size)
	}
	return o, err
}
