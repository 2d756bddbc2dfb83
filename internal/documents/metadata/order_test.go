package metadata

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/extract"
)

// texts is a Tree of files; the keys are paths.
type texts map[string]string

func (t texts) Open(path string) (io.ReadCloser, error) {
	if text, ok := t[path]; ok {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	return nil, fs.ErrNotExist
}

func read(t *testing.T, files texts) Said {
	t.Helper()
	top := ReadRules(files, ".", nil)
	said, _, err := Read(ReadRules(files, "hr", top), files, "hr/a.md", nil, "hr/a.md")
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// Each place overrides the places before it. Users and groups are overridden together; passwords add up.
func TestRead_TheNearerPlaceWins(t *testing.T) {
	files := texts{
		"parley.yaml":          "category: top\nusers: [ann]\npasswords: [one]",
		"hr/parley.yaml":       "category: folder\ngroups: [staff]\npasswords: [two]\nfiles: {a.md: {title: Entry, category: entry}}",
		"hr/a.md.parley.yaml":  "title: Sidecar\nmax_chunks: 3\npassword: three",
		"hr/other.parley.yaml": "title: Other",
	}
	own := &extract.Document{Title: "Heading", Meta: extract.Meta{Title: "Front matter", Category: "own", Namespace: "team"}}
	for _, step := range []struct {
		without string
		want    Document
	}{
		{"", Document{Title: "Sidecar", Category: "entry", Access: access.List{Groups: []string{"staff"}}}},
		{"hr/a.md.parley.yaml", Document{Title: "Entry", Category: "entry", Access: access.List{Groups: []string{"staff"}}}},
		{"hr/parley.yaml", Document{Title: "Front matter", Category: "own", Access: access.List{Users: []string{"ann"}}}},
		{"parley.yaml", Document{Title: "Front matter", Category: "own"}},
	} {
		delete(files, step.without)
		got, err := read(t, files).Of(own, "a.md")
		step.want.Namespace = given("team")
		if diff := cmp.Diff(step.want, got); diff != "" || err != nil {
			t.Errorf("without %q: %v (-want +got):\n%s", step.without, err, diff)
		}
	}
}

func TestRead_TriesThePasswordsOfAllPlacesAndKeepsLimits(t *testing.T) {
	said := read(t, texts{
		"parley.yaml": "passwords: [one]", "hr/parley.yaml": "passwords: [two]",
		"hr/a.md.parley.yaml": "password: three\nmax_chunks: 3\nskip_sections: [References]",
	})
	if diff := cmp.Diff([]string{"three", "two", "one"}, said.Passwords()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := said.Limits().Encode()
	if diff := cmp.Diff(Limits{[]string{"References"}, 3}, DecodeLimits(text)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(said.Limits(), mustParse(t, Sidecar(said.Limits()))); diff != "" {
		t.Errorf("the sidecar of an upload (-want +got):\n%s", diff)
	}
}

// Each attribute is a field of its own.
func TestRead_MergesAttributesKeyByKey(t *testing.T) {
	own := &extract.Document{Meta: extract.Meta{Attributes: []byte(`{"a":"own","b":"own","c":"own"}`)}}
	got, err := read(t, texts{
		"parley.yaml":         "attributes: {a: top, d: top}",
		"hr/parley.yaml":      "attributes: {d: folder, e: [1, two]}\nfiles: {'*': {attributes: {b: entry, c: entry}}}",
		"hr/a.md.parley.yaml": "attributes: {c: sidecar}",
	}).Of(own, "a.md")
	if want := `{"a":"own","b":"entry","c":"sidecar","d":"folder","e":[1,"two"]}`; string(got.Attributes) != want || err != nil {
		t.Errorf("got  %s, %v\nwant %s", got.Attributes, err, want)
	}
	for text, want := range map[string]string{
		"attributes: 5":                  "line 1: attributes must be a mapping of names to values",
		"attributes: {a: [[1]]}":         "must be a text of 1 to 512 bytes",
		"attributes: {a: {b: [{c: d}]}}": "the attribute a.b is not valid",
	} {
		if _, err := parseSidecar([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func mustParse(t *testing.T, sidecar []byte) Limits {
	t.Helper()
	f, err := parseSidecar(sidecar)
	if err != nil {
		t.Fatal(err)
	}
	return Limits{f.SkipSections, f.MaxChunks}
}

type broken struct{}

func (broken) Open(string) (io.ReadCloser, error) {
	return nil, &fs.PathError{Err: errors.New("a disk that fails")}
}

func TestRead_APlaceThatCannotBeReadIsAnError(t *testing.T) {
	_, hash, err := Read(nil, broken{}, "a.md", nil, "a.md")
	if !errors.As(err, new(*UnreadError)) || hash != Unreadable || err.Error() != "its sidecar cannot be read: a disk that fails" {
		t.Errorf("%v, hash %q", err, hash)
	}
}

// A restriction in words of another program keeps a document out until some place says it in Parley's.
func TestOf_AnUnknownRestrictionIsAnErrorUnlessRightsAreSaid(t *testing.T) {
	doc := &extract.Document{Meta: extract.Meta{Unknown: "visibility"}}
	folder := read(t, texts{"parley.yaml": "groups: [staff]"})
	if got, err := folder.Of(doc, "a.md"); err == nil || !strings.Contains(err.Error(), "the key visibility") {
		t.Errorf("%+v, %v", got, err)
	}
	entry := read(t, texts{"parley.yaml": "files: {'*': {everybody: public}}"})
	sidecar := read(t, texts{"hr/a.md.parley.yaml": "users: [ann]"})
	own := &extract.Document{Meta: extract.Meta{Unknown: "visibility", Groups: []string{"hr"}}}
	for name, err := range map[string]error{
		"an entry": second(entry.Of(doc, "a.md")), "a sidecar": second(sidecar.Of(doc, "a.md")), "the document": second(folder.Of(own, "a.md")),
	} {
		if err != nil {
			t.Errorf("%s says who may see it: %v", name, err)
		}
	}
}

func second(_ Document, err error) error { return err }
