package ingest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/documents/metadata"
)

func TestRun_SidecarDescribesItsFile(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "only for eve")
	b.write("a.md.parley.yaml", "title: The Title\nurl: https://example.com/a\ncategory: hr\nusers: [ann, 17]\ngroups: staff\n")
	b.want(b.run(), counts{Indexed: 1})
	d := b.corpus.doc(t, "a.md").Document
	want := access.List{Users: []string{"ann", "17"}, Groups: []string{"staff"}}
	if diff := cmp.Diff(want, d.Access); diff != "" {
		t.Error(diff)
	}
	if d.Title != "The Title" || d.URL != "https://example.com/a" || d.Category != "hr" {
		t.Errorf("%+v", d)
	}
}

func TestRun_SidecarWithoutAccessLeavesTheFilesOwn(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "only for eve")
	b.write("a.md.parley.yml", "title: T")
	b.run()
	if d := b.corpus.doc(t, "a.md").Document; d.Title != "T" || len(d.Access.Users) != 1 || d.Access.Users[0] != "eve" {
		t.Errorf("%+v", d)
	}
}

func TestRun_FollowsASidecarThatChangesOrComesOrGoes(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.run()
	b.write("a.md.parley.yaml", "users: [ann]")
	b.want(b.run(), counts{Updated: 1})
	if !b.corpus.doc(t, "a.md").Document.Access.Restricted() {
		t.Error("the sidecar that came has no effect")
	}
	b.write("a.md.parley.yaml", "users: [bob]")
	b.want(b.run(), counts{Updated: 1})
	if d := b.corpus.doc(t, "a.md").Document; d.Access.Users[0] != "bob" {
		t.Errorf("%+v", d.Access)
	}
	b.remove("a.md.parley.yaml")
	b.want(b.run(), counts{Updated: 1})
	if b.corpus.doc(t, "a.md").Document.Access.Restricted() {
		t.Error("the sidecar that went still has an effect")
	}
	b.want(b.run(), counts{Unchanged: 1})
}

func TestRun_DoesNotIndexWithAnInvalidSidecar(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"comment":        "# users: [ann]\n",
		"not yaml":       "users: [ann",
		"a list":         "- users",
		"misspelt":       "user: [ann]",
		"null":           "users:",
		"empty list":     "users: []",
		"empty name":     `groups: [""]`,
		"nested":         "users: [[ann]]",
		"a mapping":      "users: {ann: true}",
		"null name":      "users: [~]",
		"alias":          "title: &a x\nusers: *a",
		"twice":          "users: [ann]\nusers: [bob]",
		"two documents":  "users: [ann]\n---\nusers: [bob]",
		"script address": "url: javascript:alert(1)",
		"too long":       "users: [ann]\n" + strings.Repeat("#\n", metadata.MaxSize),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("a.md", "Alpha.")
			b.run()
			b.write("a.md.parley.yaml", text)
			r := b.run()
			b.want(r, counts{Deleted: 1, Failed: 1})
			b.wantNames()
			if len(r.Failed) == 1 && (r.Failed[0].Reason != BadMetadata || strings.Contains(r.Failed[0].Detail, "\n")) {
				t.Errorf("%+v", r.Failed)
			}
			b.want(b.run(), counts{Failed: 1})
			b.write("a.md.parley.yaml", "users: [ann]")
			b.want(b.run(), counts{Indexed: 1})
		})
	}
}

func TestRun_DoesNotIndexWithTwoSidecars(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("a.md.parley.yaml", "users: [ann]")
	b.write("a.md.parley.yml", "users: [bob]")
	b.want(b.run(), counts{Failed: 1})
}

func TestRun_ReportsASidecarWithoutAFile(t *testing.T) {
	b := newBench(t)
	b.write("handbook.md", "Text.")
	b.write("handbok.md.parley.yaml", "users: [ann]")
	b.write("handbook.md.PARLEY.yaml", "users: [ann]")
	b.want(b.run(), counts{Indexed: 1, Skipped: 2})
}

func TestRun_KeepsOutWhatIsRestrictedInOtherWordsUnlessItIsPrivateAnyway(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "RESTRICTED text")
	b.write("b.md", "Beta.")
	r := b.run()
	b.want(r, counts{Indexed: 1, Failed: 1})
	b.wantNames("b.md")
	if len(r.Failed) != 1 || r.Failed[0].Reason != BadMetadata || !strings.Contains(r.Failed[0].Detail, "acl") {
		t.Errorf("%+v", r.Failed)
	}
	b = newBench(t)
	b.cfg.Access = access.List{Users: []string{"ann"}}
	b.write("a.md", "RESTRICTED text")
	b.want(b.run(), counts{Indexed: 1})
	if got := b.corpus.doc(t, "a.md").Document.Access; !slices.Equal(got.Users, []string{"ann"}) {
		t.Errorf("%+v may see it", got)
	}
}
