package source

import (
	"flag"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/test/needs"
)

// gitServer serves a repository with git's own HTTP back end.
func gitServer(t *testing.T) (address string, git func(args ...string), work string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		needs.Missing(t, "git")
	}
	root := t.TempDir()
	work = filepath.Join(root, "work")
	run := func(dir string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	bare := filepath.Join(root, "repo.git")
	run(root, "init", "-q", "--bare", "-b", "main", bare)
	run(root, "init", "-q", "-b", "main", work)
	run(work, "remote", "add", "origin", bare)
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "token" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return "git+http" + strings.TrimPrefix(server.URL, "http") + "/repo.git", func(args ...string) { t.Helper(); run(work, args...) }, work
}

func TestGit_FollowsABranch(t *testing.T) {
	address, git, work := gitServer(t)
	commit := func() {
		t.Helper()
		git("add", "-A")
		git("commit", "-q", "-m", "x")
		git("push", "-q", "origin", "HEAD")
	}
	large := strings.Repeat("a long file\n", 200_000)
	write(t, filepath.Join(work, "docs/a.md"), "alpha")
	write(t, filepath.Join(work, "docs/deep/ü b.md"), "beta")
	write(t, filepath.Join(work, "large.txt"), large)
	if err := os.Symlink("/etc/passwd", filepath.Join(work, "docs/link.md")); err != nil {
		t.Fatal(err)
	}
	commit()
	o := Options{Account: Account{Secret: "token"}, Cache: t.TempDir()}
	s := open(t, address, o)
	first := mustList(t, s)
	if diff := cmp.Diff([]string{"docs/a.md", "docs/deep/ü b.md", "large.txt"}, paths(first)); diff != "" {
		t.Error(diff)
	}
	if read(t, s, "docs/deep/ü b.md") != "beta" || read(t, s, "large.txt") != large {
		t.Error("the contents are wrong")
	}
	size := cacheSize(t, o.Cache)

	for i, text := range []string{"alpha 2", "alpha 3", "alpha 4"} {
		write(t, filepath.Join(work, "docs/a.md"), text)
		commit()
		next := open(t, address, o)
		second := mustList(t, next)
		if second["docs/a.md"] == first["docs/a.md"] || second["large.txt"] != first["large.txt"] || read(t, next, "docs/a.md") != text || read(t, next, "large.txt") != large {
			t.Errorf("change %d: %v", i, second)
		}
	}
	if grown := cacheSize(t, o.Cache) - size; grown > size/2 {
		t.Errorf("three small changes have brought %d bytes, the first fetch %d", grown, size)
	}

	git("checkout", "-q", "-b", "other")
	git("rm", "-q", "-r", "docs/deep")
	commit()
	if got := paths(mustList(t, open(t, address+"?ref=other&path=docs", o))); !cmp.Equal(got, []string{"a.md"}) {
		t.Errorf("a folder of a branch: %v", got)
	}
	git("checkout", "-q", "main")
	git("reset", "-q", "--hard", "HEAD~2") // history that is written anew
	git("push", "-q", "-f", "origin", "HEAD")
	if s := open(t, address, o); read(t, s, "docs/a.md") != "alpha 2" {
		t.Error("a branch that went back is not followed")
	}
}

func TestGit_SaysWhatIsWrong(t *testing.T) {
	address, git, work := gitServer(t)
	fail := func(address, secret string) {
		t.Helper()
		a, err := Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := a.Open(t.Context(), Options{Account: Account{Secret: secret}, Cache: t.TempDir()}); err == nil {
			s.Close()
			t.Errorf("%s is opened", address)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
	fail(address, "token") // it is empty
	write(t, filepath.Join(work, "a.md"), "alpha")
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	git("push", "-q", "origin", "HEAD")
	fail(address, "hunter2")
	fail(address+"?ref=nope", "token")
	fail(address+"?path=nope", "token")
	fail(strings.Replace(address, "repo.git", "none.git", 1), "token")
}

// A fetch that was cut short leaves nothing that the next one takes for complete.
func TestGit_FetchesAgainAfterADamage(t *testing.T) {
	address, git, work := gitServer(t)
	write(t, filepath.Join(work, "a.md"), "alpha")
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	git("push", "-q", "origin", "HEAD")
	o := Options{Account: Account{Secret: "token"}, Cache: t.TempDir()}
	open(t, address, o)
	refs, err := filepath.Glob(filepath.Join(o.Cache, "git/*/refs/parley/head"))
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	if err := os.Remove(refs[0]); err != nil { // as if the program had been killed before the end of the fetch
		t.Fatal(err)
	}
	if s := open(t, address, o); read(t, s, "a.md") != "alpha" {
		t.Error("the repository is not read again")
	}
}

func cacheSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		size += st.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

var update = flag.Bool("update", false, "write the table of kinds into docs/ingestion.md")
