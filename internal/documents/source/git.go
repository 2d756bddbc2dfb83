package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitdaemon "github.com/go-git/go-git/v5/plumbing/transport/git"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/filesystem"
	gossh "golang.org/x/crypto/ssh"
)

// repository is the newest commit at a ref of a git repository, which lies in the cache.
type repository struct {
	store   *filesystem.Storage
	tree    plumbing.Hash // of the folder that is read
	scratch string        // folder for large files while they are read
	partial bool          // files over the limit are not in the cache
	mu      sync.Mutex    // go-git's storage is not safe for concurrent use
}

// The limits of a fetch.
const (
	fetchTime = 2 * time.Hour
	maxFetch  = 16 << 30 // bytes that a fetch may bring
	maxObject = 1 << 30  // bytes of an object, which is in memory for a moment
	maxLoose  = 200      // objects in one of the cache's 256 folders, after which it is fetched anew, without what is gone
	inMemory  = 1 << 20  // bytes of a file that is not written to a file while it is read
)

// headRef is the ref of the commit that was fetched completely.
const headRef = plumbing.ReferenceName("refs/parley/head")

func openGit(ctx context.Context, at *url.URL, o Options) (s Source, err error) {
	defer func() {
		if p := recover(); p != nil { // of the library, on what a server sent
			err = fmt.Errorf("read the repository: %v", p)
		}
	}()
	sum := sha256.Sum256([]byte(at.String()))
	dir := filepath.Join(o.Cache, "git", hex.EncodeToString(sum[:16]))
	query := at.Query()
	head, partial, err := fetchHead(ctx, dir, at, query.Get("ref"), o)
	if err != nil {
		return nil, err
	}
	r := &repository{store: openStorage(dir), scratch: dir, partial: partial}
	if r.tree, err = treeAt(r.store, head, query.Get("path")); err != nil {
		return nil, err
	}
	return r, nil
}

func openStorage(dir string) *filesystem.Storage {
	options := filesystem.Options{LargeObjectThreshold: inMemory}
	return filesystem.NewStorageWithOptions(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(16<<20), options)
}

// treeAt returns the tree of a folder at a commit.
func treeAt(store *filesystem.Storage, head plumbing.Hash, folder string) (tree plumbing.Hash, err error) {
	commit, err := readObject(store, plumbing.CommitObject, head)
	if err != nil {
		return tree, fmt.Errorf("read the commit: %w", err)
	}
	line, _, _ := strings.Cut(string(commit), "\n")
	if line, ok := strings.CutPrefix(line, "tree "); !ok || !plumbing.IsHash(line) {
		return tree, errors.New("the commit has no tree")
	}
	tree = plumbing.NewHash(strings.TrimPrefix(line, "tree "))
	for name := range strings.SplitSeq(strings.Trim(path.Clean("/"+folder), "/"), "/") {
		if name == "" {
			continue
		}
		entries, err := readTree(store, tree)
		if err != nil {
			return tree, err
		}
		at := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name && e.mode == filemode.Dir })
		if at < 0 {
			return tree, fmt.Errorf("the repository has no folder %q at that commit", folder)
		}
		tree = entries[at].hash
	}
	return tree, nil
}

// maxTree is the maximum size of a commit or a tree, in bytes.
const maxTree = 64 << 20

