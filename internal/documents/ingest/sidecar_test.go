package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"parley/internal/access"
	"parley/internal/extract"
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
		"too long":       "users: [ann]\n" + strings.Repeat("#\n", maxSidecar),
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

func TestDescribe_RefusesNamelessUsersInFrontMatter(t *testing.T) {
	for _, names := range [][]string{{""}, {"ann", " "}} {
		for _, meta := range []extract.Meta{{Users: names}, {Groups: names}} {
			if m, err := describe(&extract.Document{Meta: meta}, about{}, "a.md"); err == nil {
				t.Errorf("%+v gave %+v", meta, m)
			}
		}
	}
}

func TestDescribe_TakesTheBestTitle(t *testing.T) {
	doc := &extract.Document{Title: "From the\tfile ", Meta: extract.Meta{URL: "javascript:alert(1)"}}
	for want, file := range map[string]string{"From the file": "a.md", "a": "a.md", ".md": ".md"} {
		if want != "From the file" {
			doc.Title = " "
		} else {
			doc.Title = "From the\tfile "
		}
		m, err := describe(doc, about{}, file)
		if err != nil || m.title != want || m.url != "" {
			t.Errorf("%+v, %v; want %q", m, err, want)
		}
	}
}

func TestParseSidecar_IsNotDefeatedByAnAliasBomb(t *testing.T) {
	bomb := "title: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	if _, err := parseSidecar([]byte(bomb)); err == nil {
		t.Error("no error")
	}
}

func FuzzParseSidecar(f *testing.F) {
	f.Add([]byte("title: T\nusers: [a, b]\ngroups: g\n"))
	f.Add([]byte("users: &x [*x]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSidecar(data)
		if err != nil {
			return
		}
		var k keys
		if err := yaml.Unmarshal(data, &k); err != nil || k.Users.Kind == 0 && k.Groups.Kind == 0 {
			return
		}
		if s.Access == nil || len(s.Access.Users)+len(s.Access.Groups) == 0 {
			t.Errorf("%q lets everyone in", data)
		}
	})
}

func TestSidecar_SaysWhichKeyIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"titel: x\n":                   `line 1: there is no key "titel"; the keys are category, groups, max_chunks,`,
		"title: x\ncategory: [a, b]\n": "line 2: category must be one text",
		"url: {a: b}\n":                "line 1: url must be one text",
		"max_chunks: many\n":           "line 1: max_chunks must be a whole number",
		"- a\n- b\n":                   `line 1: it must consist of lines "key: value"`,
		"# only a comment\n":           "it is empty",
		"title: [x\n":                  "line 1: did not find expected",
	} {
		_, err := parseSidecar([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", text, err, want)
		}
	}
}
