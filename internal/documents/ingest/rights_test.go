package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/documents/source"
	"parley/internal/retrieval"
)

// newRightsBench returns a bench with a source that says who may see its objects.
func newRightsBench(t *testing.T, bodies map[string]string) *remoteBench {
	b := newRemoteBench(t, bodies)
	b.rights, b.source.rights = true, map[string]*source.Rights{}
	return b
}

func seenBy(users ...string) *source.Rights {
	return &source.Rights{Access: access.List{Users: users}}
}

func (b *remoteBench) wantUsers(name string, want ...string) {
	b.t.Helper()
	if got := b.corpus.doc(b.t, name).Document.Access; !slices.Equal(got.Users, want) || len(got.Groups) > 0 || got.SignedIn {
		b.t.Errorf("%s may be seen by %+v, want %q", name, got, want)
	}
}

// Changed rights count without reading the file again, for nested files too, and a file cannot say otherwise.
func TestRunRemote_RightsOfTheSourceCountForUnchangedObjects(t *testing.T) {
	b := newRightsBench(t, map[string]string{
		"a.md": "alpha", "all.zip": zipped(t, "in.md", "inner", "parley.yaml", "users: [mallory]"),
		"parley.yaml": "users: [mallory]\ncategory: letters\n", "a.md.parley.yaml": "everybody: public\n",
	})
	b.source.versions["all.zip"] = "1"
	b.source.rights["a.md"], b.source.rights["all.zip"] = seenBy("anna"), seenBy("anna")
	b.sync(counts{Indexed: 2})
	b.wantUsers("a.md", "anna")
	b.wantUsers("all.zip/in.md", "anna")
	if got := b.corpus.doc(t, "a.md").Document.Category; got != "letters" {
		t.Errorf("what the source's files say beside rights does not count: category %q", got)
	}
	b.source.take()
	b.extractor.take()
	for _, users := range [][]string{{"anna", "bob"}, {"bob"}} {
		b.source.rights["a.md"], b.source.rights["all.zip"] = seenBy(users...), seenBy(users...)
		b.sync(counts{Unchanged: 2})
		b.wantUsers("a.md", users...)
		b.wantUsers("all.zip/in.md", users...)
	}
	b.wantOpened("parley.yaml", "parley.yaml") // as at each run
	if read := b.extractor.take(); len(read) > 0 {
		t.Errorf("%q were extracted again", read)
	}
	batches := b.corpus.batches
	b.sync(counts{Unchanged: 2})
	if b.corpus.batches != batches {
		t.Errorf("the same rights were written %d times", b.corpus.batches-batches)
	}
	delete(b.source.rights, "a.md") // it does not say
	b.sync(counts{Unchanged: 2})
	b.wantUsers("a.md", access.Nobody().Users...)
	b.source.rights["a.md"] = &source.Rights{}
	b.sync(counts{Unchanged: 2})
	b.wantUsers("a.md")
}

// A document must not be seen by more people than at the source because its file cannot be read, or its folder not listed, or
// the source holds more than its quota.
func TestRunRemote_RightsGetNarrowerBeforeAnythingIsRead(t *testing.T) {
	b := newRightsBench(t, map[string]string{"a.md": "alpha", "shut/b.md": "beta"})
	b.source.rights["a.md"], b.source.rights["shut/b.md"] = seenBy("anna", "bob"), seenBy("anna")
	b.sync(counts{Indexed: 2})
	b.source.bodies["a.md"], b.source.openErr = "alpha 2", errors.New("the connection broke")
	b.source.rights["a.md"] = seenBy("anna")
	b.sync(counts{Failed: 1, Unchanged: 1})
	b.wantUsers("a.md", "anna")

	b.source.hidden = "shut"
	delete(b.source.bodies, "shut/b.md")
	b.sync(counts{Failed: 2})
	b.wantUsers("shut/b.md", access.Nobody().Users...)

	b.source.openErr, b.source.hidden, b.source.bodies["shut/b.md"] = nil, "", "beta"
	b.source.take()
	b.sync(counts{Updated: 1, Unchanged: 1})
	b.wantOpened("a.md")
	b.wantUsers("shut/b.md", "anna")

	b.quota, b.source.rights["a.md"] = 3, seenBy("carol")
	b.fails("more than its quota")
	b.wantUsers("a.md", "carol")
}

