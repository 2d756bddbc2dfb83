package ingest

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/internal/access"
	"parley/internal/documents/metadata"
	"parley/internal/documents/source"
)

// fakeSource is a source made of texts.
type fakeSource struct {
	bodies   map[string]string // by path
	versions map[string]string // where they are not the body
	listErr  error             // ends each listing after its objects
	openErr  error
	hidden   string // a folder that cannot be listed
	link     string // a symbolic link
	unsized  bool   // it lists no sizes
	rights   map[string]*source.Rights

	mu     sync.Mutex
	opened []string
}

func (f *fakeSource) Objects(context.Context) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		if f.hidden != "" && !yield(source.Object{}, &source.HiddenError{Path: f.hidden, Err: errors.New("forbidden")}) {
			return
		}
		if f.link != "" && !yield(source.Object{Path: f.link, Link: true}, nil) {
			return
		}
		for _, p := range slices.Sorted(maps.Keys(f.bodies)) {
			o := source.Object{Path: p, Version: "v " + f.bodies[p], Size: int64(len(f.bodies[p])), Rights: f.rights[p]}
			if f.unsized {
				o.Size = -1
			}
			if v, ok := f.versions[p]; ok {
				o.Version = v
			}
			if !yield(o, nil) {
				return
			}
		}
		if f.listErr != nil {
			yield(source.Object{}, f.listErr)
		}
	}
}

func (f *fakeSource) Open(_ context.Context, o source.Object) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = append(f.opened, o.Path)
	if f.openErr != nil {
		return nil, f.openErr
	}
	return io.NopCloser(strings.NewReader(f.bodies[o.Path])), nil
}

func (f *fakeSource) Close() error { return nil }

// take returns the paths opened since it was last called, sorted.
func (f *fakeSource) take() []string {
	out := f.opened
	f.opened = nil
	slices.Sort(out)
	return out
}

// remoteBench is a bench with a source.
type remoteBench struct {
	*bench
	source *fakeSource
	lose   bool
	quota  int64
	said   metadata.Fields
	rights bool
}

func newRemoteBench(t *testing.T, bodies map[string]string) *remoteBench {
	return &remoteBench{bench: newBench(t), source: &fakeSource{bodies: bodies, versions: map[string]string{}}}
}

func (b *remoteBench) try() (Report, error) {
	b.t.Helper()
	a, err := source.Parse("s3://bucket/docs")
	if err != nil {
		b.t.Fatal(err)
	}
	open := func(context.Context) (source.Source, error) { return b.source, nil }
	return New(b.cfg).RunRemote(b.t.Context(), Remote{Address: a, Open: open, Lose: b.lose, Quota: b.quota, Said: b.said, Rights: b.rights}, nil)
}

func (b *remoteBench) sync(want counts) Report {
	b.t.Helper()
	r, err := b.try()
	if err != nil {
		b.t.Fatal(err)
	}
	b.want(r, want)
	return r
}

func (b *remoteBench) wantOpened(paths ...string) {
	b.t.Helper()
	if got := b.source.take(); !slices.Equal(got, paths) {
		b.t.Errorf("opened %q, want %q", got, paths)
	}
}

func (b *remoteBench) fails(text string) {
	b.t.Helper()
	if _, err := b.try(); !errors.As(err, new(*RemoteError)) || !strings.Contains(err.Error(), text) {
		b.t.Errorf("error %v, want one with %q", err, text)
	}
}

func TestRunRemote_OpensOnlyWhatHasChanged(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha", "deep/b.md": "beta"})
	b.sync(counts{Indexed: 2})
	b.wantNames("a.md", "deep/b.md")
	b.wantOpened("a.md", "deep/b.md")
	b.sync(counts{Unchanged: 2})
	b.wantOpened()

	b.source.bodies["a.md"] = "alpha 2"
	delete(b.source.bodies, "deep/b.md")
	b.source.bodies["c.md"] = "gamma"
	b.sync(counts{Indexed: 1, Updated: 1, Deleted: 1})
	b.wantOpened("a.md", "c.md")
	b.wantNames("a.md", "c.md")

	b.source.versions["a.md"] = "another ETag of the same bytes"
	b.extractor.take()
	b.sync(counts{Unchanged: 2})
	b.wantOpened("a.md")
	if read := b.extractor.take(); len(read) > 0 {
		t.Errorf("%q were extracted again", read)
	}
	b.sync(counts{Unchanged: 2})
	b.wantOpened()
}

