package ingest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/documents/metadata"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// said returns the stored document with a name.
func (b *bench) said(name string) retrieval.Document {
	b.t.Helper()
	d := b.corpus.doc(b.t, name).Document
	return retrieval.Document{Title: d.Title, URL: d.URL, Category: d.Category, Access: d.Access}
}

func TestRun_TheFileOfAFolderHoldsForWhatIsBelowIt(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("hr/b c.md", "Beta.")
	b.write("hr/own.md", "only for eve")
	b.write("hr/pay/c.md", "Gamma.")
	b.write("hr/pay/d.md", "Delta.")
	b.write("hr/pay/d.md.parley.yaml", "title: Dee\nusers: [dan]\n")
	b.write("hr/parley.yaml", `category: people
url: https://intranet.example.org/hr/
groups: [staff]
files:
  pay/**:
    groups: [payroll]
  "*.md":
    category: texts
  pay/c.md: {title: Cee, url: "https://example.org/c"}
`)
	b.write("hr/pay/parley.yml", "category: pay\n")
	b.want(b.run(), counts{Indexed: 5})
	groups := func(g string) access.List { return access.List{Groups: []string{g}} }
	for name, want := range map[string]retrieval.Document{
		"a.md":        {Title: "a"},
		"hr/b c.md":   {Title: "b c", URL: "https://intranet.example.org/hr/b%20c.md", Category: "texts", Access: groups("staff")},
		"hr/own.md":   {Title: "own", URL: "https://intranet.example.org/hr/own.md", Category: "texts", Access: access.List{Users: []string{"eve"}}},
		"hr/pay/c.md": {Title: "Cee", URL: "https://example.org/c", Category: "texts", Access: groups("payroll")},
		"hr/pay/d.md": {Title: "Dee", URL: "https://intranet.example.org/hr/pay/d.md", Category: "texts", Access: access.List{Users: []string{"dan"}}},
	} {
		if diff := cmp.Diff(want, b.said(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	b.want(b.run(), counts{Unchanged: 5})
	b.want(b.run("hr/pay"), counts{Unchanged: 2}) // which knows the files of the folders above
	b.extractor.take()

	// Only files whose metadata changed are read again.
	b.write("hr/pay/parley.yml", "category: wages\n")
	b.write("hr/parley.yaml", "category: people\ngroups: [staff]\n")
	b.write("hr/pay/parley.yml", "groups: [payroll]\n")
	b.want(b.run(), counts{Unchanged: 1, Updated: 4})
	if d := b.said("hr/pay/c.md"); !cmp.Equal(d.Access, groups("payroll")) || d.Category != "people" || d.URL != "" {
		t.Errorf("%+v", d)
	}
	b.remove("hr/parley.yaml")
	b.run()
	if d := b.said("hr/b c.md"); d.Access.Restricted() || d.Category != "" {
		t.Errorf("%+v", d)
	}
}

func TestRun_IndexesNothingBelowAnInvalidFileOfAFolder(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "misspelt": "group: [a]", "nobody": "groups: []", "a list": "- a", "title of a folder": "title: x",
		"no entries": "files: [a]", "misspelt in an entry": "files: {a.md: {group: x}}", "empty entry": "files: {a.md: }",
		"out of the folder": "files: {../x: {groups: a}}", "absolute": "files: {/x: {groups: a}}", "script": "url: javascript:x",
		"two passwords in one": "passwords: [[a]]", "too long": "category: a\n" + strings.Repeat("#\n", metadata.MaxSize),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("a.md", "Alpha.")
			b.write("sub/b.md", "Beta.")
			b.write("sub/deep/c.zip", zipped(t, "x.md", "Gamma."))
			b.want(b.run(), counts{Indexed: 3})
			b.write("sub/parley.yaml", text)
			r := b.run()
			b.want(r, counts{Unchanged: 1, Deleted: 2, Failed: 2})
			for _, f := range r.Failed {
				if f.Reason != BadMetadata || !strings.Contains(f.Detail, "parley.yaml of the folder sub is not valid") || strings.Contains(f.Detail, "\n") {
					t.Errorf("%+v", f)
				}
			}
			b.want(b.run(), counts{Unchanged: 1, Failed: 2})
			b.write("sub/parley.yaml", "groups: [a]")
			b.want(b.run(), counts{Unchanged: 1, Indexed: 2})
		})
	}
}

func TestRun_ReportsWhatASaidFileDoesNotReach(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("parley.yaml", "files:\n  a.md: {category: x}\n  b.md: {groups: [y]}\n")
	b.write("sub/Parley.YAML", "groups: [z]\n")
	r := b.run()
	b.want(r, counts{Indexed: 1, Skipped: 2})
	want := []FileResult{
		{Path: filepath.Join(b.dir, "parley.yaml"), Reason: BadMetadata, Detail: `no file is named like its entry "b.md"`},
		{Path: filepath.Join(b.dir, "sub", "Parley.YAML"), Reason: BadMetadata, Detail: "it has no effect: its name must be in small letters"},
	}
	if diff := cmp.Diff(want, r.Skipped); diff != "" {
		t.Error(diff)
	}
}

func TestRun_DoesNotTakeTheConfigurationForTheFileOfAFolder(t *testing.T) {
	b := newBench(t)
	b.write("a.md", "Alpha.")
	b.write("parley.yaml", "addr: :9000\n")
	b.want(b.run(), counts{Failed: 1})
	b.cfg.ConfigFile = filepath.Join(b.dir, "parley.yaml")
	b.want(b.run(), counts{Indexed: 1})
}

func TestRun_TriesThePasswordsThatAreGiven(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		b.write(name+".md", "locked with "+name)
	}
	b.write("a.md.parley.yaml", "password: a")
	b.write("parley.yaml", "passwords: [x, b]\nfiles:\n  c.md: {passwords: [c]}\n")
	r := b.run()
	b.want(r, counts{Indexed: 3, Failed: 1})
	if f := r.Failed[0]; f.Reason != extract.Encrypted || filepath.Base(f.Path) != "d.md" {
		t.Errorf("%+v", f)
	}
	b.write("d.md.parley.yaml", "passwords: [y, d]")
	b.want(b.run(), counts{Indexed: 1, Unchanged: 3})
	for key, f := range b.corpus.files {
		if strings.Contains(f.Detail+f.SHA256, "locked") {
			t.Errorf("%v: %+v", key, f)
		}
	}
}

// Entries of a rule file that match nothing, or that are made to be slow, cost one line of the report
// and little time.
func TestRun_EntriesWithoutFilesAreOneLine(t *testing.T) {
	b := newBench(t)
	var rules strings.Builder
	rules.WriteString("files:\n")
	for i := range 800 {
		fmt.Fprintf(&rules, "  \"%sa%d\": {category: c}\n", strings.Repeat("*", 30), i)
	}
	b.write("parley.yaml", rules.String())
	b.write(strings.Repeat("a", 200)+".md", "Alpha.")
	r := b.run()
	b.want(r, counts{Indexed: 1, Skipped: 1})
	if d := r.Skipped[0].Detail; !strings.Contains(d, "a9\"]") || !strings.HasSuffix(d, " and 790 others") {
		t.Errorf("the report says %s", d)
	}
}
