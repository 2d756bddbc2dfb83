package markup

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/extract"
	"parley/internal/extract/extracttest"
)

func TestParseMeta_NamesTheSameOfSeveralMistakesEachTime(t *testing.T) {
	for range 30 {
		_, err := parseMeta("url: [b]\ntitle: [a]\ncategory: {c: d}\n")
		if err == nil || err.Error() != "line 3: title must be one text" {
			t.Fatal(err)
		}
	}
}

func TestParseMeta_ReadsTheWordForEverybodyAsItStands(t *testing.T) {
	if m, err := parseMeta("everybody: signed_in"); err != nil || m.Everybody == nil || *m.Everybody != "signed_in" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, matter := range []string{"everybody: [public]", "category: &public x\neverybody: *public"} {
		if m, err := parseMeta(matter); err == nil {
			t.Errorf("%q gave %+v", matter, m)
		}
	}
}

func TestFrontMatter_MayBeTOML(t *testing.T) {
	const text = "+++\ntitle = \"Travel policy\"\ndate = 2026-03-01\nlastmod = 2026-03-02T10:00:00+01:00\ntags = [\n  'travel', 'policy',\n]\nversion = 1.10\ngroups = [\"staff\"]\n[extra]\nlevel = 2\n+++\n# Travel\n\nText.\n"
	doc := extracttest.Read(t, "a.md", []byte(text))
	if diff := cmp.Diff("H1 Travel\nP Text.\n", extracttest.Outline(doc)); diff != "" {
		t.Error(diff)
	}
	const attributes = `{"date":"2026-03-01","extra.level":2,"lastmod":"2026-03-02T10:00:00+01:00","tags":["travel","policy"],"version":1.1}`
	if m := doc.Meta; m.Title != "Travel policy" || !slices.Equal(m.Groups, []string{"staff"}) || string(m.Attributes) != attributes {
		t.Errorf("%+v with %s", m, m.Attributes)
	}
	if doc := extracttest.Read(t, "a.md", []byte("+++\nvisibility = 'hr'\n+++\nText.\n")); doc.Meta.Unknown != "visibility" {
		t.Errorf("the restriction is %q", doc.Meta.Unknown)
	}
	for _, invalid := range []string{"groups = ", "groups = []", "everybody = [1]", "[[users]]\nname = ", "[ groups ] # who\nname = ", "users = " + strings.Repeat("[", 100<<10)} {
		extracttest.WantReason(t, "a.md", []byte("+++\n"+invalid+"\n+++\nText.\n"), extract.Limits{}, extract.BadMetadata)
	}
	if doc := extracttest.Read(t, "a.md", []byte("+++\na b\n+++\nText.\n")); len(doc.Notes) != 1 || len(doc.Pages) != 1 {
		t.Errorf("notes %q", doc.Notes)
	}
}

// The sizes are the largest that are read, so that none of these takes seconds or gigabytes.
func TestFrontMatter_BoundsHowDeepTOMLIs(t *testing.T) {
	for name, deep := range map[string]string{
		"dotted keys": strings.Repeat("a.", maxTOMLDepth) + "a = 1", "arrays": "a = " + strings.Repeat("[", maxTOMLDepth+1) + strings.Repeat("]", maxTOMLDepth+1),
		"tables": "a = " + strings.Repeat("{a=", maxTOMLDepth+1) + "1" + strings.Repeat("}", maxTOMLDepth+1), "headers": "[[" + strings.Repeat("a.", maxTOMLDepth) + "a]]\nb = 1",
	} {
		if m, err := (frontMatter{"TOML", deep}).meta(); err == nil || !strings.Contains(err.Error(), "levels") {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	if m, err := (frontMatter{"TOML", "[[a]]\ndate = 2026-03-01\n" + strings.Repeat("#", maxTOML)}).meta(); err == nil || !strings.Contains(err.Error(), "KiB") {
		t.Errorf("a large one: %+v, %v", m, err)
	}
}

func TestMDX_IsReadWithoutItsProgram(t *testing.T) {
	const text = "---\ntitle: T\n---\nimport A from 'a'\nexport const meta = {\n  a: 1\n}\n\n# Title\n\n{/* hidden */}\n\n<Note>\n\nRead **this**.\n\n</Note>\n\n```js\nimport B from 'b'\n```\n"
	doc := extracttest.Read(t, "a.mdx", []byte(text))
	const want = "H1 Title\nP Read this.\nC import B from 'b'\n"
	if diff := cmp.Diff(want, extracttest.Outline(doc)); diff != "" || doc.Title != "T" {
		t.Errorf("%s, title %q", diff, doc.Title)
	}
}

func TestNotebook_KeepsItsCellsInOrder(t *testing.T) {
	const book = `{"nbformat":4,"metadata":{},"cells":[{"cell_type":"markdown","source":["# T\n","text"]},` +
		`{"cell_type":"code","source":"print(1)","outputs":[{"output_type":"stream","text":["1\n"]},{"data":{"text/plain":["2"],"image/png":"AAAA"}},{"ename":"E","evalue":"bad","traceback":[]}]},` +
		`{"cell_type":"raw","source":"raw"}]}`
	const want = "H1 T\nP text\nC print(1)\nC 1⏎2⏎E: bad\nP raw\n"
	if diff := cmp.Diff(want, extracttest.Outline(extracttest.Read(t, "a.ipynb", []byte(book)))); diff != "" {
		t.Error(diff)
	}
	long := strings.Replace(book, `"1\n"`, `"`+strings.Repeat("ä", 5000)+`"`, 1)
	if got := extracttest.Outline(extracttest.Read(t, "a.ipynb", []byte(long))); len(got) > 1200 || !strings.Contains(got, "…") {
		t.Errorf("%d bytes of a long output", len(got))
	}
	extracttest.WantReason(t, "a.ipynb", []byte(`{"cells":[{"source":3}]}`), extract.Limits{}, extract.Damaged)
}
