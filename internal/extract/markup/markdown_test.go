package markup

import (
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
