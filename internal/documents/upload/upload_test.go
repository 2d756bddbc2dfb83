package upload_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/documents/upload"
)

func TestClean_MakesNamesThatCanBeCitedAndStored(t *testing.T) {
	for given, want := range map[string]string{
		"report.pdf":                     "report.pdf",
		"../../etc/passwd":               "passwd",
		`C:\Users\ann\Report 1.docx`:     "Report 1.docx",
		"a/b\\c.txt":                     "c.txt",
		"x\x00y.txt":                     "x_y.txt",
		"line\r\nbreak.txt":              "line__break.txt",
		"what?#1<2>.md":                  "what__1_2_.md",
		`quo"te|pipe:colon*.md`:          "quo_te_pipe_colon_.md",
		"[brackets].md":                  "_brackets_.md",
		"u\u0308ber.txt":                 "über.txt", // NFC
		"abc\u202efdp.exe":               "abc_fdp.exe",
		"a\u2066b\u200bc\u2060\u00ad.md": "a_b_c__.md",
		"bad\xff.txt":                    "bad_.txt",
		"  trailing. . ":                 "trailing",
		"名前.pdf":                         "名前.pdf",
		"con cept.txt":                   "con cept.txt",
	} {
		got, err := upload.Clean(given)
		if err != nil || got != want {
			t.Errorf("Clean(%q) = %q, %v, want %q", given, got, err, want)
		}
		if again, err := upload.Clean(got); err != nil || again != got {
			t.Errorf("Clean(%q) again = %q, %v", got, again, err)
		}
	}
}