// readObject returns the content of a commit or a tree.
func readObject(store *filesystem.Storage, kind plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	o, err := store.EncodedObject(kind, hash)
	if err != nil {
		return nil, err
	}
	if o.Size() > maxTree {
		return nil, errors.New("it is too large")
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

type treeEntry struct {
	mode filemode.FileMode
	name string
	hash plumbing.Hash
}

// readTree returns the entries of a tree: each has its mode in octal digits, a space, its name, a NUL, and its hash.
func readTree(store *filesystem.Storage, hash plumbing.Hash) (all []treeEntry, err error) {
	data, err := readObject(store, plumbing.TreeObject, hash)
	if err != nil {
		return nil, fmt.Errorf("read a folder of the repository: %w", err)
	}
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		e := treeEntry{name: name}
		e.mode, err = filemode.New(mode)
		if !ok || !spaced || err != nil || len(rest) < len(e.hash) {
			return nil, errors.New("a folder of the repository is damaged")
		}
		data = rest[copy(e.hash[:], rest):]
		all = append(all, e)
	}
	return all, nil
}

// fetchHead brings the newest commit into the cache, and returns it. When the newest one is there, nothing is fetched;
// otherwise what has changed since. partial: the server leaves files over the limit out.
func fetchHead(ctx context.Context, dir string, at *url.URL, ref string, o Options) (head plumbing.Hash, partial bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	session, err := dialGitWithin(ctx, at, o)
	if err != nil {
		return head, false, err
	}
	defer session.Close()
	told, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return head, false, hideQuery(err)
	}
	if head, err = findRef(told, ref); err != nil {
		return head, false, err
	}
	partial = told.Capabilities.Supports(capability.Filter)
	have := fetched(dir)
	if have == head {
		return head, partial, nil
	}
	if loose, _ := filepath.Glob(filepath.Join(dir, "objects", "17", "*")); have.IsZero() || len(loose) > maxLoose {
		have = plumbing.ZeroHash
		if err := os.RemoveAll(dir); err != nil {
			return head, partial, fmt.Errorf("empty the cache of the repository: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return head, partial, fmt.Errorf("make the cache of the repository: %w", err)
	}
	store := openStorage(dir)
	if err := fetchPack(ctx, session, told, store, head, have, o.MaxBytes); err != nil {
		// What is there may be damaged. The next run begins without it.
		return head, partial, errors.Join(hideQuery(err), os.RemoveAll(dir))
	}
	return head, partial, store.SetReference(plumbing.NewHashReference(headRef, head))
}

// fetched returns the commit that is in the cache with all its files; zero for none.
func fetched(dir string) plumbing.Hash {
	if _, err := os.Stat(dir); err != nil {
		return plumbing.ZeroHash
	}
	store := openStorage(dir)
	ref, err := store.Reference(headRef)
	if err != nil || store.HasEncodedObject(ref.Hash()) != nil {
		return plumbing.ZeroHash
	}
	return ref.Hash()
}

// findRef returns the commit of a branch or tag, by default of HEAD.
func findRef(told *packp.AdvRefs, ref string) (plumbing.Hash, error) {
	if ref == "" {
		if told.Head != nil {
			return *told.Head, nil
		}
		return plumbing.ZeroHash, errors.New("the repository has no HEAD; name a branch with ?ref=")
	}
	for _, name := range []string{"refs/heads/" + ref, "refs/tags/" + ref, ref} {
		if hash, ok := told.Peeled[name]; ok {
			return hash, nil
		}
		if hash, ok := told.References[name]; ok {
			return hash, nil
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("the repository has no branch or tag %q", ref)
}

// fetchPack fetches a commit without its history, and without what the commit have has.
func fetchPack(ctx context.Context, session transport.UploadPackSession, told *packp.AdvRefs, store *filesystem.Storage, head, have plumbing.Hash, most int64) error {
	r := packp.NewUploadPackRequestFromCapabilities(told.Capabilities)
	r.Wants = []plumbing.Hash{head}
	if told.Capabilities.Supports(capability.Shallow) {
		r.Depth = packp.DepthCommits(1)
		if err := r.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
		if !have.IsZero() {
			r.Shallows = []plumbing.Hash{have}
		}
	}
	if told.Capabilities.Supports(capability.Filter) {
		if err := r.Capabilities.Set(capability.Filter); err != nil {
			return err
		}
		r.Filter = packp.FilterBlobLimit(uint64(most)+1, packp.BlobLimitPrefixNone)
	}
	if !have.IsZero() {
		r.Haves = []plumbing.Hash{have}
		if err := r.Capabilities.Set(capability.ThinPack); err != nil {
			return err
		}
	}
	answer, err := session.UploadPack(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	var pack io.Reader = answer
	switch {
	case r.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, answer)
	case r.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return keepPack(store, pack, !have.IsZero())
}

// keepPack puts the objects of a pack into the cache, by way of a file. Those of a thin one may be differences to objects
// that are there.
func keepPack(store *filesystem.Storage, pack io.Reader, thin bool) error {
	f, err := os.CreateTemp(store.Filesystem().Root(), "scratch-*")
	if err != nil {
		return err
	}
	defer scratchFile{f}.Close()
	if _, err := io.Copy(f, &atMost{pack, maxFetch}); err != nil {
		return fmt.Errorf("receive the commit: %w", err)
	}
	if err := checkPack(f); err != nil {
		return err
	}
	if thin {
		// Without the storage's own writer of packs, which takes no thin ones.
		parser, err := packfile.NewParserWithStorage(packfile.NewScanner(f), struct{ storer.EncodedObjectStorer }{store})
		if err == nil {
			_, err = parser.Parse()
		}
		return err
	}
	return packfile.WritePackfileToObjectStorage(store, f)
}

// checkPack returns an error for a pack with an object that would take too much memory, and leaves the file at its start.
func checkPack(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	scanner := packfile.NewScanner(f)
	_, n, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("read what the server sent: %w", err)
	}
	for range n {
		h, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("read what the server sent: %w", err)
		}
		if h.Length > maxObject {
			return fmt.Errorf("the repository has a file of more than %d MiB, and its server cannot leave that out", maxObject>>20)
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// atMost is a reader that fails after a number of bytes.
type atMost struct {
	io.Reader
	left int64
}

func (m *atMost) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.left -= int64(n); m.left < 0 {
		return n, errors.New("the repository is too large")
	}
	return n, err
}

// dialTime is the time limit for connecting to a server. go-git's SSH has no limit of its own.
const dialTime = time.Minute

// dialGitWithin is dialGit with a limit. A session that comes too late is closed.
func dialGitWithin(ctx context.Context, at *url.URL, o Options) (transport.UploadPackSession, error) {
	type result struct {
		session transport.UploadPackSession
		err     error
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	dialled := make(chan result)
	go func() {
		session, err := dialGit(at, o)
		select {
		case dialled <- result{session, err}:
		case <-ctx.Done():
			if err == nil {
				_ = session.Close() // nobody waits for it
			}
		}
	}()
	select {
	case r := <-dialled:
		return r.session, r.err
	case <-ctx.Done():
		return nil, errors.New("the server did not answer in time")
	}
}

// dialGit returns a session with the server.
func dialGit(at *url.URL, o Options) (transport.UploadPackSession, error) {
	scheme := strings.TrimPrefix(at.Scheme, "git+")
	u := url.URL{Scheme: scheme, Host: at.Host, Path: at.Path}
	end, err := transport.NewEndpoint(u.String())
	if err != nil {
		return nil, errors.New("the address is not valid")
	}
	switch scheme {
	case "ssh":
		keys, err := sshAccount(cmp.Or(o.User, "git"), net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "22")), o)
		if err != nil {
			return nil, err
		}
		return gitssh.NewClient(nil).NewUploadPackSession(end, keys)
	case "git":
		return gitdaemon.DefaultClient.NewUploadPackSession(end, nil)
	}
	var auth transport.AuthMethod
	if o.Secret != "" {
		auth = &githttp.BasicAuth{Username: cmp.Or(o.User, "git"), Password: o.Secret}
	}
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.ResponseHeaderTimeout = headerTime
	client := &http.Client{Transport: limitedTransport{plain}, CheckRedirect: sameHost}
	return githttp.NewClient(client).NewUploadPackSession(end, auth)
}

// limitedTransport gives each request its limit.
type limitedTransport struct{ http.RoundTripper }

func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, limit := newLimit(r.Context(), fetchTime)
	answer, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		limit.end()
		return nil, err
	}
	answer.Body = &limitedBody{answer.Body, limit}
	return answer, nil
}

// sshAccount returns how Parley signs in to an SSH server at host:port, and how it checks the server's key. Of its keys it is
// asked for one of a kind that is known.
func sshAccount(user, server string, o Options) (gitssh.AuthMethod, error) {
	var files []string
	if o.KnownHosts != "" {
		files = []string{o.KnownHosts}
	}
	known, err := gitssh.NewKnownHostsDb(files...)
	if err != nil {
		return nil, fmt.Errorf("read the keys of known hosts: %w", err)
	}
	helper := gitssh.HostKeyCallbackHelper{HostKeyCallback: known.HostKeyCallback(), HostKeyAlgorithms: known.HostKeyAlgorithms(server)}
	if o.KeyFile == "" {
		return &gitssh.Password{User: user, Password: o.Secret, HostKeyCallbackHelper: helper}, nil
	}
	pem, err := os.ReadFile(o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read key_file: %w", err)
	}
	key, err := gossh.ParsePrivateKey(pem)
	if _, sealed := errors.AsType[*gossh.PassphraseMissingError](err); sealed {
		key, err = gossh.ParsePrivateKeyWithPassphrase(pem, []byte(o.Secret))
	}
	if err != nil {
		return nil, fmt.Errorf("read key_file: %w", err)
	}
	return &gitssh.PublicKeys{User: user, Signer: key, HostKeyCallbackHelper: helper}, nil
}

func (r *repository) Close() error { return r.store.Close() }

// Objects implements Source.
func (r *repository) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		trees := 0
		var walk func(dir string, tree plumbing.Hash, depth int) bool
		walk = func(dir string, tree plumbing.Hash, depth int) bool {
			if trees++; trees > MaxObjects || depth > maxDepth || ctx.Err() != nil {
				yield(Object{}, cmp.Or(ctx.Err(), errors.New("the repository has too many folders")))
				return false
			}
			r.mu.Lock()
			entries, err := readTree(r.store, tree)
			r.mu.Unlock()
			if err != nil {
				yield(Object{}, err)
				return false
			}
			for _, e := range entries {
				p := strings.TrimPrefix(dir+"/"+e.name, "/") // not cleaned: see CheckPath
				switch e.mode {
				case filemode.Regular, filemode.Executable, filemode.Deprecated:
					if !yield(Object{Path: p, Version: e.hash.String(), Size: -1, key: e.hash.String()}, nil) {
						return false
					}
				case filemode.Symlink:
					if !yield(Object{Path: p, Link: true}, nil) {
						return false
					}
				case filemode.Dir:
					if !walk(p, e.hash, depth+1) {
						return false
					}
				}
			}
			return true
		}
		walk("", r.tree, 0)
	}
}

// Open implements Source.
func (r *repository) Open(_ context.Context, o Object) (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	blob, err := r.store.EncodedObject(plumbing.BlobObject, plumbing.NewHash(o.key))
	if errors.Is(err, plumbing.ErrObjectNotFound) && r.partial {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read a file of the repository: %w", err)
	}
	content, err := blob.Reader()
	if err != nil {
		return nil, fmt.Errorf("read a file of the repository: %w", err)
	}
	defer content.Close()
	if blob.Size() <= inMemory {
		all, err := io.ReadAll(content)
		return io.NopCloser(bytes.NewReader(all)), err
	}
	return copyToScratch(r.scratch, content)
}

// scratchFile is a file that is removed when it is closed.
type scratchFile struct{ *os.File }

func (f scratchFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

func copyToScratch(dir string, r io.Reader) (io.ReadCloser, error) {
	f, err := os.CreateTemp(dir, "scratch-*")
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, scratchFile{f}.Close())
	}
	return scratchFile{f}, nil
}
