package source

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"golang.org/x/net/webdav"
)

// list returns the versions of the objects of a source, by path, and the first error.
func list(t *testing.T, s Source) (map[string]string, error) {
	t.Helper()
	all := map[string]string{}
	for o, err := range s.Objects(t.Context()) {
		if err != nil {
			return all, err
		}
		if o.Link {
			continue
		}
		if o.Version == "" {
			t.Errorf("%s has no version", o.Path)
		}
		all[o.Path] = o.Version
	}
	return all, nil
}

// mustList is list without an error.
func mustList(t *testing.T, s Source) map[string]string {
	t.Helper()
	all, err := list(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// read returns the content of the object at a path.
func read(t *testing.T, s Source, path string) string {
	t.Helper()
	for o, err := range s.Objects(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if o.Path != path {
			continue
		}
		r, err := s.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	t.Fatalf("%s is not listed", path)
	return ""
}

// open opens an address, and closes it at the end of the test.
func open(t *testing.T, address string, o Options) Source {
	t.Helper()
	a, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if o.Cache == "" {
		o.Cache = t.TempDir()
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	s, err := a.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func paths(all map[string]string) []string { return slices.Sorted(maps.Keys(all)) }

func TestParse_KeepsSecretsOutOfAddresses(t *testing.T) {
	for _, bad := range []string{
		"s3://key:hunter2@bucket", "webdavs://host/x?token=hunter2", "git+https://host/r?sig=hunter2", "s3://", "ftp://host/hunter2",
		"git+https://u:hunter2@host/r", "s3://bucket/a#hunter2", "s3://bucket/%zz", "s3://bu\x00cket",
	} {
		a, err := Parse(bad)
		if err == nil {
			t.Errorf("%s is accepted as %s", bad, a)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error for %s repeats the secret: %v", bad, err)
		}
	}
}

func TestParse_GivesEachSourceOneAddress(t *testing.T) {
	for in, want := range map[string]string{
		"S3://Bucket/a/b/":                    "s3://bucket/a/b",
		"s3://bucket/":                        "s3://bucket",
		"s3://bucket/a/../../b":               "s3://bucket/b",
		"git+https://h/r.git?path=d&ref=main": "git+https://h/r.git?path=d&ref=main",
		"webdavs://me@h/a%20b":                "webdavs://me@h/a%20b",
	} {
		a, err := Parse(in)
		if err != nil || a.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, a, err, want)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "../a", "a/../b", "a/..", "/a", "a//b", `a\..\b`, `..\b`, "a\x00b", "a\nb", "a/", "./a", "a\xff", strings.Repeat("x", 3000)} {
		if CheckPath(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"a", "a/b.txt", "a b/ü.md", "..a/b..", "a:b"} {
		if err := CheckPath(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// fakeS3 returns a server that others made, with a bucket of these objects.
func fakeS3(t *testing.T, objects map[string]string) (address string, put func(key, body string)) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("docs"); err != nil {
		t.Fatal(err)
	}
	put = func(key, body string) {
		t.Helper()
		if _, err := backend.PutObject("docs", key, map[string]string{}, strings.NewReader(body), int64(len(body)), nil); err != nil {
			t.Fatal(err)
		}
	}
	for key, body := range objects {
		put(key, body)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return server.URL, put
}

func TestS3_ListsAndReadsAFolder(t *testing.T) {
	endpoint, put := fakeS3(t, map[string]string{
		"public/a.md": "alpha", "public/deep/b c+ü%.md": "beta", "public/": "", "public/empty/": "", "publicly.md": "no", "secret.md": "no",
	})
	o := Options{Account: Account{User: "id", Secret: "key", Endpoint: endpoint}}
	s := open(t, "s3://docs/public", o)
	first := mustList(t, s)
	if diff := cmp.Diff([]string{"a.md", "deep/b c+ü%.md"}, paths(first)); diff != "" {
		t.Error(diff)
	}
	if got := read(t, s, "deep/b c+ü%.md"); got != "beta" {
		t.Errorf("read %q", got)
	}
	put("public/a.md", "alpha 2")
	second := mustList(t, s)
	if first["a.md"] == second["a.md"] || first["deep/b c+ü%.md"] != second["deep/b c+ü%.md"] {
		t.Errorf("versions before and after a change: %v, %v", first, second)
	}
}

func TestS3_FollowsPages(t *testing.T) {
	objects := map[string]string{}
	for i := range 2500 {
		objects["d/"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+"-"+time.Duration(i).String()+".txt"] = "t"
	}
	endpoint, _ := fakeS3(t, objects)
	if got := len(mustList(t, open(t, "s3://docs", Options{Account: Account{Endpoint: endpoint}}))); got != len(objects) {
		t.Errorf("%d of %d objects", got, len(objects))
	}
}

// Amazon's example "GET Bucket Lifecycle" signs a hash of the body, and we do not, so its signature cannot be compared. This
// checks what a signature depends on, and its form.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func TestS3_SignsTheHostTheQueryAndTheTime(t *testing.T) {
	sign := func(address, secret string, at time.Time) string {
		r := httptest.NewRequest(http.MethodGet, address, nil)
		signer{user: "AKIAIOSFODNN7EXAMPLE", secret: secret, region: "us-east-1", now: func() time.Time { return at }}.sign(r)
		return r.Header.Get("Authorization")
	}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	one := sign("https://examplebucket.s3.amazonaws.com/?lifecycle=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at)
	if !strings.HasPrefix(one, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=") {
		t.Error(one)
	}
	for _, other := range []string{
		sign("https://other.s3.amazonaws.com/?lifecycle=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at),
		sign("https://examplebucket.s3.amazonaws.com/?acl=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at),
		sign("https://examplebucket.s3.amazonaws.com/?lifecycle=", "other", at),
		sign("https://examplebucket.s3.amazonaws.com/?lifecycle=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", at.Add(time.Second)),
	} {
		if other == one {
			t.Error("the signature does not depend on what it signs")
		}
	}
}

func TestS3_EndsAListingThatDoesNotEnd(t *testing.T) {
	for name, page := range map[string]string{
		"the same token":   `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>`,
		"no token":         `<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`,
		"not a listing":    `<html>Sign in</html>`,
		"another's prefix": `<ListBucketResult><Contents><Key>elsewhere/x.txt</Key><Size>1</Size></Contents></ListBucketResult>`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) }))
		_, err := list(t, open(t, "s3://docs/here", Options{Account: Account{Endpoint: server.URL}}))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		server.Close()
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		io.WriteString(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>`+time.Duration(n).String()+`</NextContinuationToken></ListBucketResult>`)
	}))
	defer server.Close()
	if _, err := list(t, open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL}})); err == nil || n > 2*maxBarren {
		t.Errorf("after %d empty pages: %v", n, err)
	}
}

// davServer returns golang.org/x/net's server over a folder.
func davServer(t *testing.T) (address, dir string) {
	t.Helper()
	dir = t.TempDir()
	dav := &webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS(), Prefix: "/dav"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "anna" || password != "pw" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return "webdav" + strings.TrimPrefix(server.URL, "http") + "/dav", dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestWebDAV_ListsAndReadsAFolder(t *testing.T) {
	address, dir := davServer(t)
	write(t, filepath.Join(dir, "here/a.md"), "alpha")
	write(t, filepath.Join(dir, "here/deep/b c+ü%#.md"), "beta")
	write(t, filepath.Join(dir, "elsewhere.md"), "no")
	o := Options{Account: Account{User: "anna", Secret: "pw"}}
	s := open(t, address+"/here", o)
	first := mustList(t, s)
	if diff := cmp.Diff([]string{"a.md", "deep/b c+ü%#.md"}, paths(first)); diff != "" {
		t.Error(diff)
	}
	if got := read(t, s, "deep/b c+ü%#.md"); got != "beta" {
		t.Errorf("read %q", got)
	}
	write(t, filepath.Join(dir, "here/a.md"), "alpha is longer now")
	if second := mustList(t, s); first["a.md"] == second["a.md"] || first["deep/b c+ü%#.md"] != second["deep/b c+ü%#.md"] {
		t.Errorf("versions before and after a change: %v, %v", first, second)
	}
	_, err := list(t, open(t, address, Options{Account: Account{User: "anna", Secret: "wrong"}}))
	if refused, ok := errors.AsType[*StatusError](err); !ok || refused.Status != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestWebDAV_HidesOnlyTheFolderThatMayNotBeRead(t *testing.T) {
	address, dir := davServer(t)
	write(t, filepath.Join(dir, "open/a.md"), "alpha")
	write(t, filepath.Join(dir, "shut/b.md"), "beta")
	target, err := url.Parse("http" + strings.TrimPrefix(address, "webdav"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "shut/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.URL.Scheme, r.URL.Host, r.RequestURI = target.Scheme, target.Host, ""
		r.SetBasicAuth("anna", "pw")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
	}))
	defer server.Close()
	var seen, hidden []string
	for o, err := range open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/dav", Options{}).Objects(t.Context()) {
		if h, ok := errors.AsType[*HiddenError](err); ok {
			hidden = append(hidden, h.Path)
		} else if err != nil {
			t.Fatal(err)
		} else {
			seen = append(seen, o.Path)
		}
	}
	if diff := cmp.Diff([][]string{{"open/a.md"}, {"shut"}}, [][]string{seen, hidden}); diff != "" {
		t.Error(diff)
	}
}

// What a server does not tell of a name is not known to be a file, so what is below it must stay.
func TestWebDAV_TakesNothingForAFileThatIsNotTold(t *testing.T) {
	const ok, missing = `<d:propstat><d:status>HTTP/1.1 200 OK</d:status><d:prop><d:resourcetype/><d:getetag>"1"</d:getetag></d:prop></d:propstat>`,
		`<d:propstat><d:status>HTTP/1.1 404 Not Found</d:status><d:prop><d:resourcetype/></d:prop></d:propstat>`
	for name, c := range map[string]struct{ entries, files, hidden string }{
		"refused":       {`<d:response><d:href>/d/sub/</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>`, "", "sub"},
		"untold":        {`<d:response><d:href>/d/sub</d:href>` + missing + `</d:response>`, "", "sub"},
		"relative href": {`<d:response><d:href>a.txt</d:href>` + ok + `</d:response>`, "a.txt", ""},
		"neighbour":     {`<d:response><d:href>/dav/a.txt</d:href>` + ok + `</d:response>`, "", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusMultiStatus)
			fmt.Fprintf(w, `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/d/</d:href></d:response>%s</d:multistatus>`, c.entries)
		}))
		var files, hidden []string
		for o, err := range open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/d", Options{}).Objects(t.Context()) {
			if h, ok := errors.AsType[*HiddenError](err); ok {
				hidden = append(hidden, h.Path)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			} else {
				files = append(files, o.Path)
			}
		}
		if strings.Join(files, " ") != c.files || strings.Join(hidden, " ") != c.hidden {
			t.Errorf("%s: files %q, hidden %q", name, files, hidden)
		}
		server.Close()
	}
}

func TestWebDAV_RefusesTheListingOfAnotherFolder(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprint(w, `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/Docs/</d:href></d:response></d:multistatus>`)
	}))
	defer server.Close()
	if _, err := list(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/docs", Options{})); err == nil {
		t.Error("it was taken for an empty folder")
	}
}

func TestWebDAV_EndsAtLoopsAndIgnoresWhatWasNotAsked(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusMultiStatus)
		io.WriteString(w, `<d:multistatus xmlns:d="DAV:">`)
		for _, href := range []string{r.URL.Path, "/", "/etc/", "/d/../../up/", r.URL.Path + "again/", r.URL.Path + "%2e%2e/x/"} {
			io.WriteString(w, `<d:response><d:href>`+href+`</d:href><d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`)
		}
		io.WriteString(w, `</d:multistatus>`)
	}))
	defer server.Close()
	_, err := list(t, open(t, "webdav"+strings.TrimPrefix(server.URL, "http")+"/d", Options{}))
	if err == nil || calls.Load() > 2*maxDepth {
		t.Errorf("after %d calls: %v", calls.Load(), err)
	}
}

// Secrets do not go to another host, and errors do not show them.
func TestHTTP_DoesNotFollowRedirectsToOtherHosts(t *testing.T) {
	var told atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { told.Add(1) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/?leak=yes", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http")
	short := func(s Source) Source {
		switch s := s.(limited).of.(type) {
		case *bucket:
			s.pause = time.Millisecond
		case *davFolder:
			s.pause = time.Millisecond
		}
		return s
	}
	for _, s := range []Source{
		open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL, User: "u", Secret: "hunter2"}}),
		open(t, "webdav"+host, Options{Account: Account{User: "u", Secret: "hunter2"}}),
	} {
		if _, err := list(t, short(s)); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "leak") {
			t.Errorf("%T: %v", s, err)
		}
	}
	a, err := Parse("git+http" + host + "/r.git")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = a.Open(t.Context(), Options{Cache: t.TempDir(), Account: Account{User: "u", Secret: "hunter2"}}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("git: %v", err)
	}
	if told.Load() > 0 {
		t.Errorf("the other host was called %d times", told.Load())
	}
}

func TestHTTP_TriesAgainWhatMayPass(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := calls.Add(1); n < callTries {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, `<ListBucketResult><Contents><Key>a.md</Key><Size>5</Size><ETag>"e"</ETag></Contents></ListBucketResult>`)
	}))
	defer server.Close()
	s := open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL}}).(limited).of.(*bucket)
	s.pause = time.Millisecond
	if all, err := list(t, s); err != nil || all["a.md"] != "e" {
		t.Errorf("after %d calls: %v, %v", calls.Load(), all, err)
	}
}

// A server that sends a byte now and then does not hold a run for ever, and a context ends every call.
func TestHTTP_EndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<List")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	s := open(t, "s3://docs", Options{Account: Account{Endpoint: server.URL}}).(limited).of.(*bucket)
	body, err := s.call(t.Context(), http.MethodGet, server.URL, nil, nil, 50*time.Millisecond, http.StatusOK)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body.Body); !errors.Is(err, errSlow) {
		t.Errorf("a slow body: %v", err)
	}
	body.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.page(ctx, ""); err == nil {
		t.Error("a cancelled call has no error")
	}
}

// gitServer serves a repository with git's own HTTP back end.
func gitServer(t *testing.T) (address string, git func(args ...string), work string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
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

func TestDocs_ListTheKinds(t *testing.T) {
	const file, header = "../../../docs/ingestion.md", "| kind | address | account | how changes are known | not read |\n|---|---|---|---|---|\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), header)
	_, after, ended := strings.Cut("\n"+rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table of kinds", file)
	}
	rows := ""
	for _, k := range Table {
		rows += fmt.Sprintf("| %s | `%s` | %s | %s | %s |\n", k.Name, k.Address, k.Account, k.Changes, k.Limits)
	}
	want := before + header + rows + "\n" + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the kinds as they are: go test ./internal/documents/source -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTable_IsConsistent(t *testing.T) {
	owners := map[string]string{}
	for _, k := range Table {
		for _, s := range k.Schemes {
			if owners[s] != "" {
				t.Errorf("%s and %s have the scheme %s", owners[s], k.Name, s)
			}
			owners[s] = k.Name
			if KindOf(s+"://x").Name != k.Name {
				t.Errorf("%s:// is not of the kind %s", s, k.Name)
			}
		}
		if k.Name == "" || k.Address == "" || k.Changes == "" || k.Limits == "" {
			t.Errorf("%s: a column is empty", k.Name)
		}
	}
}