func TestClean_RefusesNamesThatNoFileCanHave(t *testing.T) {
	for _, given := range []string{
		"", ".", "..", "a/..", "dir/", `dir\`, ".env", "~$report.docx", "   ", "...",
		"parley.yaml", "PARLEY.YML", "report.pdf.parley.yaml", "Report.pdf.Parley.Yml",
		"CON", "nul.txt", "com1.pdf", "Lpt9", "node_modules", "parley-data", strings.Repeat("ü", 128),
	} {
		name, err := upload.Clean(given)
		if _, ok := errors.AsType[*upload.NameError](err); !ok {
			t.Errorf("Clean(%q) = %q, %v, want a *NameError", given, name, err)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("../a\x00b.txt")
	f.Add("ａ／ｂ．ｔｘｔ")
	f.Add("0\u00a0.")
	f.Fuzz(func(t *testing.T, given string) {
		name, err := upload.Clean(given)
		if err != nil {
			return
		}
		if !filepath.IsLocal(name) || filepath.Base(name) != name || len(name) > 255 {
			t.Fatalf("Clean(%q) = %q", given, name)
		}
		if again, err := upload.Clean(name); err != nil || again != name {
			t.Fatalf("Clean(%q) again = %q, %v", name, again, err)
		}
	})
}

const job = "01JCHAT0000000000000000001"

var everybody = upload.Scope{Namespace: "default"}

// filesBelow returns the contents of all files below a folder, by path.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func stage(t *testing.T, s *upload.Store, name, content string) {
	t.Helper()
	if _, err := s.Stage(t.Context(), job, name, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(job); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, s *upload.Store, name string) bool {
	t.Helper()
	there, err := s.Publish(everybody, job, name)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func TestStore_PublishesReplacesWithdrawsAndRemoves(t *testing.T) {
	dir := t.TempDir()
	s := upload.New(upload.Disk(dir))
	const staged, published = "staged/01jchat0000000000000000001/", "files/default/shared/"
	check := func(what string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, filesBelow(t, dir)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	stage(t, s, "a.md", "first")
	check("staged", map[string]string{staged + "a.md": "first"})
	for range 2 { // once more after a crash
		if !publish(t, s, "a.md") {
			t.Error("a published file is not there")
		}
	}
	stage(t, s, "a.md", "second")
	if err := s.Describe(job, "a.md", []byte("about")); err != nil {
		t.Fatal(err)
	}
	check("a second one is staged", map[string]string{published + "a.md": "first", staged + "a.md": "second", staged + "a.md.parley.yaml": "about"})
	publish(t, s, "a.md")
	const replaced = staged + ".replaced/"
	check("it is published", map[string]string{published + "a.md": "second", published + "a.md.parley.yaml": "about", replaced + "a.md": "first"})
	names, err := s.List(everybody)
	if err != nil || !cmp.Equal(names, []string{"a.md"}) {
		t.Errorf("List: %v, %v", names, err)
	}
	if err := s.Withdraw(everybody, job, "a.md"); err != nil {
		t.Fatal(err)
	}
	check("withdrawn", map[string]string{published + "a.md": "first", staged + "a.md": "second", staged + "a.md.parley.yaml": "about"})
	publish(t, s, "a.md")
	if err := s.Accept(job); err != nil {
		t.Fatal(err)
	}
	check("accepted", map[string]string{published + "a.md": "second", published + "a.md.parley.yaml": "about"})
	stage(t, s, "a.md", "third")
	publish(t, s, "a.md")
	check("what was said of it is kept too", map[string]string{published + "a.md": "third", replaced + "a.md": "second", replaced + "a.md.parley.yaml": "about"})
	if gone, err := s.Unstage(job, "a.md"); err != nil || gone {
		t.Errorf("Unstage: %v, %v", gone, err)
	}
	if gone, err := s.Remove(everybody, "a.md"); err != nil || !gone {
		t.Errorf("Remove: %v, %v", gone, err)
	}
	check("removed", map[string]string{})
	if gone, err := s.Remove(everybody, "a.md"); err != nil || gone {
		t.Errorf("Remove again: %v, %v", gone, err)
	}
	if publish(t, s, "a.md") {
		t.Error("a file that is gone was published")
	}
}

func TestStore_KeepsNothingOfAFileThatDoesNotCome(t *testing.T) {
	dir := t.TempDir()
	s := upload.New(upload.Disk(dir))
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("cut")))
	if _, err := s.Stage(t.Context(), job, "a.md", broken); err == nil {
		t.Error("half a file was staged")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Stage(ctx, job, "b.md", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Stage: %v, want context.Canceled", err)
	}
	if found := filesBelow(t, dir); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}

func TestStore_UsesNoNameThatLeadsElsewhere(t *testing.T) {
	dir := t.TempDir()
	s := upload.New(upload.Disk(filepath.Join(dir, "uploads")))
	outside := filepath.Join(dir, "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../outside", "../../../../outside", outside, "..", "", "a\x00b", `..\outside`} {
		if _, err := s.Stage(t.Context(), job, name, strings.NewReader("y")); err == nil {
			t.Errorf("Stage takes %q", name)
		}
		if gone, _ := s.Remove(everybody, name); gone {
			t.Errorf("Remove takes %q", name)
		}
		if gone, _ := s.Unstage(job, name); gone {
			t.Errorf("Unstage takes %q", name)
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "x" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
}

func TestStore_GivesEachScopeAFolderOfItsOwn(t *testing.T) {
	scopes := []upload.Scope{
		{Namespace: "default"}, {Namespace: "Default"}, {Namespace: "default", Owner: "shared"}, {Namespace: "default", Owner: "ann"},
		{Namespace: "default", Owner: "Ann"}, {Namespace: "default", Owner: "../ann"}, {Namespace: ".."}, {Namespace: "a/b"}, {Namespace: "a", Owner: "b"},
		{Namespace: "con"}, {Namespace: strings.Repeat("n", 128)},
	}
	seen := map[string]upload.Scope{}
	for _, at := range scopes {
		folder := upload.Folder(at)
		if other, taken := seen[strings.ToLower(folder)]; taken {
			t.Errorf("%v and %v share %s", at, other, folder)
		}
		seen[strings.ToLower(folder)] = at
		if rel, err := filepath.Rel("files", folder); err != nil || strings.Count(rel, "/") != 1 || strings.HasPrefix(rel, ".") {
			t.Errorf("%v lies in %s", at, folder)
		}
	}
}

func TestStore_SweepsWhatBelongsToNoJob(t *testing.T) {
	dir := t.TempDir()
	s := upload.New(upload.Disk(dir))
	if err := s.Sweep(nil, time.Now()); err != nil {
		t.Errorf("Sweep of nothing: %v", err)
	}
	stage(t, s, "a.md", "kept")
	if _, err := s.Stage(t.Context(), "01JCHAT0000000000000000002", "b.md", strings.NewReader("gone")); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	if err := s.Sweep(nil, later.Add(-time.Hour)); err != nil || len(filesBelow(t, dir)) != 2 {
		t.Fatalf("a sweep has taken what is young: %v, %v", filesBelow(t, dir), err)
	}
	if err := s.Sweep([]string{job}, later); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"staged/01jchat0000000000000000001/a.md": "kept"}, filesBelow(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