func TestRunRemote_DeletesNothingOfASourceThatFails(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha", "b.md": "beta"})
	b.sync(counts{Indexed: 2})
	all := b.source.bodies

	b.source.bodies, b.source.listErr = map[string]string{"a.md": "alpha"}, errors.New("the connection broke")
	b.fails("the connection broke")
	b.source.listErr = nil
	for _, left := range []string{".DS_Store", "parley.yaml"} { // of a place that is not mounted
		b.source.bodies = map[string]string{left: ""}
		b.fails("lists nothing any more")
	}
	b.source.bodies = nil
	b.fails("lists nothing any more")
	b.wantNames("a.md", "b.md")

	b.source.bodies = all
	b.sync(counts{Unchanged: 2})
	b.source.bodies, b.lose = nil, true
	b.sync(counts{Deleted: 2})
	b.wantNames()
	b.lose = false
	b.sync(counts{}) // it has been empty before
}

// A link is not followed, so one in place of a file that says who may see documents must not open them to everybody.
func TestRunRemote_RefusesALinkInPlaceOfRights(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha"})
	b.source.link = "b.md"
	b.sync(counts{Indexed: 1})
	for _, link := range []string{"parley.yaml", "deep/parley.yaml", "a.md.parley.yaml"} {
		b.source.link = link
		b.fails("is a symbolic link")
	}
	b.wantNames("a.md")
}

func TestRunRemote_KeepsWhatItCannotList(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha", "shut/b.md": "beta"})
	b.sync(counts{Indexed: 2})
	b.source.hidden = "shut"
	b.source.bodies = map[string]string{}
	b.sync(counts{Deleted: 1, Failed: 1})
	b.wantNames("shut/b.md")
}

func TestRunRemote_KeepsADocumentThatCannotBeRead(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha"})
	b.sync(counts{Indexed: 1})
	b.source.bodies["a.md"], b.source.openErr = "alpha 2", errors.New("the connection broke")
	b.sync(counts{Failed: 1})
	b.wantNames("a.md")
	b.source.openErr = nil
	b.sync(counts{Updated: 1})
}

func TestRunRemote_EndsWhenTheSourceIsGone(t *testing.T) {
	bodies := map[string]string{}
	for i := range 100 {
		bodies[fmt.Sprintf("%03d.md", i)] = fmt.Sprint("text ", i)
	}
	b := newRemoteBench(t, bodies)
	b.source.openErr = errors.New("no route to host")
	b.fails("no route to host")
	if n := len(b.source.take()); n > 3*maxFails {
		t.Errorf("%d objects were asked for", n)
	}
	b.source.openErr = &source.StatusError{Status: 403} // of each object, not of the source
	b.sync(counts{Failed: 100})
	b.source.openErr = nil
	b.sync(counts{Indexed: 100})
}

func TestRunRemote_LeavesOutNamesThatLeaveTheSource(t *testing.T) {
	b := newRemoteBench(t, map[string]string{
		"../up.md": "x", "a/../../b.md": "x", "/abs.md": "x", "nul\x00.md": "x", `..\win.md`: "x", "": "x", ".git/config.md": "x", "good.md": "good",
	})
	b.sync(counts{Indexed: 1, Skipped: 6})
	b.wantNames("good.md")
	b.wantOpened("good.md")
}

func TestRunRemote_LimitsSizes(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"large.md": strings.Repeat("x", 2000), "small.md": "alpha"})
	b.cfg.MaxBytes = 1000
	b.sync(counts{Indexed: 1, Skipped: 1})
	b.wantOpened("small.md")
	b.sync(counts{Unchanged: 1, Skipped: 1})
	b.wantOpened()
	liar := newRemoteBench(t, map[string]string{"large.md": strings.Repeat("x", 2000)})
	liar.cfg.MaxBytes = 1000
	inner := liar.source
	a, err := source.Parse("s3://bucket")
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(liar.cfg).RunRemote(t.Context(), Remote{Address: a, Open: func(context.Context) (source.Source, error) { return sizeless{inner}, nil }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	liar.want(r, counts{Skipped: 1})
}

// sizeless is a source that says all objects are small.
type sizeless struct{ *fakeSource }

func (s sizeless) Objects(ctx context.Context) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		for o, err := range s.fakeSource.Objects(ctx) {
			if o.Size = 1; !yield(o, err) {
				return
			}
		}
	}
}