// The new content of an object comes with its rights, in one batch.
func TestRunRemote_ContentAndRightsChangeTogether(t *testing.T) {
	b := newRightsBench(t, map[string]string{"a.md": "alpha"})
	b.source.rights["a.md"] = seenBy("anna")
	b.sync(counts{Indexed: 1})
	b.source.bodies["a.md"], b.source.rights["a.md"] = "alpha 2", seenBy("bob")
	b.corpus.onApply = func(batch retrieval.Batch) error {
		for _, p := range batch.Put {
			if !slices.Equal(p.Document.Access.Users, []string{"bob"}) {
				t.Errorf("put for %+v", p.Document.Access)
			}
		}
		return nil
	}
	b.sync(counts{Updated: 1})
	b.wantUsers("a.md", "bob")
}

func TestRunRemote_RightsOfTheSourceAreTurnedOnAndOff(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "alpha", "all.zip": zipped(t, "in.md", "inner"), "staff/parley.yaml": "users: [dora]\n", "staff/b.md": "beta"})
	b.source.rights = map[string]*source.Rights{"a.md": seenBy("anna"), "all.zip": seenBy("anna"), "staff/b.md": seenBy("anna")}
	b.source.versions["all.zip"] = "1"
	b.said.Access = &access.List{Users: []string{"erin"}}
	b.sync(counts{Indexed: 3})
	want := func(a, in, staff string) {
		t.Helper()
		b.wantUsers("a.md", a)
		b.wantUsers("all.zip/in.md", in)
		b.wantUsers("staff/b.md", staff)
	}
	want("erin", "erin", "dora")
	b.rights = true
	b.source.take()
	b.sync(counts{Unchanged: 3})
	b.wantOpened("staff/parley.yaml")
	want("anna", "anna", "anna")
	b.rights = false
	b.sync(counts{Updated: 3})
	want("erin", "erin", "dora")
}

// A file that does not say clearly who may see it is not indexed; when the source says it, it is.
func TestRunRemote_RightsOfTheSourceDecideOverUnclearFrontMatter(t *testing.T) {
	b := newRemoteBench(t, map[string]string{"a.md": "RESTRICTED alpha"})
	b.source.rights = map[string]*source.Rights{"a.md": seenBy("anna")}
	b.sync(counts{Failed: 1})
	b.rights = true
	b.sync(counts{Indexed: 1})
	b.wantUsers("a.md", "anna")
	b.rights = false
	b.sync(counts{Failed: 1, Deleted: 1})
}

func TestRunRemote_ReportsUnknownRights(t *testing.T) {
	b := newRightsBench(t, map[string]string{"a.md": "alpha", "b.md": "beta", "deep/c.md": "gamma", "d.md": "delta"})
	unknown := &source.Rights{Access: access.Nobody(), Fault: "the server does not say"}
	b.source.rights = map[string]*source.Rights{"a.md": unknown, "b.md": unknown, "deep/c.md": unknown, "d.md": seenBy("anna")}
	for _, want := range []counts{{Indexed: 4, Failed: 2}, {Unchanged: 4, Failed: 2}} {
		r := b.sync(want)
		var all []string
		if r.Incomplete() {
			t.Error("files whose rights are not known are documents all the same")
		}
		for _, f := range r.Failed {
			all = append(all, f.Path+": "+f.Detail)
		}
		slices.Sort(all)
		if len(all) != 2 || !strings.HasPrefix(all[0], "s3://bucket/docs/deep: ") || !strings.HasPrefix(all[1], "s3://bucket/docs: ") || !strings.Contains(all[1], "who may read 2 files in this folder") || !strings.Contains(all[1], "does not say") {
			t.Errorf("reported %q", all)
		}
	}
	b.wantUsers("a.md", access.Nobody().Users...)
}

