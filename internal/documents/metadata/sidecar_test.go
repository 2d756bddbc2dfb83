package metadata

import (
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/internal/access"
	"parley/internal/extract"
)

func TestOf_RefusesNamelessUsersInFrontMatter(t *testing.T) {
	for _, names := range [][]string{{""}, {"ann", " "}} {
		for _, meta := range []extract.Meta{{Users: names}, {Groups: names}} {
			if m, err := (Said{}).Of(&extract.Document{Meta: meta}, "a.md"); err == nil {
				t.Errorf("%+v gave %+v", meta, m)
			}
		}
	}
}

// A document may be public although its folder is restricted, or open to everybody who has signed in.
func TestOf_KnowsTheWordsForEverybody(t *testing.T) {
	signedIn, public, wrong, none := "signed_in", "public", "everyone", ""
	for name, c := range map[string]struct {
		folder string // parley.yaml
		own    extract.Meta
		side   string
		want   access.List
		wrong  bool
	}{
		"front matter, signed in":        {own: extract.Meta{Everybody: &signedIn}, want: access.List{SignedIn: true}},
		"front matter opens a folder":    {folder: "groups: [hr]", own: extract.Meta{Everybody: &public}},
		"a folder for those signed in":   {folder: "everybody: signed_in", want: access.List{SignedIn: true}},
		"an entry of a folder":           {folder: "groups: [hr]\nfiles: {a.md: {everybody: signed_in}}", want: access.List{SignedIn: true}},
		"a sidecar wins":                 {own: extract.Meta{Everybody: &public}, side: "everybody: signed_in", want: access.List{SignedIn: true}},
		"names take the place of words":  {folder: "everybody: public", own: extract.Meta{Groups: []string{"hr"}}, want: access.List{Groups: []string{"hr"}}},
		"an unknown word":                {own: extract.Meta{Everybody: &wrong}, wrong: true},
		"a list":                         {own: extract.Meta{Everybody: &none}, wrong: true},
		"a word and a name":              {own: extract.Meta{Everybody: &public, Users: []string{"ann"}}, wrong: true},
		"an unknown word in a folder":    {folder: "everybody: all", wrong: true},
		"a word and a name in a folder":  {folder: "everybody: public\ngroups: [hr]", wrong: true},
		"nothing in a sidecar":           {side: "everybody:", wrong: true},
		"the name of something else":     {side: "category: &public x\neverybody: *public", wrong: true},
		"a word and a name in a sidecar": {side: "everybody: public\nusers: ann", wrong: true},
	} {
		tree := texts{}
		if c.folder != "" {
			tree["parley.yaml"] = c.folder
		}
		if c.side != "" {
			tree["a.md.parley.yaml"] = c.side
		}
		said, _, err := Read(ReadRules(tree, ".", nil), tree, "a.md", nil, "a.md")
		var got Document
		if err == nil {
			got, err = said.Of(&extract.Document{Meta: c.own}, "a.md")
		}
		if (err != nil) != c.wrong || err == nil && !reflect.DeepEqual(got.Access, c.want) {
			t.Errorf("%s: %+v, %v", name, got.Access, err)
		}
	}
}

func TestOf_TakesTheBestTitle(t *testing.T) {
	doc := &extract.Document{Title: "From the\tfile ", Meta: extract.Meta{URL: "javascript:alert(1)"}}
	for want, file := range map[string]string{"From the file": "a.md", "a": "a.md", ".md": ".md"} {
		if want != "From the file" {
			doc.Title = " "
		} else {
			doc.Title = "From the\tfile "
		}
		m, err := (Said{}).Of(doc, file)
		if err != nil || m.Title != want || m.URL != "" {
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
		"titel: x\n":                   `line 1: there is no key "titel"; the keys are attributes, category, everybody, groups, max_chunks,`,
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
