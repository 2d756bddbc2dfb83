// Package uploadtest has the tests that every upload.Files passes.
package uploadtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/documents/upload"
)

var then = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

// Files tests an implementation. open returns empty files.
func Files(t *testing.T, open func(t *testing.T) upload.Files) {
	for name, test := range map[string]func(*testing.T, upload.Files){
		"a file is written once and read":          writeOnce,
		"nothing is left of half a file":           writeHalf,
		"a rename replaces":                        rename,
		"a second name outlives the first":         link,
		"a folder goes with everything below it":   removeAll,
		"folders and files are told apart":         list,
		"a local folder has the files of the time": local,
		"large files": large,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func write(t *testing.T, files upload.Files, name, content string) {
	t.Helper()
	if n, err := files.Write(t.Context(), name, strings.NewReader(content), then); err != nil || n != int64(len(content)) {
		t.Fatalf("Write(%s) = %d, %v", name, n, err)
	}
}

func read(t *testing.T, files upload.Files, name string) string {
	t.Helper()
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func writeOnce(t *testing.T, files upload.Files) {
	write(t, files, "a/b/über.md", "first")
	_, err := files.Write(t.Context(), "a/b/über.md", strings.NewReader("second"), time.Time{})
	want(t, err, fs.ErrExist)
	if got := read(t, files, "a/b/über.md"); got != "first" {
		t.Errorf("read %q", got)
	}
	f, err := files.Stat("a/b/über.md")
	if err != nil || f.Name != "über.md" || f.Size != 5 || !f.Modified.Equal(then) {
		t.Errorf("Stat = %+v, %v", f, err)
	}
	must(t, files.Sync("a/b", "a", upload.Top))
	_, err = files.Stat("a/b/c.md")
	want(t, err, fs.ErrNotExist)
	_, err = files.Open("a/b/c.md")
	want(t, err, fs.ErrNotExist)
	want(t, files.Remove("a/b/c.md"), fs.ErrNotExist)
	must(t, files.Remove("a/b/über.md"))
	write(t, files, "a/b/über.md", "third")
}

func writeHalf(t *testing.T, files upload.Files) {
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("cut")))
	if _, err := files.Write(t.Context(), "a/b.md", broken, time.Time{}); err == nil {
		t.Error("half a file was written")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := files.Write(ctx, "a/c.md", strings.NewReader("x"), time.Time{})
	want(t, err, context.Canceled)
	if all, err := files.List("a"); err != nil || len(all) > 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}

func rename(t *testing.T, files upload.Files) {
	write(t, files, "a/x", "new")
	write(t, files, "b/y", "old")
	must(t, files.Rename("a/x", "b/y"))
	if a, b := read(t, files, "a/x"), read(t, files, "b/y"); a != "none" || b != "new" {
		t.Errorf("a/x is %q, b/y is %q", a, b)
	}
	must(t, files.Rename("b/y", "b/y"))
	must(t, files.Rename("b/y", "new/folder/z"))
	if got := read(t, files, "new/folder/z"); got != "new" {
		t.Errorf("new/folder/z is %q", got)
	}
	want(t, files.Rename("a/x", "b/y"), fs.ErrNotExist)
}

func link(t *testing.T, files upload.Files) {
	write(t, files, "a/x", "one")
	must(t, files.Link("a/x", "a/.second/x"))
	want(t, files.Link("a/x", "a/.second/x"), fs.ErrExist)
	want(t, files.Link("a/none", "a/.second/y"), fs.ErrNotExist)
	write(t, files, "b/x", "two")
	must(t, files.Rename("b/x", "a/x"))
	if one, two := read(t, files, "a/.second/x"), read(t, files, "a/x"); one != "one" || two != "two" {
		t.Errorf("the second name has %q, the first %q", one, two)
	}
	must(t, files.Remove("a/.second/x"))
	if got := read(t, files, "a/x"); got != "two" {
		t.Errorf("a/x is %q", got)
	}
}

func removeAll(t *testing.T, files upload.Files) {
	for _, name := range []string{"a/x", "a/b/y", "a/b/c/z", "ab/x", "a.b/x", "a0/x"} {
		write(t, files, name, name)
	}
	must(t, files.RemoveAll("a"))
	must(t, files.RemoveAll("a"))
	for name, there := range map[string]bool{"a/x": false, "a/b/c/z": false, "ab/x": true, "a.b/x": true, "a0/x": true} {
		if got := read(t, files, name); (got == name) != there {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func list(t *testing.T, files upload.Files) {
	if all, err := files.List("a"); err != nil || len(all) > 0 {
		t.Errorf("List of nothing = %v, %v", all, err)
	}
	for _, name := range []string{"a/1", "a/2%_", "a/b/3", "a/b/c/4", "a/ü/5", "ab/6"} {
		write(t, files, name, name)
	}
	names := func(all []upload.File, err error) (names []string) {
		must(t, err)
		for _, f := range all {
			names = append(names, f.Name)
		}
		return names
	}
	for folder, want := range map[string][2][]string{
		"a": {{"1", "2%_"}, {"b", "ü"}}, "a/b": {{"3"}, {"c"}}, "a/ü": {{"5"}, nil}, upload.Top: {nil, {"a", "ab"}}, "none": {},
	} {
		got := [2][]string{names(files.List(folder)), names(files.Folders(folder))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", folder, diff)
		}
	}
	must(t, files.RemoveAll("ab"))
	files.Tidy("ab")
	files.Tidy("a")
	if diff := cmp.Diff([]string{"a"}, names(files.Folders(upload.Top))); diff != "" {
		t.Error(diff)
	}
}

func local(t *testing.T, files upload.Files) {
	check := func(want map[string]string) {
		t.Helper()
		dir, err := files.Local(t.Context(), "a/b")
		must(t, err)
		got := map[string]string{}
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
			st, err := e.Info()
			must(t, err)
			if !st.ModTime().Equal(then) {
				t.Errorf("%s has the time %v", e.Name(), st.ModTime())
			}
			got[e.Name()] = string(data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	check(map[string]string{})
	write(t, files, "a/b/x", "one")
	write(t, files, "a/b/y", "two")
	check(map[string]string{"x": "one", "y": "two"})
	must(t, files.Remove("a/b/x"))
	write(t, files, "c", "three, longer")
	must(t, files.Rename("c", "a/b/y"))
	check(map[string]string{"y": "three, longer"})
}

func large(t *testing.T, files upload.Files) {
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 5 << 20} {
		content := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		write(t, files, "large", content)
		if read(t, files, "large") != content {
			t.Errorf("%d bytes came back changed", size)
		}
		must(t, files.Remove("large"))
	}
}