// Those who write files that describe others cannot keep changed rights away.
func TestRunRemote_RightsGetNarrowerAlthoughAFolderFileCannotBeRead(t *testing.T) {
	b := newRightsBench(t, map[string]string{"a.md": "alpha", "b/b.md": "beta"})
	b.source.rights["a.md"], b.source.rights["b/b.md"] = seenBy("anna", "bob"), seenBy("bob")
	b.sync(counts{Indexed: 2})
	b.source.rights["a.md"], b.source.link = seenBy("anna"), "b/parley.yaml"
	b.fails("symbolic link")
	b.wantUsers("a.md", "anna")
	b.source.link, b.source.bodies["b/parley.yaml"], b.source.openErr = "", "category: x\n", errors.New("forbidden")
	b.source.rights["a.md"] = seenBy("carol")
	b.fails("forbidden")
	b.wantUsers("a.md", "carol")
}

func TestRunRemote_AnObjectInPlaceOfANestedFileHasItsOwnRights(t *testing.T) {
	b := newRightsBench(t, map[string]string{"x.zip": zipped(t, "a.md", "inner")})
	b.source.versions["x.zip"] = "1"
	b.source.rights["x.zip"] = seenBy("anna")
	b.sync(counts{Indexed: 1})
	delete(b.source.bodies, "x.zip")
	b.source.bodies["x.zip/a.md"], b.source.rights["x.zip/a.md"] = "inner", seenBy("bob")
	b.sync(counts{Updated: 1})
	b.wantUsers("x.zip/a.md", "bob")
	b.source.rights["x.zip/a.md"] = seenBy("carol")
	b.sync(counts{Unchanged: 1})
	b.wantUsers("x.zip/a.md", "carol")
}

// A run without the source's rights may be cut short after it gave nested files their own.
func TestRunRemote_RightsOfTheSourceCountAgainAfterARunThatWasCutShort(t *testing.T) {
	b := newRightsBench(t, map[string]string{"all.zip": zipped(t, "in.md", "inner")})
	b.source.versions["all.zip"] = "1"
	b.source.rights["all.zip"] = seenBy("anna")
	b.sync(counts{Indexed: 1})
	b.rights = false
	b.corpus.onApply = func(batch retrieval.Batch) error {
		if len(batch.Put) > 0 {
			return errors.New("cut short")
		}
		return nil
	}
	if _, err := b.try(); err == nil {
		t.Fatal("the run was not cut short")
	}
	b.corpus.onApply = nil
	in := b.corpus.doc(t, "all.zip/in.md").Document
	if err := b.corpus.Apply(t.Context(), retrieval.Batch{Namespace: in.Namespace, PutAccess: []retrieval.Access{{ID: in.ID, List: access.List{Users: []string{"mallory"}}}}}); err != nil {
		t.Fatal(err)
	}
	b.rights = true
	b.sync(counts{Unchanged: 1})
	b.wantUsers("all.zip/in.md", "anna")
}

// A listing may have a million objects.
func TestRemote_ObjectsShareTheirRights(t *testing.T) {
	var o remote
	all := []*source.Rights{seenBy("anna"), seenBy("anna"), seenBy("bob"), {Access: seenBy("anna").Access, Fault: "why"}, nil}
	for i, r := range all {
		all[i] = o.shared(r)
	}
	if all[0] != all[1] || all[0] == all[2] || all[0] == all[3] || all[3].Fault != "why" || all[4] != nil {
		t.Errorf("shared %v", all)
	}
}

func TestRunRemote_NamesAFewFoldersWithUnknownRights(t *testing.T) {
	bodies := map[string]string{}
	for i := range maxUnclear + 3 {
		bodies[fmt.Sprintf("d%02d/a.md", i)] = fmt.Sprint("text ", i)
	}
	b := newRightsBench(t, bodies)
	for p := range bodies {
		b.source.rights[p] = &source.Rights{Access: access.Nobody(), Fault: "why"}
	}
	r := b.sync(counts{Indexed: maxUnclear + 3, Failed: maxUnclear + 1})
	if f := r.Failed[0]; f.Path != "s3://bucket/docs" || !strings.HasPrefix(f.Detail, "and for 3 more folders") {
		t.Errorf("reported %+v", f)
	}
	b.source.openErr, b.source.bodies["d00/a.md"] = errors.New("broken"), "text"
	if r := b.sync(counts{Unchanged: maxUnclear + 2, Failed: maxUnclear + 2}); !r.Incomplete() || r.Failed[0].Unclear {
		t.Error("a file that cannot be read is not the first failure any more")
	}
}