// What is said of a document beside it counts as in a folder, also when only that has changed.
func TestRunRemote_FollowsRightsAndSidecars(t *testing.T) {
	b := newRemoteBench(t, map[string]string{
		"a.md": "alpha", "staff/parley.yaml": "groups: [staff]\n", "staff/b.md": "beta", "staff/b.md.parley.yaml": "title: The second letter\n",
	})
	b.sync(counts{Indexed: 2})
	if got := b.corpus.doc(t, "staff/b.md").Document; got.Title != "The second letter" || !slices.Equal(got.Access.Groups, []string{"staff"}) {
		t.Errorf("%+v", got)
	}
	b.source.take()
	b.source.bodies["staff/parley.yaml"] = "groups: [board]\n"
	b.sync(counts{Updated: 1, Unchanged: 1})
	if got := b.corpus.doc(t, "staff/b.md").Document; !slices.Equal(got.Access.Groups, []string{"board"}) {
		t.Errorf("%+v", got.Access)
	}
	b.source.bodies["staff/parley.yaml"] = "groupes: [board]\n" // a mistake lets nobody in
	b.sync(counts{Deleted: 1, Unchanged: 1, Failed: 1})
	b.wantNames("a.md")
	b.source.bodies["staff/parley.yaml"], b.source.openErr = "groups: [staff]\n", errors.New("the connection broke")
	b.fails("the connection broke") // it is not known who may see the documents
}

// What the configuration says of a source counts like a file around it: the files in it are nearer, and a change counts at the
// next run.
func TestRunRemote_GivesASourceRights(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha", "staff/b.md": "beta", "staff/parley.yaml": "groups: [staff]\n"})
	b.said.Access = &access.List{Groups: []string{"board"}}
	wantGroups := func(name string, want ...string) {
		t.Helper()
		if got := b.corpus.doc(t, name).Document.Access.Groups; !slices.Equal(got, want) {
			t.Errorf("%s may be seen by %q, want %q", name, got, want)
		}
	}
	b.sync(counts{Indexed: 2})
	wantGroups("a.md", "board")
	wantGroups("staff/b.md", "staff")
	b.sync(counts{Unchanged: 2})
	b.said.Access = &access.List{Groups: []string{"sales"}}
	b.sync(counts{Updated: 1, Unchanged: 1})
	wantGroups("a.md", "sales")
	b.said.Access = nil
	b.sync(counts{Updated: 1, Unchanged: 1})
	wantGroups("a.md")
}

func TestRunRemote_MayNotNameOtherNamespaces(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "goes to elsewhere"})
	b.cfg.MayName = func(string) bool { return true }
	b.sync(counts{Failed: 1})
	if names := b.corpus.namesIn("elsewhere"); len(names) > 0 {
		t.Errorf("%q are in another namespace", names)
	}
}

func TestRunRemote_ReadsArchives(t *testing.T) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range []string{"one.md", "two.md"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, "text of "+name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b := newRemoteBench(t, map[string]string{"all.zip": buf.String(), "all.zip/one.md": "not the one inside it"})
	b.sync(counts{Indexed: 2, Skipped: 1})
	b.wantNames("all.zip/one.md", "all.zip/two.md")
	b.sync(counts{Unchanged: 2, Skipped: 1})
	b.source.bodies = map[string]string{"other.md": "other"}
	b.sync(counts{Indexed: 1, Deleted: 2})
}

// Two sources with files of the same names do not mix, and neither do they with a folder.
func TestRunRemote_SharesTheNamespaceWithFolders(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "remote"})
	b.write("a.md", "local")
	b.run()
	b.sync(counts{Indexed: 1})
	b.wantNames("a.md", "docs/a.md")
	b.want(b.run(), counts{Unchanged: 1})
	b.sync(counts{Unchanged: 1})
	sites, err := New(b.cfg).Sites(t.Context())
	if err != nil || len(sites) > 0 {
		t.Errorf("sites %v, %v", sites, err)
	}
}

// Sizes that a listing does not have are those of the objects that were read.
func TestRunRemote_ReadsNoMoreThanItsQuota(t *testing.T) {
	for _, unsized := range []bool{false, true} {
		b := newRemoteBench(t, map[string]string{"a.md": "Alpha.", "b.md": "Beta.", "film.xyz": strings.Repeat("x", 1000)})
		b.quota, b.source.unsized = 12, unsized
		b.cfg.Supports = func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".xyz") }
		b.sync(counts{Indexed: 2, Skipped: 1})
		b.sync(counts{Unchanged: 2, Skipped: 1})
		b.source.bodies["c.md"] = "Gamma."
		b.fails("its files have more than its quota of 12 bytes")
		b.wantNames("a.md", "b.md")
		delete(b.source.bodies, "a.md")
		b.sync(counts{Indexed: 1, Unchanged: 1, Deleted: 1, Skipped: 1})
	}
}
