package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/extract"
	"parley/internal/extract/sandbox"
	"parley/internal/retrieval"
	"parley/test/needs"
)

func TestMain(m *testing.M) {
	sandbox.RunWorkerIfAsked(Post)
	goleak.VerifyTestMain(m)
}

// fakeCorpus does in memory what a store does.
type fakeCorpus struct {
	mu      sync.Mutex
	docs    map[string]retrieval.Put // by id
	files   map[retrieval.FileKey]retrieval.File
	roots   []retrieval.Root
	batches int
	onApply func(retrieval.Batch) error // may return an error, which refuses the batch
}

func newFakeCorpus() *fakeCorpus {
	return &fakeCorpus{docs: map[string]retrieval.Put{}, files: map[retrieval.FileKey]retrieval.File{}}
}

func (f *fakeCorpus) Apply(ctx context.Context, b retrieval.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.onApply != nil {
		if err := f.onApply(b); err != nil {
			return err
		}
	}
	f.batches++
	parts := append([]retrieval.Batch{b}, b.Others...)
	for _, part := range parts {
		for _, id := range part.Delete {
			if d, ok := f.docs[id]; ok && d.Document.Namespace != part.Namespace {
				return fmt.Errorf("%s is not in %q", id, part.Namespace)
			}
			delete(f.docs, id)
		}
	}
	for _, part := range parts {
		for _, p := range part.Put {
			if p.Document.Namespace != part.Namespace {
				return fmt.Errorf("a document of %q is put into %q", p.Document.Namespace, part.Namespace)
			}
			f.docs[p.Document.ID] = p
		}
	}
	for _, part := range parts {
		for _, one := range part.PutAccess {
			p := f.docs[one.ID]
			if p.Document.Namespace != part.Namespace {
				return fmt.Errorf("%s is not in %q", one.ID, part.Namespace)
			}
			p.Document.Access = one.List
			f.docs[one.ID] = p
		}
	}
	names := map[[2]string]bool{}
	for _, p := range f.docs {
		name := [2]string{p.Document.Namespace, p.Document.Name}
		if names[name] {
			return fmt.Errorf("two documents are named %q", p.Document.Name)
		}
		names[name] = true
	}
	for _, root := range b.PutRoots {
		f.roots = append(slices.DeleteFunc(f.roots, func(r retrieval.Root) bool { return r.Path == root.Path }), root)
	}
	for _, path := range b.DropRoots {
		f.roots = slices.DeleteFunc(f.roots, func(r retrieval.Root) bool { return r.Path == path })
		for key := range f.files {
			if key.Root == path {
				delete(f.files, key)
			}
		}
	}
	for _, row := range b.PutFiles {
		row.Namespace = b.Namespace
		f.files[row.FileKey] = row
	}
	for _, key := range b.DropFiles {
		delete(f.files, key)
	}
	return nil
}

func (f *fakeCorpus) Roots(context.Context, string) ([]retrieval.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.roots), nil
}

