package format

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of formats into docs/ingestion.md")

func TestDocs_ListTheFormats(t *testing.T) {
	const path, header = "../../docs/ingestion.md", "| format | extensions | what is read | known limits |\n|---|---|---|---|\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), header)
	_, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table of formats", path)
	}
	var rows []string
	for _, f := range Table {
		if !f.Unread {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", f.Name, strings.Join(slices.Concat(f.Extensions, f.Rare), ", "), f.Reads, f.Limits))
		}
	}
	want := before + header + strings.Join(rows, "\n") + "\n\n" + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the formats as they are: go test ./internal/format -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTable_IsConsistent(t *testing.T) {
	names, owners := map[string]bool{}, map[string]string{}
	for _, f := range Table {
		if f.Name == "" || names[f.Name] {
			t.Errorf("two formats are named %q", f.Name)
		}
		names[f.Name] = true
		if (f.Reads == "") != f.Unread || f.Sealed && !f.Unread {
			t.Errorf("%s: Reads, Unread and Sealed contradict each other", f.Name)
		}
		if !f.Unread && f.View == "" && !f.Members {
			t.Errorf("%s has neither pages nor members", f.Name)
		}
		for _, ext := range slices.Concat(f.Extensions, f.Rare) {
			if ext == "" || ext != Ext("a."+ext) {
				t.Errorf("%s: %q is not an extension in lower case", f.Name, ext)
			}
			if owner := owners[ext]; owner != "" && len(f.Roots) == 0 {
				t.Errorf("%s and %s share .%s, and nothing tells them apart", owner, f.Name, ext)
			}
			owners[ext] = f.Name
		}
		for _, m := range f.Media {
			if m.Type == "" || m.Page != "" && !slices.Contains(f.Extensions, m.Page) {
				t.Errorf("%s: a page of type %q is read as .%s", f.Name, m.Type, m.Page)
			}
			for _, ext := range m.Extensions {
				if !slices.Contains(f.Extensions, ext) {
					t.Errorf("%s: .%s is not one of its extensions", f.Name, ext)
				}
			}
		}
	}
}

func TestNameOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.pdf": "PDF", `dir\B.JPG `: "image", "a.doc": "Word 97–2003", "a.xyz": ".xyz", "a": "no extension", "v1.2/a": "no extension",
	} {
		if got := NameOf(name); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestExtensionOf_IsThatAsWhichATypeIsRead(t *testing.T) {
	for kind, want := range map[string]string{
		"application/pdf": ".pdf", "text/plain": ".txt", "text/markdown": ".md", "text/html": ".html", "text/csv": ".csv", "text/x-wiki": ".wiki",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx", "application/yaml": ".yaml", "text/nothing": "", "": "",
	} {
		if got := ExtensionOf(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