func (f *fakeCorpus) Files(_ context.Context, _, root string) ([]retrieval.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []retrieval.File
	for key, row := range f.files {
		if key.Root == root {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

func (f *fakeCorpus) AllDocuments(_ context.Context, namespace, after string, limit int) ([]retrieval.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []retrieval.Document
	for _, p := range f.docs {
		if p.Document.Namespace == namespace && p.Document.Name > after {
			out = append(out, p.Document)
		}
	}
	slices.SortFunc(out, func(a, b retrieval.Document) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(limit, len(out))], nil
}

func (f *fakeCorpus) FilesOf(_ context.Context, namespace, documentID string) (all []retrieval.File, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range f.files {
		if row.DocumentID == documentID && row.In() == namespace {
			all = append(all, row)
		}
	}
	return all, nil
}

// names returns the names of all documents of the namespace default, sorted.
func (f *fakeCorpus) names() []string { return f.namesIn("default") }

func (f *fakeCorpus) namesIn(namespace string) []string {
	docs, _ := f.AllDocuments(context.Background(), namespace, "", 1<<30)
	var out []string
	for _, d := range docs {
		out = append(out, d.Name)
	}
	return out
}

// doc returns the document of the namespace default with a name.
func (f *fakeCorpus) doc(t *testing.T, name string) retrieval.Put {
	t.Helper()
	return f.docIn(t, "default", name)
}

func (f *fakeCorpus) docIn(t *testing.T, namespace, name string) retrieval.Put {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.docs {
		if p.Document.Namespace == namespace && p.Document.Name == name {
			return p
		}
	}
	t.Fatalf("there is no document %q", name)
	return retrieval.Put{}
}

// fakeBlobs keeps originals in a folder.
type fakeBlobs struct {
	dir string
	put func() error // may return an error; nil accepts all
}

func (b *fakeBlobs) Put(ctx context.Context, r io.Reader) (string, int64, error) {
	if b.put != nil {
		if err := b.put(); err != nil {
			return "", 0, err
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	return sha, int64(len(data)), b.write(sha, data)
}

// write writes the whole file or nothing, because others may read the same content at the same time.
func (b *fakeBlobs) write(sha string, data []byte) error {
	f, err := os.CreateTemp(b.dir, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(b.dir, sha))
}

func (b *fakeBlobs) Open(sha string) (*os.File, error) { return os.Open(filepath.Join(b.dir, sha)) }

// fakeExtractor reads a file as one paragraph. Certain words in the file make it fail.
type fakeExtractor struct {
	mu     sync.Mutex
	read   []string                                     // names, in order
	before func(ctx context.Context, name string) error // called first
}

func (x *fakeExtractor) Extract(ctx context.Context, r extract.Request) (*extract.Result, error) {
	name, path := r.Name, r.Path
	x.mu.Lock()
	x.read = append(x.read, name)
	x.mu.Unlock()
	if x.before != nil {
		if err := x.before(ctx, name); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) || strings.HasSuffix(name, ".eml") {
		x := extract.Extractor{CacheDir: needs.ParserCache(), Limits: extract.Limits{Parts: r.Parts, PartsBytes: r.PartsBytes}}
		doc, err := x.File(ctx, extract.Input{
			Name: name, Content: bytes.NewReader(data), Size: int64(len(data)), Spool: r.Spool, Passwords: r.Passwords,
		})
		return &extract.Result{Document: doc}, err
	}
	switch text := string(bytes.TrimSpace(data)); {
	case text == "":
		return nil, &extract.Error{Reason: extract.Empty, Detail: "the file has no text"}
	case strings.Contains(text, "BUSY"):
		return nil, &extract.Error{Reason: extract.Busy, Detail: "the machine had no time for it"}
	case strings.HasPrefix(text, "locked with "):
		if !slices.Contains(r.Passwords, strings.TrimPrefix(text, "locked with ")) {
			return nil, &extract.Error{Reason: extract.Encrypted, Detail: "it needs a password"}
		}
		fallthrough
	case strings.HasPrefix(text, "plain "):
		d := doc(page(0, "p: "+text))
		return &extract.Result{Document: d}, nil
	case strings.HasPrefix(text, "RESTRICTED "):
		d := doc(page(0, "p: "+text))
		d.Meta.Unknown = "acl"
		return &extract.Result{Document: d}, nil
	case strings.HasPrefix(text, "PARTLY "):
		d := doc(page(0, "p: "+text))
		d.Notes = []string{"2 of 3 pages (2–3) have no text layer", "a part is cut off"}
		return &extract.Result{Document: d}, nil
	case strings.Contains(text, "DAMAGED"):
		return nil, &extract.Error{Reason: extract.Damaged, Detail: "the file is damaged"}
	default:
		d := doc(page(0, "p: "+text))
		if who, ok := strings.CutPrefix(text, "only for "); ok {
			d.Meta.Users = []string{who}
		}
		if ns, ok := strings.CutPrefix(text, "goes to "); ok {
			d.Meta.Namespace = ns
		}
		result := &extract.Result{Document: d}
		if len(text)%2 == 0 { // both ways must give the same
			if result.Post, err = Post(d, r.Post); err != nil {
				return nil, err
			}
		}
		return result, nil
	}
}

// take returns the names read since it was last called, sorted.
func (x *fakeExtractor) take() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.read
	x.read = nil
	slices.Sort(out)
	return out
}

// bench is an ingester with fakes, and a folder for files.
type bench struct {
	t         *testing.T
	dir, data string
	corpus    *fakeCorpus
	blobs     *fakeBlobs
	extractor *fakeExtractor
	cfg       Config
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, dir: t.TempDir(), data: t.TempDir(), corpus: newFakeCorpus(), extractor: &fakeExtractor{}}
	b.blobs = &fakeBlobs{dir: t.TempDir()}
	b.cfg = Config{
		Corpus: b.corpus, Store: b.corpus, Blobs: b.blobs, Extractor: b.extractor,
		Namespace: "default", DataDir: b.data, Workers: 2,
		pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	return b
}

// write creates or replaces a file. Its time is old enough that the ingester trusts it.
func (b *bench) write(path, text string) {
	b.t.Helper()
	full := filepath.Join(b.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	when := time.Now().Add(-time.Hour)
	if st, err := os.Stat(full); err == nil {
		when = st.ModTime().Add(time.Second)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chtimes(full, when, when); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remove(path string) {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.dir, path)); err != nil {
		b.t.Fatal(err)
	}
}

// run ingests paths below the folder, or the whole folder if there are none.
func (b *bench) run(paths ...string) Report {
	b.t.Helper()
	r, err := b.try(context.Background(), paths...)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) try(ctx context.Context, paths ...string) (Report, error) {
	full := []string{b.dir}
	if len(paths) > 0 {
		full = nil
	}
	for _, p := range paths {
		full = append(full, filepath.Join(b.dir, p))
	}
	return New(b.cfg).Run(ctx, full, nil)
}

// counts are the numbers of a report.
type counts struct{ Indexed, Updated, Unchanged, Deleted, Skipped, Failed int }

func (r Report) counts() counts {
	return counts{r.Indexed, r.Updated, r.Unchanged, r.Deleted, len(r.Skipped), len(r.Failed)}
}

func (b *bench) want(r Report, want counts) {
	b.t.Helper()
	if got := r.counts(); got != want {
		b.t.Errorf("got %+v, want %+v; skipped %+v, failed %+v", got, want, r.Skipped, r.Failed)
	}
}

func (b *bench) wantNames(names ...string) {
	b.t.Helper()
	if got := b.corpus.names(); !slices.Equal(got, names) {
		b.t.Errorf("documents %q, want %q", got, names)
	}
}
